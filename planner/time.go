package planner

import (
	"time"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// timeOf writes a number of days or microseconds since 2000 as a date or timestamp.
func timeOf(t scalar.Type, n int64) string {
	if t.OID == pgtype.Date {
		return pgtype.Epoch.AddDate(0, 0, int(n)).Format(time.DateOnly)
	}
	s := pgtype.Moment(n).Format("2006-01-02 15:04:05.999999")
	if t.OID == pgtype.Timestamptz {
		s += "+00"
	}
	return s
}

// timeText writes it as a constant of the type.
func timeText(t scalar.Type, n int64) string {
	return "CAST('" + timeOf(t, n) + "' AS " + t.SQL() + ")"
}
