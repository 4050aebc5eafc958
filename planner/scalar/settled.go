package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// A settling asks whether an expression has a single value while a source has any value of a cell. It trusts the same judgments as
// everything that bounds values: intervals, and how tests decide over them.
type settling struct {
	env    *Env // in which the source has the values of the cell
	source Expr
	others []Expr        // other sources, whose values are taken as they are
	uses   map[Expr]bool // whether an expression uses the source, for all cells
	trial  *trial
	below  map[*Column]bool // of columns of derived tables
}

// of reports whether an expression has a single value. alike says that it must also have a single spelling: a cast to text shows the scale
// of a number, and the scale of a quotient depends on it.
func (s *settling) of(e Expr, alike bool) bool {
	if s.is(e) { // the values of a cell, or the spellings of a value
		return !alike && s.env.interval(e).Constant()
	}
	if !s.used(e) || s.decided(e, alike) {
		return true
	}
	switch x := e.(type) { //nolint:gochecksumtype // operands decide about the others
	case *Ref:
		below := x.Column.computed()
		return below != nil && remembered(&s.below, x.Column, func() bool { return s.of(below, true) })
	case *choice:
		return s.chosen(x, alike)
	}
	alike = showsScale(e)
	return !slices.ContainsFunc(operands(e), func(o Expr) bool { return !s.of(o, alike) })
}

// is reports whether an expression is the source itself.
func (s *settling) is(e Expr) bool { return isSource(s.source, e) }

func isSource(source, e Expr) bool {
	if from, ok := source.(*Ref); ok {
		ref, plain := e.(*Ref)
		return plain && ref.Column.Base() == from.Column
	}
	return Equal(source, e)
}

// used reports whether an expression depends on the source.
func (s *settling) used(e Expr) bool {
	used, known := s.uses[e]
	if !known {
		used = s.is(e) || !s.isOther(e) && s.usedBelow(e)
		s.uses[e] = used
	}
	return used
}

func (s *settling) usedBelow(e Expr) bool {
	ref, ok := e.(*Ref)
	return slices.ContainsFunc(operands(e), s.used) || ok && slices.ContainsFunc(ref.Column.Of, s.used)
}

// isOther reports whether an expression is another source.
func (s *settling) isOther(e Expr) bool {
	return slices.ContainsFunc(s.others, func(o Expr) bool { return isSource(o, e) })
}

// decided reports whether the intervals of operands alone decide the value.
func (s *settling) decided(e Expr, alike bool) bool {
	if e.Type().Family() == pgtype.BoolFamily {
		return s.trial.could(e, true) != s.trial.could(e, false) && !mayBeNull(s.env, e)
	}
	if i := s.env.interval(e); i.Constant() && !i.Null && (!alike || !e.Type().Decimal() || withoutDecimals(e)) {
		return true
	}
	switch x := e.(type) { //nolint:gochecksumtype // the others have no periods
	case *call:
		return x.fn.over.settles != nil && x.fn.over.settles(s.env, x)
	case *bounded:
		return s.decided(x.x, alike)
	}
	return false
}

// withoutDecimals reports whether a numeric is a whole number without decimals by the function that computes it.
func withoutDecimals(e Expr) bool {
	c, ok := e.(*call)
	return ok && c.typ.Decimal() && (c.fn.over == rounding || c.fn.over == quotient || c.fn.over == signum || c.whole)
}

// showsScale reports whether the value of an expression depends on the scales of its operands.
func showsScale(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others keep their operands as they are
	case *call:
		return e.fn.over != comparison && e.fn.over != inList && e.fn.over != inRange && e.fn.over != rounding && e.fn.over != roundingTo
	case *cast:
		return !e.typ.Number() || e.typ.Float()
	case *logic:
		return false
	}
	return true
}

// chosen is of for a choice. Results of CASE after a test that is surely true, and those of tests that are never true, do not matter.
func (s *settling) chosen(c *choice, alike bool) bool {
	if c.kind != caseWhen || c.x != nil {
		return !slices.ContainsFunc(c.operands(), func(o Expr) bool { return !s.of(o, alike) })
	}
	for i, test := range c.tests {
		switch {
		case !s.trial.could(test, true):
			continue
		case !s.of(test, false) || !s.of(c.results[i], alike):
			return false
		case !s.trial.could(test, false) && !mayBeNull(s.env, test):
			return true
		}
	}
	return s.of(c.results[len(c.tests)], alike)
}

