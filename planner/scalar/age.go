package scalar

import (
	"math/big"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// calendarAge is age(): years, months, days and time between two moments in one time zone.
var calendarAge = &rule{
	zoned: true,
	bounds: momentBounds(func(_ *call, i ...Interval) Interval {
		// Age counts a year as 360 days and a month as 30 days, while February has fewer.
		slack := rat(10 * pgtype.MicrosPerDay)
		low, high := new(big.Rat).Sub(i[0].Low, i[1].High), new(big.Rat).Sub(i[0].High, i[1].Low)
		shortest := big.NewRat(360, 366)
		return Interval{
			Low:  new(big.Rat).Sub(smaller(low, new(big.Rat).Mul(low, shortest)), slack),
			High: new(big.Rat).Add(larger(high, new(big.Rat).Mul(high, shortest)), slack), Least: rat(1),
		}
	}),
	write: moved(func(w *Writer, c *call, list []fragment) (fragment, error) {
		x := make([]string, len(list))
		for i, f := range list {
			if x[i] = f.sql; f.typ.Zoned() { // Postgres takes the years, months and days of local times too
				zone, err := w.sessionZone(c.zone, c.at)
				if err != nil {
					return fragment{}, err
				}
				x[i] = "pg_catalog.timezone(" + zone + ", " + f.sql + ")"
			}
		}
		return fragment{sql: c.fn.sql(x...), typ: pgtype.Of(pgtype.Interval)}, nil
	}),
}

// ageParts are the fields that can be extracted from an age.
var ageParts = []string{"year", "month", "day", "hour", "minute", "second", "epoch"}

// agePart bounds a field of an age with bounds x.
func agePart(name string, x Interval) Interval {
	day := rat(pgtype.MicrosPerDay)
	low, high := new(big.Rat).Quo(x.Low, day), new(big.Rat).Quo(x.High, day)
	out := span(-59, 59)
	switch name {
	case "year":
		year := rat(360)
		return Interval{Low: towardZero(low.Quo(low, year)), High: towardZero(high.Quo(high, year)), Least: rat(1)}
	case "epoch": // EXTRACT(EPOCH) counts a year as 365.25 days
		longest, seconds := big.NewRat(366, 360), rat(86400)
		low, high = smaller(low, new(big.Rat).Mul(low, longest)), larger(high, new(big.Rat).Mul(high, longest))
		return Interval{Low: new(big.Rat).Mul(low, seconds), High: new(big.Rat).Mul(high, seconds), Least: power10(-6)}
	case "month":
		out = span(-11, 11)
	case "day":
		out = span(-31, 31)
	case "hour":
		out = span(-23, 23)
	case "second":
		out = span(-60, 60)
		out.Least = power10(-6)
	}
	if low.Sign() >= 0 {
		out.Low = new(big.Rat)
	}
	return out
}

// madeBy reports whether every value of an interval results from calls of one rule, or is NULL.
func madeBy(e Expr, by *rule) bool {
	all := func(list []Expr) bool {
		return !slices.ContainsFunc(list, func(o Expr) bool { return !madeBy(o, by) })
	}
	switch e := e.(type) { //nolint:gochecksumtype // the others are no intervals of a rule
	case *call:
		return e.fn.over == by
	case *Ref:
		return len(e.Column.Of) > 0 && all(e.Column.Of)
	case *choice:
		return e.kind != caseWhen && all(e.results)
	case *bounded:
		return madeBy(e.x, by)
	case *aggregate:
		return madeBy(e.x, by)
	}
	return false
}

// sinceToday adds the missing argument of age(): midnight of the current date.
func sinceToday(args []Expr, at int) []Expr {
	return append([]Expr{mirrorTerm("CURRENT_DATE", pgtype.Of(pgtype.Date), at)}, args...)
}

// dateOf is make_date(). It cannot raise if the year and the month exist and every month has the day.
var dateOf = &rule{
	bounds: ofArguments(Interval.finite, func(_ *call, null bool, i []Interval) Interval {
		if !datable(i) {
			return Interval{Null: true}
		}
		return Interval{Low: dayOf(i[0].Low, i[1].Low, i[2].Low), High: dayOf(i[0].High, i[1].High, i[2].High), Null: null}
	}),
	write: func(w *Writer, c *call) (fragment, error) {
		i, x := make([]Interval, len(c.args)), make([]string, len(c.args))
		for k, a := range c.args {
			if i[k] = w.Env.interval(a); !i[k].finite() && !i[k].empty {
				return fragment{}, w.noBounds(a)
			}
			f, err := w.operand(a)
			if err != nil {
				return fragment{}, err
			}
			x[k] = castSQL(f.sql, pgtype.Of(pgtype.Int4))
		}
		if !datable(i) {
			return fragment{}, pgerr.New(pgerr.NotAllowed, "make_date() of a day that may not exist is not allowed on protected data").
				At(c.at).WithHint("Bound the year by 1 and 9999, the month by 1 and 12, and the day by 1 and 28: %s.",
				ast.Clamp("x", "1", "28"))
		}
		return fragment{sql: c.fn.sql(x...), typ: c.typ}, nil
	},
}

// datable reports whether all years, months and days within the intervals form a date.
func datable(i []Interval) bool {
	for k, within := range []Interval{span(1, 9999), span(1, 12), span(1, 28)} {
		if !i[k].within(within) {
			return false
		}
	}
	return true
}

// dayOf returns a date as a number of days.
func dayOf(year, month, day *big.Rat) *big.Rat {
	n := func(r *big.Rat) int64 { return floor(r).Num().Int64() }
	return rat(pgtype.DayOf(n(year), n(month), n(day)))
}
