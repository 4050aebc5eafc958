package scalar

import (
	"math/big"
	"slices"
	"time"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/work"
)

// An Env has the values of constants, and derives bounds from them. It is for use by one goroutine.
type Env struct {
	Values
	// TimeZones are the names of time zones that the protected database accepts.
	TimeZones map[string]bool
	// UTF8 says that the protected database is encoded in UTF8. Only then is the case of letters changed.
	UTF8 bool
	// Before14 says that the SQL is for a Postgres before version 14, where EXTRACT returns doubles and numerics are finite.
	Before14 bool
	// Extents says that public values may bound the columns of public tables ([Column.Extent]).
	Extents bool
	// Work counts the expressions that are bounded and written. Where it is spent they have no bounds.
	Work *work.Meter

	// undeclared are columns of tables whose declared values and bounds are not relied upon.
	undeclared map[*Column]bool
	// known caches the intervals of columns, and computed the intervals of expressions.
	known    map[*Column]Interval
	computed map[Expr]Interval
	// narrowed are the intervals of columns in rows that meet conditions.
	narrowed map[*Column]Interval
	// given are the intervals of other expressions in such rows. They are for lists of values only, where a value too many is a group
	// without rows.
	given   []given
	gaps    []gap
	listing bool
	// locations are the clocks of time zones, by their names; nil of those that Go does not know.
	locations map[string]*time.Location
	// hulls are the bounds of the elements of constant arrays, by fold.
	hulls   map[int]Interval
	costing *costing
}

// Bounds returns bounds of the values of e, from declared bounds and constants.
func (env *Env) Bounds(e Expr) Interval {
	i := env.interval(e)
	switch {
	case i.empty:
		return Interval{Low: new(big.Rat), High: new(big.Rat), Null: true, Least: rat(1)}
	case !i.Bounded():
		i.Low, i.High = nil, nil
	}
	return i
}

// interval is Bounds, but may have only one end.
func (env *Env) interval(e Expr) Interval {
	if i, ok := env.computed[e]; ok {
		return i
	}
	if env.Work.Spend(perExpression+len(env.given)+len(env.gaps)) != nil {
		return Interval{Null: true}
	}
	i := env.compute(e)
	for _, g := range env.given {
		if Equal(g.x, e) {
			null := i.Null && g.in.Null
			i = i.intersect(g.in)
			i.Null = null
		}
	}
	if len(env.gaps) > 0 && !i.empty {
		i = env.between(e, i)
	}
	if env.computed == nil {
		env.computed = map[Expr]Interval{}
	}
	env.computed[e] = i
	return i
}

func (env *Env) compute(e Expr) Interval {
	switch e := e.(type) {
	case *Ref:
		return env.column(e.Column)
	case *constant:
		return env.constant(e)
	case *call:
		return e.fn.over.bounds(env, e)
	case *cast:
		return castBounds(env, e)
	case *choice:
		return env.choice(e)
	case *bounded:
		return boundedInterval(env, e)
	case *aggregate:
		return aggregateBounds(env, e)
	case *Query, *logic:
		return truthValue()
	case *term:
	}
	return Interval{Null: true}
}

// Never reports whether the constants of a condition alone imply that it is true of no row. It does not rely on values being within
// declared bounds.
func (env *Env) Never(e Expr) bool {
	switch e := e.(type) {
	case *constant:
		d, err := env.datum(e)
		return err == nil && !env.Unsettled(e) && (d.null || d.number != nil && d.number.Sign() == 0)
	case *logic:
		if e.kind == ast.And {
			return slices.ContainsFunc(e.args, env.Never)
		}
		return e.kind == ast.Or && !slices.ContainsFunc(e.args, func(x Expr) bool { return !env.Never(x) })
	case *call:
		return env.neverTrue(e)
	case *Ref, *cast, *choice, *bounded, *aggregate, *Query, *term:
	}
	return false
}

// neverTrue reports whether a test compares with NULL, which is never true, or asks for a range whose end is before its beginning.
func (env *Env) neverTrue(c *call) bool {
	switch {
	case c.fn.over == comparison:
		return slices.ContainsFunc(c.args, env.null)
	case c.fn.over == inList && c.fn.name == wordIn:
		return !slices.ContainsFunc(c.args[1:], func(x Expr) bool { return !env.null(x) })
	case c.fn.over != inRange || c.fn.name != wordBetween:
		return false
	case slices.ContainsFunc(c.args, env.null):
		return true
	}
	low, ok := c.args[1].(*constant)
	high, also := c.args[2].(*constant)
	if !ok || !also || env.Unsettled(low) || env.Unsettled(high) || low.typ != high.typ || !low.typ.Number() && !low.typ.Dated() {
		return false
	}
	l, err := env.datum(low)
	h, wrong := env.datum(high)
	return err == nil && wrong == nil && l.number != nil && h.number != nil && l.number.Cmp(h.number) > 0
}

