package scalar

import (
	"math/big"
	"slices"
	"strconv"

	"dpproxy/planner/pgtype"
)

// Frames by the distance of values. Postgres computes a frame that begins with the first row in one pass over the partition. In any other
// frame it goes back and forth between both ends, which takes quadratic time once the rows are on disk, also for aggregates with an inverse
// transition. So count, sum and avg of a frame that begins at a distance are the difference of two frames that begin with the first row.
// The second ends one step of the values before the frame, so that no value lies between the two.

// near adds OVER with a frame by distance. A row without a value has the other such rows in its frame, and no other row has them: they come
// first, and nothing is subtracted for them.
func (o *window) near(w *Writer, partition string) (clauses, error) {
	var over []string
	var key string
	var before [4]*big.Rat
	for i, e := range o.ends {
		d, err := e.datum(w)
		if err != nil {
			return nil, err
		}
		here := e.signed(d)
		if i > 0 && slices.ContainsFunc([]int{0, 1, 2, 3}, func(k int) bool { return here[k].Cmp(before[k]) < 0 }) {
			return nil, notAllowed("a frame that can end before it begins", e.value.at).WithHint("Begin it further back.")
		}
		by := o.order[0]
		var edge string
		if key, edge, err = e.sql(w, d, o.apart() && i == 0); err != nil {
			return nil, err
		}
		before, by.nullsFirst = here, by.nullsFirst || o.apart()
		over = append(over, partition+" ORDER BY "+by.sql(key)+" RANGE BETWEEN UNBOUNDED PRECEDING AND "+edge+")")
	}
	return func(call string) string {
		if !o.apart() {
			return call + over[0]
		}
		earlier := "COALESCE(CASE WHEN " + key + " IS NOT NULL THEN " + call + over[0] + " END, 0)"
		return operatorSQL("-", call+over[1], earlier, pgtype.Type{}).sql
	}, nil
}

// sql writes the value of ORDER BY, and where a frame ends, or, with before, where the rows end that come before a frame that begins there.
func (e distance) sql(w *Writer, d datum, before bool) (key, edge string, err error) {
	x, err := w.operand(e.value.args[0])
	if err != nil {
		return "", "", err
	}
	t, step, after := pgtype.Of(x.typ.OID), "1", e.after
	switch {
	case t.Dated():
		t, step = pgtype.Of(pgtype.Interval), "1 microsecond"
	case t.Decimal():
		step = "1e-" + strconv.Itoa(max(d.digits, decimals(w.Env.interval(e.value.args[0]).Least)))
	}
	offset, err := w.write(e.value.args[1], asIs)
	if err != nil {
		return "", "", err
	}
	edge, err = w.convertTo(offset, t, e.value.at)
	switch step = castSQL("'"+step+"'", t); {
	case before && after && d.number.Sign() > 0:
		edge = operatorSQL("-", edge, step, t).sql
	case before:
		edge, after = operatorSQL("+", edge, step, t).sql, false
	}
	return x.sql, edge + map[bool]string{true: " FOLLOWING", false: " PRECEDING"}[after], err
}

// datum returns a distance that leads from no value out of the range of its type. Postgres would add days in its own time zone: only in UTC
// have all of them 24 hours.
func (e distance) datum(w *Writer) (datum, error) {
	c := e.value.args[1].(*constant)
	d, err := w.Env.datum(c)
	if err != nil {
		return d, err
	}
	if w.Env.Unsettled(c) {
		d = whole(0)
	}
	if d.number == nil || d.number.Cmp(power10(18)) > 0 || min(d.number.Sign(), int(d.months), int(d.days), int(d.micros)) < 0 {
		return d, notAllowed("a distance that is NULL, negative or too long", c.at).WithHint("Write a constant from 0 to 10^18.")
	}
	if e.value.zone >= 0 && (d.months != 0 || d.days != 0) {
		zone, err := w.Env.text(zoneConstant(e.value.zone, c.at))
		if err != nil || zone == nil || *zone != "UTC" && *zone != "Etc/UTC" {
			return d, notAllowed("a distance of days, whose length depends on the time zone,", c.at).
				WithHint("Write hours, order by x AT TIME ZONE 'Europe/Vienna' or by a date, or SET TimeZone = 'UTC'.")
		}
	}
	if e.value.typ.Decimal() && w.Env.interval(e.value.args[0]).Least == nil {
		return d, w.noBounds(e.value.args[0])
	}
	_, err = w.operand(e.value)
	return d, err
}

// signed returns the parts of a distance: they are negative before the current row.
func (e distance) signed(d datum) [4]*big.Rat {
	parts := [4]*big.Rat{new(big.Rat).Set(d.number), rat(int64(d.months)), rat(int64(d.days)), rat(d.micros)}
	for _, p := range parts {
		if !e.after {
			p.Neg(p)
		}
	}
	return parts
}

// total writes sum or avg of values of which there are some.
func (e *aggregate) total(x string, over clauses) string {
	if !e.over.apart() {
		return over("pg_catalog." + e.name + "(" + x + ")")
	}
	sum, numeric := over("pg_catalog.sum("+x+")"), pgtype.Of(pgtype.Numeric)
	if e.name == "avg" {
		return operatorSQL("/", castSQL(sum, numeric), castSQL(over("pg_catalog.count("+x+")"), numeric), numeric).sql
	}
	return sum
}

// some writes whether there are values of which sql is the sum or the average.
func (e *aggregate) some(sql, x string, over clauses) string {
	if e.over.apart() {
		return over("pg_catalog.count("+x+")") + " OPERATOR(pg_catalog.>) 0"
	}
	return sql + " IS NOT NULL"
}
