package scalar

import (
	"math/big"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A truth says for which values of one expression a condition is true and for which it is false. For all others it is NULL.
type truth struct {
	subject string // the expression, as it is written
	is, not region
	// among has all values that the subject can have, as the schema proves it.
	among region
}

// truthOf finds the truth of a condition that compares one expression with constants. It returns false if it finds none.
func (n normaliser) truthOf(e Expr) (t truth, ok bool, err error) {
	switch e := e.(type) { //nolint:gochecksumtype // of the others nothing is known
	case *Ref:
		if e.Type().OID != pgtype.Bool {
			return t, false, nil
		}
		one := point{number: rat(1)}
		return n.truth(e, []Expr{e}, true, comparedWith("=", one), comparedWith("<>", one))
	case *logic:
		if e.kind == ast.Not {
			t, ok, err = n.truthOf(e.args[0])
			t.is, t.not = t.not, t.is
		}
		return t, ok, err
	case *call:
		return n.truthOfTest(e)
	}
	return t, false, nil
}

func (n normaliser) truthOfTest(c *call) (truth, bool, error) {
	switch c.fn.over {
	case comparison:
		return truthOfComparison(n, c)
	case distinctness:
		return truthOfDistinctness(n, c)
	case inList:
		return truthOfList(n, c)
	case ofArray:
		return truthOfElements(n, c)
	case inRange:
		return truthOfRange(n, c)
	case nullTest:
		return truthOfPresence(n, c)
	case truthTest:
		return truthOfTruth(n, c)
	}
	return truth{}, false, nil
}

// truthOfDistinctness is that of IS [NOT] DISTINCT FROM.
func truthOfDistinctness(n normaliser, c *call) (t truth, ok bool, err error) {
	x, to := c.args[0], c.args[1]
	if isConstant(x) {
		x, to = to, x
	}
	p, null, known := pointFor(n.w.Env, x, to)
	if !known {
		return t, false, nil
	}
	same := comparedWith("=", p)
	if null {
		same = region{null: true}
	}
	if c.fn.name == "IS DISTINCT FROM" {
		same = same.others()
	}
	return n.truth(x, c.args, true, same, same.others())
}

// truthOfList is that of [NOT] IN.
func truthOfList(n normaliser, c *call) (t truth, ok bool, err error) {
	among, null, known := anyOf(n.w.Env, c.args[0], c.args[1:])
	if !known {
		return t, false, nil
	}
	return n.truthOfMembers(c, among, null, c.fn.name == wordIn, len(c.args)-1 < hashedList)
}

// truthOfElements is that of = ANY and <> ALL of a constant array.
func truthOfElements(n normaliser, c *call) (t truth, ok bool, err error) {
	array, constant := c.args[1].(*constant)
	if !constant || c.fn.name != "= ANY" && c.fn.name != "<> ALL" {
		return t, false, nil
	}
	list, null, known := pointsOf(n.w.Env, array)
	if !known {
		return t, false, nil
	}
	for i, p := range list {
		list[i] = p.in(array.typ.Element(), c.args[0].Type())
	}
	return n.truthOfMembers(c, regionOf(list), null, c.fn.name == "= ANY", false)
}

// truthOfPresence is that of IS [NOT] NULL.
func truthOfPresence(n normaliser, c *call) (t truth, ok bool, err error) {
	is := region{null: true}
	if c.fn.name == isNotNull {
		is = is.others()
	}
	return n.truth(c.args[0], nil, true, is, is.others())
}

// pointFor returns the value of a constant that is compared with x.
func pointFor(env *Env, x, to Expr) (p point, null, ok bool) {
	c, constant := to.(*constant)
	if !constant {
		return p, false, false
	}
	p, null, ok = pointOf(env, c)
	return p.in(c.typ, x.Type()), null, ok
}

// in converts a date to a time, or a time to days: Postgres compares dates with times as the times at which they begin.
func (p point) in(from, to pgtype.Type) point {
	day := rat(pgtype.MicrosPerDay)
	switch {
	case p.number == nil || !from.Dated() || !to.Dated() || (from.OID == pgtype.Date) == (to.OID == pgtype.Date):
	case from.OID == pgtype.Date:
		p.number = new(big.Rat).Mul(p.number, day)
	default:
		p.number = new(big.Rat).Quo(p.number, day)
	}
	return p
}

// anyOf returns the values of constants that are compared with x; null says that one is NULL.
func anyOf(env *Env, x Expr, items []Expr) (r region, null, ok bool) {
	var list []point
	for _, item := range items {
		p, isNull, known := pointFor(env, x, item)
		switch {
		case !known:
			return r, false, false
		case isNull:
			null = true
		default:
			list = append(list, p)
		}
	}
	return regionOf(list), null, true
}

// regionOf returns the region of some values.
func regionOf(list []point) region {
	if n := len(list); n > 1 {
		return regionOf(list[:n/2]).or(regionOf(list[n/2:]))
	}
	if len(list) == 0 {
		return region{}
	}
	return comparedWith("=", list[0])
}

// truthOfComparison is that of = <> < <= > >=.
func truthOfComparison(n normaliser, c *call) (t truth, ok bool, err error) {
	x, to, op := c.args[0], c.args[1], c.fn.name
	if isConstant(x) {
		x, to, op = to, x, mirrored[op]
	}
	p, null, known := pointFor(n.w.Env, x, to)
	switch {
	case !known || forOrder(c) && !ranked(x.Type()):
		return t, false, nil
	case null:
		return n.truth(x, c.args, forEquality(c), region{}, region{})
	}
	return n.truth(x, c.args, forEquality(c), comparedWith(op, p), comparedWith(denied[op], p))
}

// ranked reports whether Postgres compares the values of a type in the order of points.
func ranked(t pgtype.Type) bool { return t.Number() || t.Dated() || t.OID == pgtype.Bool }

// truthOfMembers is that of being among values, or, if in is false, of being none of them.
func (n normaliser) truthOfMembers(c *call, among region, null, in, equality bool) (t truth, ok bool, err error) {
	is, not := among, among.or(region{null: true}).others()
	if null { // it is not known to be another value than NULL
		not = region{}
	}
	if !in {
		is, not = not, is
	}
	return n.truth(c.args[0], c.args, equality, is, not)
}

// truthOfRange is that of [NOT] BETWEEN.
func truthOfRange(n normaliser, c *call) (t truth, ok bool, err error) {
	name, either := strings.CutSuffix(c.fn.name, " SYMMETRIC")
	if !ranked(c.args[0].Type()) {
		return t, false, nil
	}
	if either {
		return truthOfEither(n, c, name)
	}
	is, not := region{begins: true}, region{}
	for i, op := range []string{">=", "<="} {
		p, null, known := pointFor(n.w.Env, c.args[0], c.args[i+1])
		if !known {
			return t, false, nil
		}
		if null {
			is = region{}
			continue
		}
		is, not = is.and(comparedWith(op, p)), not.or(comparedWith(denied[op], p))
	}
	if c.fn.name != wordBetween {
		is, not = not, is
	}
	return n.truth(c.args[0], c.args, false, is, not)
}

// truthOfEither is that of [NOT] BETWEEN SYMMETRIC.
func truthOfEither(n normaliser, c *call, name string) (t truth, ok bool, err error) {
	a, null, known := pointFor(n.w.Env, c.args[0], c.args[1])
	b, alsoNull, also := pointFor(n.w.Env, c.args[0], c.args[2])
	if !known || !also || null || alsoNull {
		return t, false, nil
	}
	if a.compare(b) > 0 {
		a, b = b, a
	}
	is := comparedWith(">=", a).and(comparedWith("<=", b))
	not := is.or(region{null: true}).others()
	if name != wordBetween {
		is, not = not, is
	}
	return n.truth(c.args[0], c.args, false, is, not)
}

// truthOfTruth is that of IS [NOT] TRUE, FALSE and UNKNOWN.
func truthOfTruth(n normaliser, c *call) (t truth, ok bool, err error) {
	t, ok, err = n.truthOf(c.args[0])
	if err != nil || !ok {
		return t, false, err
	}
	word, denies := strings.CutPrefix(strings.TrimPrefix(c.fn.name, "IS "), "NOT ")
	switch word {
	case "TRUE":
	case "FALSE":
		t.is = t.not
	default:
		t.is = t.is.or(t.not).others()
	}
	if denies {
		t.is = t.is.others()
	}
	t.not = t.is.others()
	return t, true, nil
}

// truth returns the truth of a condition on x, among the operands of a comparison: it holds in one region, and is false in another.
func (n normaliser) truth(x Expr, operands []Expr, equality bool, is, not region) (t truth, ok bool, err error) {
	if isConstant(x) {
		return t, false, nil
	}
	rows, known := rasterOf(x)
	if !known {
		return t, false, nil
	}
	settle := func(r region, of raster) region { return r.moved(of.settled) }
	is, not = settle(is, rows), settle(not, rows)
	for {
		below, back := n.below(x)
		if below == nil {
			break
		}
		x = below
		if rows, known = rasterOf(x); !known {
			return t, false, nil
		}
		is, not = settle(back(is), rows), settle(back(not), rows)
	}
	t = truth{is: is, not: not, among: settle(n.among(x), rows)}
	if ref, plain := x.(*Ref); plain {
		t.subject, err = n.w.Expr(ref)
		return t, err == nil, err
	}
	f, err := n.w.comparand(x, operands, equality)
	t.subject = n.w.instant(f).sql
	return t, err == nil, err
}

// below returns the operand of an expression whose value follows from it in the same order, and a function that returns the values of the
// operand for which the expression has a value in a region. The operand is nil if there is none.
func (n normaliser) below(e Expr) (x Expr, back func(region) region) {
	c, isCast := e.(*cast)
	if _, key := n.w.grouped(e, asIs); key || !isCast || c.zone >= 0 && n.w.Env.offset(zoneConstant(c.zone, c.at)) != 0 {
		return nil, nil // elsewhere clocks go back, and the rules for that may change
	}
	from, to := c.x.Type(), c.typ
	ref, plain := c.x.(*Ref)
	switch {
	case plainText(to) && plainText(from) && to.Mod < 0 && (to.OID == from.OID || to.OID == pgtype.Text && plain),
		to.Decimal() && to.Mod < 0 && (from.Whole() || from.Decimal()),
		to.OID == pgtype.Float8 && (from.OID == pgtype.Int2 || from.OID == pgtype.Int4 || from.OID == pgtype.Float4):
		return c.x, func(r region) region { return r }
	case !plain || ref.Column.derived() || boundedOf(ref) != nil:
		return nil, nil
	case from.Whole() && to.Whole() && pgtype.Bits(to.OID) >= pgtype.Bits(from.OID):
		return c.x, n.clampedBack(ref, func(r region) region { return r })
	case from.Dated() && to.Dated() && (from.OID == pgtype.Date) == (to.OID == pgtype.Date) && to.Mod < 0:
		return c.x, n.clampedBack(ref, func(r region) region { return r })
	case from.OID == pgtype.Date && to.Dated():
		return c.x, n.clampedBack(ref, stretched(big.NewRat(1, pgtype.MicrosPerDay)))
	case from.Dated() && to.OID == pgtype.Date: // a time is of the day before which its midnight is not
		return c.x, n.clampedBack(ref, stretched(rat(pgtype.MicrosPerDay)))
	}
	return nil, nil
}

// stretched multiplies the finite edges of a region.
func stretched(by *big.Rat) func(region) region {
	return func(r region) region {
		return r.moved(func(c edge) edge {
			if c.at.number != nil {
				c.at.number = new(big.Rat).Mul(c.at.number, by)
			}
			return c
		})
	}
}

// clampedBack returns the values of a column that are in a region, or for which its inner function is, after they are moved into the
// bounds of the column.
func (n normaliser) clampedBack(ref *Ref, inner func(region) region) func(region) region {
	i := n.w.Env.declared(ref.Column.Base())
	return func(r region) region {
		r = inner(r)
		if !i.Bounded() {
			return r
		}
		return r.before(point{number: i.Low}, point{number: i.High})
	}
}

// among returns all values that an expression can have: those that the schema of its table admits, if it is a column.
func (n normaliser) among(e Expr) region {
	all := everything
	ref, plain := e.(*Ref)
	if !plain {
		return all
	}
	all.null = !ref.Column.NotNull || ref.Column.Outer
	c := ref.Column.Base()
	if len(c.Of) > 0 {
		return all
	}
	if c.Only {
		if listed, ok := declaredRegion(c); ok {
			listed.null = all.null
			return listed
		}
	}
	if c.Within && c.Bounds != nil {
		if i := n.w.Env.declared(c); i.Bounded() {
			in := comparedWith(">=", point{number: i.Low}).and(comparedWith("<=", point{number: i.High}))
			in.null = all.null
			return in
		}
	}
	return all
}

// declaredRegion returns the declared values of a column.
func declaredRegion(c *Column) (r region, ok bool) {
	list := make([]point, len(c.Values))
	for i, text := range c.Values {
		switch {
		case c.Type.Enum.Name != "" || plainText(c.Type):
			list[i] = point{text: text}
		case c.Type.Whole() || c.Type.Decimal():
			n, read := new(big.Rat).SetString(text)
			if !read {
				return r, false
			}
			list[i] = point{number: n}
		default:
			return r, false
		}
	}
	return regionOf(list), true
}
