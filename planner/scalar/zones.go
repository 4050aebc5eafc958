package scalar

import (
	"math/big"
	"time"
	_ "time/tzdata" // a container has no zones of its own

	"dpproxy/planner/pgtype"
)

// location returns the clock of a constant time zone, as far as Go knows it by that name.
func location(env *Env, zone Expr) (*time.Location, bool) {
	if env.offset(zone) == 0 {
		return time.UTC, true
	}
	c, ok := zone.(*constant)
	if !ok || c.fold < 0 || env.Unsettled(c) {
		return nil, false
	}
	name, err := env.text(c)
	if err != nil || name == nil || *name == "" || *name == "Local" {
		return nil, false
	}
	if loc, have := env.locations[*name]; have {
		return loc, loc != nil
	}
	loc, err := time.LoadLocation(*name)
	if err != nil {
		loc = nil
	}
	if env.locations == nil {
		env.locations = map[string]*time.Location{}
	}
	env.locations[*name] = loc
	return loc, loc != nil
}

// localTimes returns the local times of the instants in an interval, if the clock of the time zone does not change among them. It serves
// lists of values alone, which have the values at both ends of such an interval as the mirror computes them.
func localTimes(env *Env, i Interval, zone Expr) (Interval, bool) {
	loc, ok := location(env, zone)
	if !ok || !i.Bounded() || !i.Low.IsInt() || !i.High.IsInt() || !i.within(years(pgtype.Of(pgtype.Timestamptz))) {
		return i, false
	}
	low, high := pgtype.Moment(i.Low.Num().Int64()).In(loc), pgtype.Moment(i.High.Num().Int64()).In(loc)
	if _, end := low.ZoneBounds(); !end.IsZero() && !high.Before(end) {
		return i, false
	}
	_, seconds := low.Zone()
	by := rat(int64(seconds) * 1_000_000)
	i.Low, i.High = new(big.Rat).Add(i.Low, by), new(big.Rat).Add(i.High, by)
	return i, true
}

// localOfCast returns the local times of instants that are cast to a date or a local time, for lists of values.
func localOfCast(env *Env, i Interval, e *cast) (Interval, bool) {
	if !env.listing || !e.x.Type().Zoned() {
		return i, false
	}
	return localTimes(env, i, zoneConstant(e.zone, e.at))
}

// clock returns the first time zone that expressions name, whose days are likely edges.
func (m *Lister) clock(over []Expr) *time.Location {
	found := time.UTC
	for _, e := range over {
		eachBelow(e, func(x Expr) {
			if zone := zoneOf(x); zone != nil && found == time.UTC {
				if loc, ok := location(m.Env, zone); ok {
					found = loc
				}
			}
		})
	}
	return found
}

// zoneOf returns the time zone whose clock an expression reads; nil if it reads none.
func zoneOf(e Expr) Expr {
	switch x := e.(type) { //nolint:gochecksumtype // the others read no clock
	case *call:
		switch {
		case x.fn.over == atZone:
			return x.args[0]
		case x.fn.over == truncate && len(x.args) == 3:
			return x.args[2]
		case x.zone >= 0:
			return zoneConstant(x.zone, x.at)
		}
	case *cast:
		if x.zone >= 0 {
			return zoneConstant(x.zone, x.at)
		}
	}
	return nil
}
