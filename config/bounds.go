package config

import (
	"math/big"
	"regexp"
	"strings"
	"time"

	"dpproxy/planner/policy"
)

// readColumnBounds reads [low, high], or none.
func readColumnBounds(v value, c *policy.ColumnPolicy) {
	if s, _ := scalarText(v.node); s == "none" {
		c.Unbounded = true
		return
	}
	c.Bounds = readBounds(v, readBound)
}

// readBounds reads [low, high], of which read reads one.
func readBounds(v value, read func(value) bound) *policy.Bounds {
	faults := len(v.d.faults)
	var ends []bound
	v.list(func(c value) { ends = append(ends, read(c)) })
	switch {
	case len(v.d.faults) > faults:
		return nil
	case len(ends) != 2:
		v.fail("bounds are [low, high]")
		return nil
	}
	low, high := ends[0], ends[1]
	switch {
	case low.kind != high.kind:
		v.fail("one bound is a %s, the other a %s", low.kind, high.kind)
	case low.order.Cmp(high.order) > 0:
		v.fail("the bounds are inverted: %s is above %s", low.text, high.text)
	}
	b := &policy.Bounds{LowText: low.text, HighText: high.text}
	if low.kind == numberBound {
		b.Low, b.High = low.order, high.order
	}
	return b
}

// A bound can be compared with others of its kind.
type bound struct {
	kind  string
	text  string
	order *big.Rat
}

const (
	numberBound = "number"
	dateBound   = "date"
	spanBound   = "length of time"
)

// timeLayouts are the spellings that Go and Postgres read alike, under any settings of Postgres.
var timeLayouts = []struct{ kind, layout string }{
	{dateBound, "2006-01-02"},
	{"timestamp", "2006-01-02 15:04:05"},
	{"timestamp", "2006-01-02T15:04:05"},
	{"timestamp with time zone", "2006-01-02 15:04:05Z07:00"},
	{"timestamp with time zone", "2006-01-02 15:04:05Z07"}, // as Postgres prints it
	{"timestamp with time zone", "2006-01-02T15:04:05Z07:00"},
}

// readBound reads an unquoted number, a date or a timestamp.
func readBound(v value) bound {
	b := boundOf(v)
	if b.kind == "" {
		v.fail("a bound is a finite number of at most %d characters, without quotes, a date (2020-01-31) "+
			"or a timestamp in quotes (\"2020-01-31 12:00:00\")", maxDigits)
	}
	return b
}

// boundOf reads a number, a date or a timestamp; the kind of anything else is "".
func boundOf(v value) bound {
	if s, r, ok := plainDecimal(v.node); ok {
		return bound{numberBound, s, r}
	}
	s, _ := scalarText(v.node)
	return momentOf(strings.TrimSpace(s))
}

// readDerivedBound reads a bound, also of an interval.
func readDerivedBound(v value) bound {
	s, _ := scalarText(v.node)
	if micros, ok := policy.Span(s); ok && len(s) <= maxDigits {
		return bound{spanBound, strings.TrimSpace(s), new(big.Rat).SetInt64(micros)}
	}
	b := boundOf(v)
	switch word := varying.FindString(s); {
	case b.kind != "":
	case word != "":
		v.fail("a %s has no one length: bounds of an interval are of days, hours, minutes and seconds, as in [\"0 days\", \"60 days\"]",
			strings.ToLower(word))
	default:
		v.fail("a bound is a finite number of at most %d characters, without quotes, a date (2020-01-31), a timestamp in quotes "+
			"(\"2020-01-31 12:00:00\") or, of an interval, a length of time (\"60 days\", \"12:00:00\")", maxDigits)
	}
	return b
}

// varying finds a unit of intervals that is not always as long.
var varying = regexp.MustCompile(`(?i)\b(month|year)`)

// momentOf reads a date or a timestamp; the kind of anything else is "".
func momentOf(s string) bound {
	for _, l := range timeLayouts {
		if t, err := time.Parse(l.layout, s); err == nil && t.Year() > 0 && postgresZone(t) && len(s) <= maxDigits {
			nanos := new(big.Rat).SetFrac64(int64(t.Nanosecond()), int64(time.Second))
			return bound{l.kind, s, nanos.Add(nanos, new(big.Rat).SetInt64(t.Unix()))}
		}
	}
	return bound{}
}

// postgresZone reports whether Postgres knows an offset this far from UTC.
func postgresZone(t time.Time) bool {
	_, offset := t.Zone()
	return offset > -16*3600 && offset < 16*3600
}
