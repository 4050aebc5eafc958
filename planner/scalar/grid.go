package scalar

import (
	"math/big"
	"slices"

	"dpproxy/planner/pgtype"
)

// A gridding cuts the values of a source into cells such that each of some expressions has a single value in each cell. A cell of one value
// needs a proof only if the value has several spellings.
type gridding struct {
	env    *Env
	source Expr
	over   []Expr // they use the source
	bases  []*Column
	line
	uses   map[Expr]bool
	arrays map[int]map[string]bool
	proofs int
	failed bool
	cells  [][2]*big.Rat
	// loose says that values have any number of decimals: arithmetic sees keptDigits of them, and comparisons see all.
	loose bool
	// spelled says that a value has several spellings: 6 and 6.00.
	spelled bool
}

const (
	// mostListed bounds the values that the mirror computes expressions of, over all sources of a list together.
	mostListed = 50_000
	// fewListed is how many values are listed without a look for cells.
	fewListed = 400
	// mostProofs bounds the cells that are tried, and mostCells those that are found. More than a few thousand groups that bounds imply
	// are private in any case.
	mostProofs = 16_000
	mostCells  = 8_000
	// perProof is how many steps a cell takes without the expressions.
	perProof = 20
)

// gridOf returns values of a source, as texts: the first or the last of each cell, or all.
func gridOf(env *Env, source Expr, l line, over []Expr) ([]string, bool) {
	g := &gridding{env: env, source: source, line: l, uses: map[Expr]bool{}, arrays: map[int]map[string]bool{}}
	s := &settling{source: source, uses: g.uses}
	for _, e := range over {
		if s.used(e) {
			g.over = append(g.over, e)
		}
	}
	if ref, plain := source.(*Ref); plain && !ref.Column.derived() {
		g.loose = l.typ.Decimal() && l.typ.Scale() < 0
	}
	g.spelled = l.typ.Decimal() && !OneSpelling(source)
	_, few := l.count(fewListed)
	switch {
	case few && !g.spelled:
		return g.all(), true
	case few && !g.loose, l.low.Cmp(l.high) == 0:
		return g.each(), !g.failed
	case g.loose && slices.ContainsFunc(g.constants(), func(r *big.Rat) bool { return !new(big.Rat).Quo(r, l.unit).IsInt() }):
		return nil, false
	case !g.pointwise() && g.cut():
		return g.texts(), true
	}
	if _, some := l.count(mostListed); some && l.unit != nil && !g.spelled && env.Work.Err() == nil {
		return g.all(), true
	}
	return nil, false
}

// each returns every value, if expressions have a single value whatever its spelling is.
func (g *gridding) each() []string {
	for r := g.low; r.Cmp(g.high) <= 0 && !g.failed; r = g.next(r) {
		g.refine(r, r)
	}
	return g.texts()
}

// all returns every value.
func (g *gridding) all() []string {
	var list []string
	for r := g.low; r.Cmp(g.high) <= 0 && g.env.Work.Spend(1) == nil; r = g.next(r) {
		list = append(list, g.text(r))
	}
	return list
}

// pointwise reports whether expressions differ between neighbours wherever it looks, so that there are no cells.
func (g *gridding) pointwise() bool {
	at := g.middle(g.low, g.high)
	return !g.settled(g.low, g.next(g.low)) && !g.settled(g.prev(at), at) && !g.settled(at, g.next(at)) &&
		!g.settled(g.prev(g.high), g.high)
}

// cut finds the cells.
func (g *gridding) cut() bool {
	if least := g.least(); least != nil {
		return g.cutAroundZero(least)
	}
	return g.cutBetween(g.low, g.high)
}

func (g *gridding) cutBetween(low, high *big.Rat) bool {
	at := low
	for _, edge := range g.edges() {
		if edge.Cmp(low) < 0 || edge.Cmp(high) > 0 {
			continue
		}
		g.refine(at, g.prev(edge))
		g.refine(edge, edge)
		at = g.next(edge)
	}
	g.refine(at, high)
	return !g.failed
}