// computed returns the expression that computes a column of a derived table; nil if it is a plain column, one of several branches, or NULL
// in rows that a join adds.
func (c *Column) computed() Expr {
	for {
		if c.Outer || len(c.Of) != 1 {
			return nil
		}
		ref, plain := c.Of[0].(*Ref)
		if !plain {
			return c.Of[0]
		}
		c = ref.Column
	}
}

// The fields of dates and times, by the period in which each has a single value.
var periodOf = map[string]string{
	"minute": "minute", "hour": "hour", "day": "day", "dow": "day", "isodow": "day", "doy": "day", "week": "week", "isoyear": "week",
	"month": "month", "quarter": "quarter", "year": "year", "decade": "year", "century": "year", "millennium": "year", "second": "second",
}

// samePeriod reports whether two local times, in microseconds, are in the same period.
func samePeriod(period string, low, high *big.Rat) bool {
	p, known := periods[period]
	if !known || !low.IsInt() || !high.IsInt() || !low.Num().IsInt64() || !high.Num().IsInt64() {
		return false
	}
	return p.begin(pgtype.Moment(low.Num().Int64())).Equal(p.begin(pgtype.Moment(high.Num().Int64())))
}

// inPeriod reports whether all values of a date, time or instant are in the same period of a time zone's calendar.
func inPeriod(env *Env, period string, e Expr, zone int) bool {
	i := env.interval(e)
	if !i.Bounded() {
		return false
	}
	switch t := e.Type(); {
	case t.OID == pgtype.Date:
		day := rat(pgtype.MicrosPerDay)
		i.Low, i.High = new(big.Rat).Mul(i.Low, day), new(big.Rat).Mul(i.High, day)
	case t.Zoned():
		var ok bool
		if i, ok = localTimes(env, i, zoneConstant(zone, e.Pos())); !ok {
			return false
		}
	}
	return samePeriod(period, i.Low, i.High)
}

// settledTruncation is the settles of date_trunc.
func settledTruncation(env *Env, c *call) bool {
	field, err := env.text(c.args[0])
	if err != nil || field == nil {
		return err == nil
	}
	period := strings.ToLower(*field)
	if of, known := periodOf[period]; known {
		period = of
	}
	of, zone := c.args[1], c.zone
	if len(c.args) == 2 {
		of, _ = localOf(of)
	} else if named, ok := c.args[2].(*constant); ok {
		zone = named.fold
	} else {
		return false
	}
	return !env.interval(of).Null && inPeriod(env, period, of, zone)
}

// settledField is the settles of extract.
func settledField(env *Env, c *call) bool {
	field, err := env.text(c.args[0])
	if err != nil || field == nil {
		return err == nil
	}
	x, period := c.args[1], periodOf[strings.ToLower(*field)]
	if env.interval(x).Null {
		return false
	}
	if x.Type().OID == pgtype.Interval {
		i := env.interval(x)
		if !elapsed(x) || !i.Bounded() {
			return false
		}
		if i.High.Sign() <= 0 { // -36:00:00 has -1 days
			i = i.negative()
		}
		return i.Low.Sign() >= 0 && samePeriod(lengthOf[period], i.Low, i.High)
	}
	return inPeriod(env, period, x, c.zone)
}

// lengthOf are the periods in which the fields of a length of time have a single value.
var lengthOf = map[string]string{"day": "day", "hour": "hour", "minute": "minute", "second": "second"}

// settledFormat is the settles of to_char.
func settledFormat(env *Env, c *call) bool {
	template, err := env.text(c.args[1])
	if err != nil || template == nil {
		return err == nil
	}
	return !env.interval(c.args[0]).Null && inPeriod(env, finestOf(*template), c.args[0], c.zone)
}

// finestOf returns the longest period in which a template of to_char has a single text.
func finestOf(template string) string {
	for _, p := range []struct {
		period string
		parts  []string
	}{
		{"", []string{"US"}},
		{"second", []string{"SS"}},
		{"minute", []string{"MI"}},
		{"hour", []string{"HH"}},
		{"day", []string{"D", "d", "W", "I"}},
	} {
		if slices.ContainsFunc(p.parts, func(part string) bool { return strings.Contains(template, part) }) {
			return p.period
		}
	}
	return "month"
}
