package scalar

import (
	"maps"
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
	others []Expr            // other sources
	few    int64             // values that are listed without a look for cells
	most   int               // cells
	fixed  map[Expr]Interval // what does not use the source, as any cell has it
	proofs int
	on     stretch
	failed bool
	cells  [][2]*big.Rat
	// long says that there are more than most cells, and uncut that all values are listed.
	long, uncut bool
	// loose says that values have any number of decimals: arithmetic sees keptDigits of them, and comparisons see all.
	loose bool
	// spelled says that a value has several spellings: 6 and 6.00.
	spelled bool
}

// A stretch is the values between two edges, and how many cells there are before them.
type stretch struct {
	low, high *big.Rat
	before    int
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
	// manyCells is the root of mostListed.
	manyCells = 223
	// looks is how often it is estimated how many cells there will be.
	looks = 16
	// perProof is how many steps a cell takes without the expressions.
	perProof = 20
)

// values returns values of the source, as texts: the first or the last of each cell, or all.
func (g *gridding) values() ([]string, bool) {
	g.on = stretch{g.low, g.high, 0}
	_, few := g.count(max(g.few, 1))
	switch {
	case few && !g.spelled:
		g.uncut = g.low.Cmp(g.high) < 0
		return g.all(), true
	case few && !g.loose, g.low.Cmp(g.high) == 0:
		g.uncut = g.low.Cmp(g.high) < 0
		return g.each(), !g.failed
	case g.loose && slices.ContainsFunc(g.constants(), func(r *big.Rat) bool { return !new(big.Rat).Quo(r, g.unit).IsInt() }):
		return nil, false
	case !g.pointwise() && g.cut():
		return g.texts(), true
	}
	if _, some := g.count(mostListed); some && !g.long && g.unit != nil && !g.spelled && g.env.Work.Err() == nil {
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

// pointwise reports whether expressions differ between neighbours wherever it looks, so that there are no cells: at both ends, at a round
// number in the middle, where expressions mostly change, and beside it.
func (g *gridding) pointwise() bool {
	at := g.middle(g.low, g.high)
	beside := at
	for range 3 {
		beside = g.middle(g.low, beside)
	}
	for range 4 {
		beside = g.next(beside)
	}
	return !g.settled(g.low, g.next(g.low)) && !g.settled(g.prev(at), at) && !g.settled(at, g.next(at)) &&
		!g.settled(g.prev(g.high), g.high) && !g.settled(beside, g.next(beside))
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
		g.refineAll(at, g.prev(edge))
		g.refineAll(edge, edge)
		at = g.next(edge)
	}
	g.refineAll(at, high)
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

// refineAll adds the cells between two edges.
func (g *gridding) refineAll(low, high *big.Rat) {
	g.on = stretch{low, high, len(g.cells)}
	g.refine(low, high)
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
	if len(g.cells) >= g.most {
		g.failed, g.long = true, g.most < mostCells
		return
	}
	g.cells = append(g.cells, [2]*big.Rat{low, high})
}

// settled reports whether each expression has a single value between two values.
func (g *gridding) settled(low, high *big.Rat) bool {
	if g.proofs++; g.proofs > proofsFor(g.most) || g.env.Work.Spend(perProof) != nil {
		g.failed, g.long = true, g.most < mostCells
		return false
	}
	if g.proofs%(proofsFor(g.most)/looks) == 0 && g.slow(low, g.most) {
		g.failed, g.long = true, g.most < mostCells && !g.slow(low, mostCells)
		return false
	}
	s := g.settling(low, high)
	settled := !slices.ContainsFunc(g.over, func(e Expr) bool { return !s.of(e, false) })
	g.fix(s)
	return settled
}

// proofsFor returns how many cells are tried for so many that are found.
func proofsFor(cells int) int { return min(mostProofs, 8*cells+64) }

// fix keeps the intervals of expressions that do not use the source: they are the same in each cell.
func (g *gridding) fix(s *settling) {
	if g.fixed != nil {
		return
	}
	g.fixed = map[Expr]Interval{}
	of := Bases(g.source)
	if slices.ContainsFunc(g.others, func(o Expr) bool {
		return slices.ContainsFunc(Bases(o), func(c *Column) bool { return slices.Contains(of, c) })
	}) {
		return
	}
	for e, i := range s.env.computed {
		if !s.used(e) {
			g.fixed[e] = i
		}
	}
}

// slow reports whether far more cells would be found than may be, if there are as many everywhere between two edges as up to a value.
func (g *gridding) slow(at *big.Rat, most int) bool {
	const patience = 4
	if g.on.low.Cmp(g.on.high) == 0 {
		return false
	}
	done, _ := new(big.Rat).Quo(new(big.Rat).Sub(at, g.on.low), new(big.Rat).Sub(g.on.high, g.on.low)).Float64()
	return done*patience*float64(most) < float64(len(g.cells)-g.on.before)
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
	inner.known, inner.computed = g.declared(), maps.Clone(g.fixed)
	return &settling{env: inner, source: g.source, others: g.others, uses: g.uses, trial: &trial{env: inner, arrays: g.arrays}}
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
		switch digits, known = env.Scale(source); {
		case known:
		case !plain || ref.Column.derived():
			if in.Least == nil {
				return line{}, false
			}
			digits = decimals(in.Least)
		default:
			digits = keptDigits
		}
	case t.OID == pgtype.Interval && !elapsed(source):
		return line{}, false
	case t.Float() && (!plain || ref.Column.derived()):
		l, ok := lineOf(pgtype.Of(pgtype.Float8), in, digits)
		if !ok || in.Least == nil {
			return line{}, false
		}
		return l.above(in.Least), true
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
