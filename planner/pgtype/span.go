package pgtype

import (
	"math/big"
	"regexp"
	"strings"
)

// longestSpan bounds a span of time, in days: two moments of the years 1 to 9999 are nearer to each other.
const longestSpan = 4_000_000

// clock is a time of day with an optional sign, hours of any number.
var clock = regexp.MustCompile(`^([+-]?)(\d{1,9}):([0-5]\d)(?::([0-5]\d(?:\.\d{1,6})?))?$`)

// amount is a number of a unit of time.
var amount = regexp.MustCompile(`^[+-]?(\d{1,18}|\d{1,9}\.\d{1,9})$`)

// Span reads a span of time that has one length, in microseconds: days, hours, minutes and seconds in the words of Postgres, a time at
// the end, or both, as in "1 day -02:30:00". Days have 24 hours. Months and years have no one length, and are no span.
func Span(s string) (micros int64, ok bool) {
	sum, words := new(big.Rat), strings.Fields(strings.ToLower(s))
	for len(words) >= 2 {
		n, of := unitOf(words[0], words[1])
		if !of {
			return 0, false
		}
		sum.Add(sum, n)
		if words = words[2:]; len(words) == 0 {
			return microsOf(sum)
		}
	}
	if len(words) == 0 {
		return 0, false
	}
	time := clock.FindStringSubmatch(words[0])
	if time == nil {
		return 0, false
	}
	part := new(big.Rat)
	for i, unit := range []int64{3_600_000_000, 60_000_000, 1_000_000} {
		if n, given := new(big.Rat).SetString(time[2+i]); given {
			part.Add(part, n.Mul(n, new(big.Rat).SetInt64(unit)))
		}
	}
	if time[1] == "-" {
		part.Neg(part)
	}
	return microsOf(sum.Add(sum, part))
}

// unitOf reads a number and a unit of time, as microseconds.
func unitOf(number, unit string) (*big.Rat, bool) {
	n, ok := new(big.Rat).SetString(number)
	if !ok || !amount.MatchString(number) {
		return nil, false
	}
	var micros int64
	switch strings.TrimSuffix(unit, "s") {
	case "week":
		micros = 7 * MicrosPerDay
	case "day":
		micros = MicrosPerDay
	case "hour":
		micros = 3_600_000_000
	case "minute", "min":
		micros = 60_000_000
	case "second", "sec":
		micros = 1_000_000
	default:
		return nil, false
	}
	return n.Mul(n, new(big.Rat).SetInt64(micros)), true
}

// microsOf is a whole number of microseconds that is not too large.
func microsOf(r *big.Rat) (int64, bool) {
	if !r.IsInt() || !r.Num().IsInt64() {
		return 0, false
	}
	n := r.Num().Int64()
	return n, n <= longestSpan*MicrosPerDay && n >= -longestSpan*MicrosPerDay
}

// SpanText writes seconds as Postgres makes an interval of a difference of two moments: days of 24 hours and less than one, without
// months. Both have a sign of their own: of a sign that stands before the first alone it depends on IntervalStyle what it is of. The
// rest is written in seconds, as a number of microseconds may be too large for servers before Postgres 15.
func SpanText(seconds *big.Rat) string {
	const day, digits = 24 * 60 * 60, 6
	whole := new(big.Int).Quo(seconds.Num(), new(big.Int).Mul(seconds.Denom(), big.NewInt(day)))
	rest := new(big.Rat).SetInt(new(big.Int).Mul(whole, big.NewInt(day)))
	return whole.String() + " days " + rest.Sub(seconds, rest).FloatString(digits) + " seconds"
}

// SpanLiteral writes a span of time, in microseconds, as a constant.
func SpanLiteral(micros int64) string {
	return "CAST('" + SpanText(big.NewRat(micros, 1_000_000)) + "' AS pg_catalog.interval)"
}
