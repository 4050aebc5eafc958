package scalar_test

import (
	"context"
	"fmt"
	"testing"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// aggregates are accepted over the rows of a unit; exact ones have Postgres's value.
var aggregates = []struct {
	text  string
	exact bool
}{
	{"count(*)", true},
	{"count(i4)", true},
	{"count(j)", true},
	{"count(DISTINCT i4)", true},
	{"count(DISTINCT v)", true},
	{"count(DISTINCT d)", true},
	{"count(*) FILTER (WHERE i4 > 0)", true},
	{"count(*) FILTER (WHERE b) + 1", true},
	{"sum(i2)", true},
	{"sum(i4)", true},
	{"sum(i8)", true},
	{"sum(num)", true},
	{"sum(nf)", true},
	{"sum(i4) FILTER (WHERE b)", true},
	{"sum(i4 + i2)", true},
	{"sum(CASE WHEN b THEN num ELSE 0 END)", true},
	{"avg(i4)", true},
	{"avg(i2)", true},
	{"avg(num)", true},
	{"min(i4)", true},
	{"max(i8)", true},
	{"min(num)", true},
	{"max(nf)", true},
	{"max(nu)", true},
	{"min(f8)", true},
	{"max(f4)", true},
	{"min(d)", true},
	{"max(ts)", true},
	{"min(tz)", true},
	{"max(du)", true},
	{"max(s)", true},
	{"min(v)", true},
	{"min(e)", true},
	{"max(tm)", true},
	{"bool_and(b)", true},
	{"bool_or(i4 > 0)", true},
	{"every(b)", true},
	{"sum(i4) > 100", true},
	{"sum(i4) / count(*)", true},
	{"100.0 * sum(i2) / count(*)", true},
	{"max(d) - min(d)", true},
	{"avg(i4) * 2", true},
	{"COALESCE(sum(i4), 0)", true},
	{"CASE WHEN count(*) > 2 THEN 'many' ELSE 'few' END", true},
	{"sum(f8)", false},
	{"sum(f4)", false},
	{"sum(fw)", false},
	{"avg(f8)", false},
	{"avg(f4)", false},
	{"avg(fw)", false},
	{"sum(f8) * 2", false},
	{"1 / avg(f8)", false},
	{"sum(NULL::float8 * f8)", false},
}

// TestAggregates computes aggregates over each unit's rows: within bounds whatever the
// rows hold and however many there are, and the same in whichever order they come.
func TestAggregates(t *testing.T) {
	db := open(t)
	for _, a := range aggregates {
		for _, rows := range []int64{20, 2} {
			if err := db.overUnits(t.Context(), a.text, rows, a.exact && rows == 20); err != nil {
				t.Errorf("%s of %d rows\n\t%v", a.text, rows, err)
			}
		}
	}
}

func (db *database) overUnits(ctx context.Context, text string, rows int64, exact bool) error {
	e, keys, _, err := parseInner(text, "")
	if err != nil {
		return err
	}
	r := resolver()
	r.Unit = &scalar.UnitGroup{Rows: rows}
	for _, k := range keys {
		x, err := resolver().Expr(k)
		if err != nil {
			return err
		}
		r.Unit.Keys = append(r.Unit.Keys, x)
	}
	res, err := db.resolve(ctx, r, e)
	if err != nil {
		return err
	}
	w, t := res.writer(), res.x.Type()
	sql, err := value(w, res.x)
	if err != nil {
		return err
	}
	bounds, within := res.env.Bounds(res.x), "NULL"
	if bounds.Bounded() {
		if within, err = db.within(w, res.x, bounds); err != nil {
			return err
		}
	}
	query := func(order string) ([][]*string, error) {
		return db.query(ctx, res.env, "SELECT t0.u, 't', "+shown(t, sql)+", "+within+" FROM (SELECT * FROM public.t "+order+
			") AS t0 GROUP BY t0.u ORDER BY t0.u")
	}
	up, err := query("ORDER BY k")
	if err != nil {
		return fmt.Errorf("raised: %w\n\t%s", err, sql)
	}
	down, err := query("ORDER BY k DESC")
	if err != nil {
		return err
	}
	for i := range up {
		if orNull(up[i][2]) != orNull(down[i][2]) {
			return fmt.Errorf("unit %s: %s, in another order %s", *up[i][0], orNull(up[i][2]), orNull(down[i][2]))
		}
		if err := inBounds(up[i][3], bounds, t.Family() == pgtype.FloatFamily); err != nil {
			return fmt.Errorf("unit %s: %w\n\t%s", *up[i][0], err, within)
		}
	}
	if !exact {
		return nil
	}
	want, err := db.native(ctx, "SELECT u, "+shown(t, text)+", CAST(pg_typeof("+text+") AS oid) FROM t WHERE inside GROUP BY u ORDER BY u")
	if err != nil {
		return err
	}
	for i, r := range want { // the units inside come first
		if err := sameType(*r[2], t); err != nil {
			return err
		}
		if orNull(r[1]) != orNull(up[i][2]) {
			return fmt.Errorf("unit %s: %s, in Postgres %s\n\t%s", *r[0], orNull(up[i][2]), orNull(r[1]), sql)
		}
	}
	return nil
}
