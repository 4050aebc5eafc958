package pgtype_test

import (
	"math/big"
	"testing"

	"dpproxy/planner/pgtype"
)

// TestSpan reads spans of time in microseconds, and none that has no one length.
func TestSpan(t *testing.T) {
	const second, day = 1_000_000, 86400 * 1_000_000
	for s, want := range map[string]int64{
		"0 days": 0, "60 days": 60 * day, "1 day": day, "-1 days": -day, "1.5 days": 1.5 * day, "2 weeks": 14 * day,
		"12:00:00": day / 2, "12:00": day / 2, "-00:00:01": -second, "36:00:00": 1.5 * day, "00:00:00.5": second / 2,
		"1 day 12:00:00": 1.5 * day, "1 day -12:00": day / 2, " 1  Day 2 HOURS 3 mins 4.000001 secs ": day + 2*3600*second + 184*second + 1,
		"4000000 days": 4_000_000 * day,
	} {
		if got, ok := pgtype.Span(s); !ok || got != want {
			t.Errorf("%q is %d, %t", s, got, ok)
		}
	}
	for _, s := range []string{
		"", "1", "60", "days", "1 month", "1 year", "1 mon", "2 decades", "1 day 1 month", "1 day ago", "P60D", "12:60:00", "12:00:61",
		"1e3 days", "1 day 2", "12:00:00 1 day", "infinity", "4000001 days", "0.0000001 secs", "1/2 days", "1 days days", "--1 days",
	} {
		if got, ok := pgtype.Span(s); ok {
			t.Errorf("%q is %d", s, got)
		}
	}
}

// TestSpanText holds that days and seconds of an interval have a sign each, and add up to it.
func TestSpanText(t *testing.T) {
	for _, c := range []struct {
		seconds *big.Rat
		want    string
	}{
		{big.NewRat(0, 1), "0 days 0.000000 seconds"},
		{big.NewRat(86400, 1), "1 days 0.000000 seconds"},
		{big.NewRat(200001, 2), "1 days 13600.500000 seconds"},
		{big.NewRat(-200001, 2), "-1 days -13600.500000 seconds"},
		{big.NewRat(-1, 3), "0 days -0.333333 seconds"},
	} {
		if got := pgtype.SpanText(c.seconds); got != c.want {
			t.Errorf("%v is %q, want %q", c.seconds, got, c.want)
		}
	}
	if got := pgtype.SpanLiteral(-90_061_000_001); got != "CAST('-1 days -3661.000001 seconds' AS pg_catalog.interval)" {
		t.Error(got)
	}
}
