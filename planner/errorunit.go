package planner

import (
	"fmt"
	"math"

	"dpproxy/planner/pgtype"
)

// An errorUnit is the unit of an error: "" for numbers, days for dates, seconds for times and intervals.
type errorUnit string

const (
	inDays    errorUnit = "days"
	inSeconds errorUnit = "seconds"
)

// unitOfErrors returns the unit of errors of values of a type.
func unitOfErrors(t pgtype.Type) errorUnit {
	switch {
	case t.OID == pgtype.Date:
		return inDays
	case t.Dated(), t.OID == pgtype.Interval:
		return inSeconds
	}
	return ""
}

// unit returns the unit of the errors of an output; it is "" if they are numbers of rows.
func (o *output) unit() errorUnit {
	if o.said() != "" {
		return ""
	}
	return unitOfErrors(o.result)
}

// figure writes an error for people: "20", "12.5 days", "31.4 seconds", or "223 days 08:40:28" from two minutes on.
func (u errorUnit) figure(f float64) string {
	const minute, hour, day, longest = 60, 60 * 60, 24 * 60 * 60, 1e15
	switch {
	case u == "":
		return Number(f)
	case u == inDays || math.Abs(f) < 2*minute || math.Abs(f) > longest:
		return Number(f) + " " + string(u)
	}
	seconds := int64(math.Ceil(f))
	clock := fmt.Sprintf("%02d:%02d:%02d", seconds%day/hour, seconds%hour/minute, seconds%minute)
	switch days := seconds / day; days {
	case 0:
		return clock
	case 1:
		return "1 day " + clock
	default:
		return fmt.Sprintf("%d days %s", days, clock)
	}
}

// grouped is figure for people: numbers have their digits in groups.
func (u errorUnit) grouped(f float64) string {
	if u == "" {
		return Grouped(f)
	}
	return u.figure(f)
}