// null reports whether an expression is a constant with value NULL.
func (env *Env) null(x Expr) bool {
	c, ok := x.(*constant)
	if !ok || env.Unsettled(c) {
		return false
	}
	d, err := env.datum(c)
	return err == nil && d.null
}

// truthValue is false, true or NULL.
func truthValue() Interval {
	i := span(0, 1)
	i.Null = true
	return i
}

func (env *Env) constant(e *constant) Interval {
	d, err := env.datum(e)
	switch {
	case err != nil:
		return Interval{Null: true}
	case d.null:
		return Interval{Null: true, empty: true}
	case d.number == nil:
		return Interval{}
	}
	i := Interval{Low: d.number, High: d.number, Least: rat(1)}
	switch {
	case e.typ.Decimal():
		i.Least = power10(-d.digits)
	case e.typ.Float() && d.number.Sign() != 0:
		i.Least = new(big.Rat).Abs(d.number)
	}
	return i
}

// choice bounds a choice among several results. COALESCE, GREATEST and LEAST ignore NULL: an argument that may be NULL only adds possible
// values.
func (env *Env) choice(e *choice) Interval {
	list := make([]Interval, len(e.results))
	null := true
	for i, x := range e.results {
		list[i] = env.interval(x)
		null = null && list[i].Null
	}
	out := hull(list...)
	switch e.kind {
	case caseWhen:
		return out
	case nullIf:
		out.Null = true
		return out
	case coalesce, greatest, least:
	}
	for _, i := range list {
		switch {
		case i.empty:
		case e.kind == greatest:
			out.Low = furthest(out.Low, i, i.Low, larger)
		case e.kind == least:
			out.High = furthest(out.High, i, i.High, smaller)
		}
	}
	out.Null = null
	return out
}

// furthest moves an end to the end of an argument that is never NULL.
func furthest(have *big.Rat, i Interval, end *big.Rat, pick func(a, b *big.Rat) *big.Rat) *big.Rat {
	switch {
	case i.Null || end == nil:
		return have
	case have == nil:
		return end
	}
	return pick(have, end)
}

// The following is about the values of columns after they are moved into their bounds.

// Tiny values of floating-point columns count as 0, so that products and quotients of several values can neither underflow nor overflow,
// for which Postgres raises.
const (
	tiny8 = -100 // 2^tiny8 for float8
	tiny4 = -40  // for float4
	// keptDigits is the number of decimals that arithmetic sees of a numeric without a scale.
	keptDigits = 30
)

// digitsOf returns the number of decimals of a numeric column within its bounds.
func digitsOf(t pgtype.Type) int {
	if digits := t.Scale(); digits >= 0 {
		return digits
	}
	return keptDigits
}

func tiny(t pgtype.Type) *big.Rat {
	if t.OID == pgtype.Float4 {
		return power2(tiny4)
	}
	return power2(tiny8)
}

func (env *Env) column(c *Column) Interval {
	i, ok := env.known[c]
	if !ok {
		i = env.declared(c)
		if env.known == nil {
			env.known = map[*Column]Interval{}
		}
		env.known[c] = i
	}
	if n, ok := env.narrowed[c]; ok {
		i = i.intersect(n)
		i.Null = i.Null && n.Null
	}
	return i
}

func (env *Env) declared(c *Column) Interval {
	if len(c.Of) > 0 {
		list := make([]Interval, len(c.Of))
		for k, e := range c.Of {
			list[k] = env.interval(e)
		}
		i := hull(list...)
		i.Null = c.Outer || i.Null && !c.NotNull
		return i
	}
	i := Interval{Null: !c.NotNull}
	t := c.Type
	switch {
	case t.Array:
		return i
	case t.OID == pgtype.Bool:
		i.Low, i.High = rat(0), rat(1)
	case t.Whole():
		i.Least = rat(1)
	case t.Decimal():
		i.Least = power10(-digitsOf(t))
	case t.Float():
		i.Least = tiny(t)
	}
	switch {
	case env.undeclared[c]:
	case c.List != nil:
		listed := env.listed(c.List, t)
		i.Low, i.High = listed.Low, listed.High
	case c.Bounds != nil && t.OID != pgtype.Bool:
		i.Low, i.High = declaredEnds(c)
	case c.Extent != nil && env.Extents:
		told := env.listed(c.Extent, t)
		i.Low, i.High = told.Low, told.High
	}
	return i
}

