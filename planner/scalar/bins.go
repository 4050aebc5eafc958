package scalar

import (
	"math/big"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// bins is date_bin(): the beginning of the bin of constant length that contains a moment.
var bins = &rule{
	constants: []int{0, 2},
	bounds: func(env *Env, c *call) Interval {
		i := env.interval(c.args[1])
		g, ok, err := env.binsOf(c)
		switch {
		case err != nil || !i.Bounded():
			return Interval{Null: true}
		case !ok:
			return Interval{Null: true, empty: true}
		}
		i.Low, i.High = g.begin(i.Low), g.begin(i.High)
		return i
	},
	write: func(w *Writer, c *call) (fragment, error) {
		i := w.Env.interval(c.args[1])
		if !i.Bounded() && !i.empty {
			return fragment{}, w.noBounds(c.args[1])
		}
		g, ok, err := w.Env.binsOf(c)
		switch {
		case err != nil:
			return fragment{}, err
		case !ok || i.empty:
			return fragment{sql: "CAST(NULL AS " + c.typ.SQL() + ")", typ: c.typ}, nil
		case w.Env.Before14:
			return fragment{}, pgerr.New(pgerr.NotAllowed, "date_bin() is not there before Postgres 14").At(c.at).
				WithHint("Use date_trunc().")
		}
		first := g.begin(i.Low)
		if !(Interval{Low: first, High: i.High}).within(years(c.typ)) {
			return fragment{}, outOfRange(c)
		}
		x, err := w.operand(c.args[1])
		if err != nil {
			return fragment{}, err
		}
		stride, err := w.write(c.args[0], asIs)
		if err != nil {
			return fragment{}, err
		}
		// Versions of Postgres differ for moments before the origin, so the origin is moved before all moments.
		return fragment{sql: c.fn.sql(stride.sql, x.sql, c.typ.DateLiteral(first.Num().Int64())), typ: c.typ}, nil
	},
}

// A grid is moments at a distance of stride microseconds, one of which is the origin.
type grid struct{ stride, origin *big.Rat }

// begin returns the last moment of the grid that is not after r.
func (g grid) begin(r *big.Rat) *big.Rat {
	n := floor(new(big.Rat).Quo(new(big.Rat).Sub(r, g.origin), g.stride))
	return n.Add(n.Mul(n, g.stride), g.origin)
}

// binsOf returns the bins of date_bin; ok is false if it is NULL. Bins for which Postgres raises are refused.
func (values Values) binsOf(c *call) (g grid, ok bool, err error) {
	stride, err := values.datum(c.args[0].(*constant))
	if err != nil {
		return g, false, err
	}
	origin, err := values.datum(c.args[2].(*constant))
	switch {
	case err != nil || stride.null || origin.null:
		return g, false, err
	case stride.number == nil || stride.months != 0 || stride.number.Sign() <= 0 || origin.number == nil:
		return g, false, pgerr.New(pgerr.NotAllowed, "these bins are not allowed on protected data").At(c.at).
			WithHint("Use a positive length of days and time, without months, and a finite origin.")
	}
	return grid{stride.number, origin.number}, true, nil
}

// binned lists the beginnings of the bins of local times.
func (n *enumeration) binned(c *call, in Interval) ([]string, bool) {
	g, ok, err := n.env.binsOf(c)
	if err != nil || !ok || !in.Bounded() || c.typ.Zoned() {
		return nil, false
	}
	var texts []string
	for at := g.begin(in.Low); at.Cmp(in.High) <= 0; at = new(big.Rat).Add(at, g.stride) {
		if len(texts) >= n.most {
			return nil, false
		}
		texts = append(texts, momentText(floor(at).Num().Int64()))
	}
	return texts, true
}

// momentText writes a local time.
func momentText(micros int64) string {
	return dayText(floorDiv(micros, pgtype.MicrosPerDay), pgtype.Moment(micros).Format(" 15:04:05.999999"), false, false)
}