// least returns the smallest value that arithmetic sees of a column of floating-point numbers that can be smaller; otherwise nil.
func (g *gridding) least() *big.Rat {
	ref, plain := g.source.(*Ref)
	if !plain || ref.Column.derived() || !g.typ.Float() {
		return nil
	}
	least := tiny(g.typ)
	if g.low.Cmp(least) >= 0 || g.high.Cmp(new(big.Rat).Neg(least)) <= 0 {
		return nil
	}
	return least
}

// cutAroundZero is cut for a column whose tiny values count as zero in arithmetic, but not in comparisons. Neither a constant nor an end is
// among them, so that one on either side tells all of them.
func (g *gridding) cutAroundZero(least *big.Rat) bool {
	for _, r := range slices.Concat(g.constants(), []*big.Rat{g.low, g.high}) {
		if r.Sign() != 0 && new(big.Rat).Abs(r).Cmp(least) < 0 {
			return false
		}
	}
	below, half := new(big.Rat).Neg(least), new(big.Rat).Quo(least, rat(2))
	if !g.cutBetween(g.low, smaller(below, g.high)) {
		return false
	}
	for _, r := range []*big.Rat{new(big.Rat).Neg(half), new(big.Rat), half} {
		if r.Cmp(g.low) >= 0 && r.Cmp(g.high) <= 0 {
			g.add(r, r)
		}
	}
	return g.cutBetween(larger(least, g.low), g.high)
}