// declaredEnds returns the declared bounds as they are written, rounded outward.
func declaredEnds(c *Column) (low, high *big.Rat) {
	b := c.Bounds
	switch {
	case c.Type.Dated():
		return momentEnds(c)
	case c.Type.OID == pgtype.Interval:
		return spanEnds(b)
	case b.Low == nil:
	case c.Type.Whole():
		return larger(floor(b.Low), lowestInt8), smaller(ceil(b.High), highestInt8)
	case c.Type.Decimal():
		digits := digitsOf(c.Type)
		return scaled(b.Low, digits, floor), scaled(b.High, digits, ceil)
	case c.Type.Float():
		return floatEnds(b, c.Type)
	}
	return nil, nil
}

// floatEnds rounds bounds outward. A bound that is tiny becomes 0, or the smallest value that is not tiny.
func floatEnds(b *Bounds, t pgtype.Type) (low, high *big.Rat) {
	low, high = ratOf(floatBelow(b.Low)), ratOf(floatAbove(b.High))
	least := tiny(t)
	if low.Sign() != 0 && new(big.Rat).Abs(low).Cmp(least) < 0 {
		low = smaller(new(big.Rat), new(big.Rat).Mul(least, rat(int64(low.Sign()))))
	}
	if high.Sign() != 0 && new(big.Rat).Abs(high).Cmp(least) < 0 {
		high = larger(new(big.Rat), new(big.Rat).Mul(least, rat(int64(high.Sign()))))
	}
	return low, high
}

func spanEnds(b *Bounds) (low, high *big.Rat) {
	least, okLow := pgtype.Span(b.LowText)
	most, okHigh := pgtype.Span(b.HighText)
	if !okLow || !okHigh {
		return nil, nil
	}
	return rat(least), rat(most)
}

func momentEnds(c *Column) (low, high *big.Rat) {
	low, okLow := Instant(c.Bounds.LowText)
	high, okHigh := Instant(c.Bounds.HighText)
	if !okLow || !okHigh {
		return nil, nil
	}
	if c.Type.OID == pgtype.Date {
		day := rat(pgtype.MicrosPerDay)
		return floor(low.Quo(low, day)), ceil(high.Quo(high, day))
	}
	return floor(low), ceil(high)
}

// physical returns the type in which an expression is computed.
func (env *Env) physical(e Expr) pgtype.Type {
	t := e.Type()
	switch {
	case t.Float():
		return pgtype.Of(pgtype.Float8)
	case t.Whole() && env.beyondInt8(e):
		return pgtype.Of(pgtype.Numeric)
	case t.Whole():
		return pgtype.Of(pgtype.Int8)
	}
	return t
}

// beyondInt8 reports whether a whole number is computed as a numeric, because it can exceed int8.
func (env *Env) beyondInt8(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others fit into int8
	case *Ref:
		for _, of := range e.Column.Of {
			if of.Type().Whole() && env.beyondInt8(of) {
				return true
			}
		}
	case *call, *aggregate:
		i := env.interval(e)
		return i.Bounded() && !i.within(Interval{Low: lowestInt8, High: highestInt8})
	case *choice, *bounded:
		for _, o := range operands(e) {
			if o.Type().Whole() && env.beyondInt8(o) {
				return true
			}
		}
	}
	return false
}

// listed returns bounds of a column with the values of a constant array: numbers, and dates and times in the years that can be computed
// with.
func (env *Env) listed(list Expr, t pgtype.Type) (i Interval) {
	array, ok := list.(*constant)
	if !ok || !t.Number() && !t.Dated() {
		return i
	}
	h := env.hull(array)
	if env.allNull(array) { // all bounds are valid
		h = Interval{Low: new(big.Rat), High: new(big.Rat)}
	}
	if !h.Bounded() || t.Dated() && !h.within(years(t)) {
		return i
	}
	if t.Decimal() || t.Float() {
		h.Low, h.High = declaredEnds(&Column{Type: t, Bounds: &Bounds{Low: h.Low, High: h.High}})
	}
	return h
}