// edges returns the constants among the values, in their order: expressions mostly change there.
func (g *gridding) edges() []*big.Rat {
	list := slices.DeleteFunc(g.constants(), func(r *big.Rat) bool {
		return r.Cmp(g.low) < 0 || r.Cmp(g.high) > 0 || g.unit == nil && g.nearest(r).Cmp(r) != 0 ||
			g.unit != nil && !new(big.Rat).Quo(r, g.unit).IsInt()
	})
	slices.SortFunc(list, (*big.Rat).Cmp)
	return slices.CompactFunc(list, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// constants returns the constants with which values may be compared.
func (g *gridding) constants() (list []*big.Rat) {
	for _, e := range g.over {
		eachBelow(e, func(x Expr) {
			c, ok := x.(*constant)
			if !ok || (!c.typ.Number() || !g.typ.Number()) && (!c.typ.Dated() || !g.typ.Dated()) || g.env.Unsettled(c) {
				return
			}
			if i := inUnits(g.env.interval(c), c.typ, g.typ); i.Bounded() {
				list = append(list, i.Low)
			}
		})
	}
	return list
}

// refine adds the cells between two values.
func (g *gridding) refine(low, high *big.Rat) {
	switch {
	case g.failed || low.Cmp(high) > 0:
		return
	case low.Cmp(high) == 0 && !g.spelled, g.settled(low, high):
		g.add(low, high)
		return
	case low.Cmp(high) == 0:
		g.failed = true
		return
	}
	// Rounding makes most intervals undecided at an end only.
	if first, last := g.next(low), g.prev(high); first.Cmp(last) < 0 && g.settled(first, last) {
		g.refine(low, low)
		g.add(first, last)
		g.refine(high, high)
		return
	}
	at := g.middle(low, high)
	g.refine(low, g.prev(at))
	g.refine(at, high)
}

func (g *gridding) add(low, high *big.Rat) {
	if len(g.cells) >= mostCells {
		g.failed = true
		return
	}
	g.cells = append(g.cells, [2]*big.Rat{low, high})
}

// settled reports whether each expression has a single value between two values.
func (g *gridding) settled(low, high *big.Rat) bool {
	if g.proofs++; g.proofs > mostProofs || g.env.Work.Spend(perProof) != nil {
		g.failed = true
		return false
	}
	if g.proofs%(mostProofs/16) == 0 && g.slow(low) {
		g.failed = true
		return false
	}
	s := g.settling(low, high)
	return !slices.ContainsFunc(g.over, func(e Expr) bool { return !s.of(e, false) })
}

// slow reports whether far too many cells would be tried, if there are as many everywhere as up to a value.
func (g *gridding) slow(at *big.Rat) bool {
	const patience = 4
	done, _ := new(big.Rat).Quo(new(big.Rat).Sub(at, g.low), new(big.Rat).Sub(g.high, g.low)).Float64()
	return done*patience*mostProofs < float64(g.proofs)
}

func (g *gridding) settling(low, high *big.Rat) *settling {
	cell := Interval{Low: low, High: high, Least: g.env.interval(g.source).Least}
	n := &narrowing{constants: g.env, listing: true}
	if ref, ok := g.source.(*Ref); ok {
		n.columns = map[*Column]Interval{ref.Column: cell}
	} else {
		n.given = []given{{g.source, cell}}
	}
	inner := g.env.inner(n)
	inner.known = g.declared()
	return &settling{env: inner, source: g.source, uses: g.uses, trial: &trial{env: inner, arrays: g.arrays}}
}

// declared returns the declared intervals of the columns of tables.
func (g *gridding) declared() map[*Column]Interval {
	if g.bases == nil {
		for _, e := range g.over {
			for _, c := range Bases(e) {
				if len(c.Of) == 0 {
					g.bases = append(g.bases, c)
				}
			}
		}
	}
	known := make(map[*Column]Interval, len(g.bases))
	for _, c := range g.bases {
		known[c] = g.env.known[c]
		if _, have := g.env.known[c]; !have {
			g.env.column(c)
			known[c] = g.env.known[c]
		}
	}
	return known
}

// texts returns the first value of each cell, and the last one where it can tell more: the clocks of the mirror are not those of dpproxy,
// and comparisons see decimals that arithmetic does not.
func (g *gridding) texts() []string {
	var list []string
	for _, c := range g.cells {
		list = append(list, g.text(c[0]))
		if g.typ.Zoned() && c[0].Cmp(c[1]) != 0 {
			list = append(list, g.text(c[1]))
		}
		if g.loose && c[1].Cmp(g.high) < 0 {
			list = append(list, new(big.Rat).Add(c[1], power10(-keptDigits-1)).FloatString(keptDigits+1))
		}
	}
	return list
}

// lineOfSource returns the values of a column of a table or of an expression, in rows that meet conditions. Without values the line ends
// before it begins.
func lineOfSource(env *Env, source Expr, where []Expr) (line, bool) {
	t, in := source.Type(), narrowedEnds(env, source, where)
	ref, plain := source.(*Ref)
	digits := 0
	switch {
	case in.empty:
		return line{}, false
	case t.Whole():
		in = in.withinType(t)
	case t.Decimal():
		var known bool
		if digits, known = env.Scale(source); !known && (!plain || ref.Column.derived()) {
			return line{}, false
		}
		if !known {
			digits = keptDigits
		}
	case t.Float() && (!plain || ref.Column.derived()):
		t = pgtype.Of(pgtype.Float8)
	}
	return lineOf(t, in, digits)
}

// narrowedEnds is narrowedToList with a single end if only one is known, and with the low end above the high end if conditions exclude all
// values within the bounds of a column of a table.
func narrowedEnds(env *Env, e Expr, where []Expr) Interval {
	i := env.inner(env.narrowing(where, true)).interval(e)
	if _, plain := e.(*Ref); !plain {
		return i
	}
	if within := env.interval(e); within.Bounded() && i.Bounded() && (i.Low.Cmp(within.High) > 0 || i.High.Cmp(within.Low) < 0) {
		i.Low, i.High = within.High, new(big.Rat).Sub(within.High, rat(1))
	}
	return i
}

// withinType gives a whole number without bounds those of its type.
func (i Interval) withinType(t pgtype.Type) Interval {
	half := power2(pgtype.Bits(t.OID) - 1)
	if i.Low == nil {
		i.Low = new(big.Rat).Neg(half)
	}
	if i.High == nil {
		i.High = new(big.Rat).Sub(half, rat(1))
	}
	return i
}
