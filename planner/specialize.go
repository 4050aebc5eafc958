package planner

import (
	"errors"
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
	"dpproxy/planner/work"
)

// Specialize decides everything about the statement for known constants and settings. If joins multiply the rows of a unit, nobody has
// stated their number, and the statement would do too much work for a unit, it tries again with a half, a quarter and so on of the default
// number. This depends on the statement alone.
func (q *Query) Specialize(m *work.Meter, values []scalar.Value, s Settings) (*Plan, error) {
	p, err := q.withFewerRows(m, values, s)
	if spent := m.Err(); spent != nil {
		return nil, spent
	}
	return p, err
}

func (q *Query) withFewerRows(m *work.Meter, values []scalar.Value, s Settings) (*Plan, error) {
	p, err := q.specialize(m, values, s)
	for n := q.cat.JoinRows() / 2; n >= leastJoinRows && tooMuchWork(err) && q.takesJoinRows(); n /= 2 {
		less, refused := Analyze(m, q.cat.WithJoinRows(n), q.stmt, q.params)
		if refused != nil {
			return nil, refused
		}
		fewer, still := less.specialize(m, values, s)
		if !tooMuchWork(still) {
			return fewer, still
		}
	}
	return p, err
}

// specialize uses the smallest and the largest value of columns of public tables as bounds if there is no plan without them.
func (q *Query) specialize(m *work.Meter, values []scalar.Value, s Settings) (*Plan, error) {
	p, err := q.specializeOnce(m, values, s, false)
	if refusal, ok := errors.AsType[*pgerr.Error](err); ok && refusal.Code == pgerr.NoBounds && q.extents {
		return q.specializeOnce(m, values, s, true)
	}
	return p, err
}

// specializeOnce plans the statement, finds blocks that ask the same, and if there are any plans it again with them as one.
func (q *Query) specializeOnce(m *work.Meter, values []scalar.Value, s Settings, extents bool) (*Plan, error) {
	p, err := q.specializeBy(m, values, s, extents, nil)
	if err != nil || len(p.Blocks) == 1 {
		return p, err
	}
	if twins := twinsOf(p); len(twins) > 0 {
		return q.specializeBy(m, values, s, extents, twins)
	}
	return p, nil
}

// specializeBy decides everything about the statement for known constants and settings; twins maps blocks to an earlier block that asks the
// same.
func (q *Query) specializeBy(m *work.Meter, values []scalar.Value, s Settings, extents bool, twins map[int]int) (*Plan, error) {
	if err := q.Check(values); err != nil {
		return nil, err
	}
	shape, err := q.stmt.Fingerprint()
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Tables: q.Tables(), Relations: q.Relations(), Shape: shape, Untold: q.Untold(),
		unit: q.cat.Unit(), settings: s, outputs: q.stmt.Outputs, hidden: q.readsHiddenView(),
	}
	env := &scalar.Env{
		Values: values, TimeZones: q.cat.TimeZones(), Before14: q.cat.Before14(),
		UTF8:    true, // the proxy serves databases of this encoding only
		Extents: extents, Work: m,
	}
	var evalCost int64
	for i, b := range q.blocks {
		if err := b.checkLevels(s); err != nil {
			return nil, err
		}
		if err := b.checkOffsets(env); err != nil {
			return nil, err
		}
		before := evalCost
		bp, err := q.planBlock(b, env, s, &evalCost)
		if err != nil {
			return nil, err
		}
		if first, ok := twins[i]; ok {
			bp.twin, evalCost = first+1, before
		}
		p.Blocks = append(p.Blocks, bp)
		addCounts(p, bp.counted)
	}
	if err := p.assign(); err != nil {
		return nil, err
	}
	if err := p.place(); err != nil {
		return nil, err
	}
	for _, bp := range p.Blocks {
		if err := bp.read(); err != nil {
			return nil, err
		}
		p.Event = append(p.Event, bp.Event()...)
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	env.Work = nil // the plan is kept: what is written of it later is not the work of who asked first, and does not end with it
	return p, checkLists(p)
}

// planBlock plans a block except for its mechanisms, and adds to evalCost the cost of its reads for a row.
func (q *Query) planBlock(b *block, env *scalar.Env, s Settings, evalCost *int64) (*BlockPlan, error) {
	shown := !b.source.Concealing()
	sp := newSpecializer(b, env)
	if none, unmet, columned, strays := noRows(sp); shown && none {
		bp := b.planNone(strays)
		bp.unmet, bp.columned = unmet, columned
		return bp, nil
	}
	if shown && slices.ContainsFunc(b.having, env.Never) {
		return b.planNone(nil), nil
	}
	var err error
	if s.Limits.PublicRows, err = b.source.ListedRows(env, q.cat.PublicRows()); err != nil {
		return nil, err
	}
	s.Limits.Values, s.Limits.Answers = env.Values, env.Values[min(b.folds(), len(env.Values)):]
	bp := &BlockPlan{block: b, alpha: s.Alpha, agreements: &onceOf[int, *agreement]{}}
	if b.reads() {
		bp.strays = sp.ofConditions()
	}
	n, err := b.evalCost(env)
	if err != nil {
		return nil, err
	}
	for _, set := range b.sets {
		g, err := sp.groupingSet(set, s, q.cat.Unit())
		if err != nil {
			return nil, err
		}
		if shown && len(b.sets) == 1 && !g.Private() && g.size == 0 { // no public group meets the conditions
			return b.planNone(withStrays(g.strays, bp.strays)), nil
		}
		if err := q.chooseTop(b, g, env, s); err != nil {
			return nil, err
		}
		newRunning(b, g, s).run(g)
		if err := env.Work.Spend(g.work()); err != nil {
			return nil, err
		}
		g.markUnsettled(env)
		bp.Sets = append(bp.Sets, g)
	}
	if !b.reads() {
		return bp, nil
	}
	rows, err := b.source.Fanout(s.Limits)
	if err != nil {
		return nil, err
	}
	if bp.counted, err = sp.countsOf(b.source.Meetings(s.Limits)); err != nil {
		return nil, err
	}
	if env.Extents {
		extents, err := sp.extents()
		if err != nil {
			return nil, err
		}
		bp.counted = append(bp.counted, extents...)
	}
	reads := 0
	for _, g := range bp.Sets {
		reads += g.reads()
	}
	bp.sp, bp.asks = sp, &asking{meanings: meaner{sp, work.Brief}, concealed: concealedViews(b.source), settings: s.limiting()}
	return bp, b.checkEvalCost(n, reads, rows, evalCost)
}

// chooseTop decides how to find the groups that LIMIT shows. With LIMIT 0 nothing is read.
func (q *Query) chooseTop(b *block, g *GroupingSet, env *scalar.Env, s Settings) error {
	if b.top == nil {
		return nil
	}
	k, limited, err := b.top.rows(env)
	switch {
	case err != nil || !limited:
		return err
	case k == 0:
		g.showNone()
		g.judge = nil
	default:
		topChooser{g, s, b.top, k, len(q.blocks) == 1, q.cat.Unit()}.choose()
	}
	return nil
}

// checkOffsets refuses an OFFSET below an aggregate unless its value is 0: a row of one unit would move rows of other units in or out.
func (b *block) checkOffsets(env *scalar.Env) error {
	for _, x := range b.offsets {
		skips, err := env.Floats(x)
		if err != nil {
			return err
		}
		if n := skips[0]; n != nil && *n != 0 {
			return pgerr.New(pgerr.NotAllowed, "LIMIT or OFFSET below an aggregate cannot be used on protected rows").At(x.Pos()).
				WithHint("Leave it out here; it can stand above the aggregate.")
		}
	}
	return nil
}

// checkLevels refuses a confidence of a call above the confidence for which noise reduction starts, which is chosen before anything is
// measured.
func (b *block) checkLevels(s Settings) error {
	for _, a := range b.aggregates {
		if s.Target.asked() && a.level > 1-s.Alpha {
			return pgerr.New(pgerr.InvalidParameterValue, "with an error to reach, dp.%s has at most the confidence of the statement",
				a.report).At(a.at).
				WithHint("SET dp.confidence = %s.", strconv.FormatFloat(a.level, 'g', -1, 64))
		}
	}
	return nil
}

func (q *Query) readsHiddenView() bool {
	return slices.ContainsFunc(q.stmt.Protected, func(t ast.TableRef) bool {
		return q.cat.Conceals(catalog.Name{Schema: t.Resolved.Schema, Name: t.Resolved.Name})
	})
}

// maxCells bounds the integers that one statement may release for public groups, and so its memory: each integer is drawn, whether or not
// its group has rows.
const maxCells = 1 << 21

func tooManyCells() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "the statement would release more than %d numbers", maxCells).
		WithHint("Ask for fewer groups or fewer aggregates.")
}

// groupingSet decides everything about a grouping set except its mechanisms. unit names the unit in refusals. The bounds of a unit come
// first, since statistics and lattices depend on them.
func (sp *specializer) groupingSet(keys []int, s Settings, unit string) (*GroupingSet, error) {
	g := &GroupingSet{results: results{alpha: s.Alpha, showSmall: s.ShowSmallGroups, nonnegative: s.Consistent, cache: &estimators{}}}
	lists, public, err := sp.lists(keys)
	if err != nil {
		return nil, err
	}
	if g.partitions, err = sp.partitionsOf(keys, lists, public); err != nil {
		return nil, err
	}
	g.at, g.strays = sp.b.at, sp.strays(keys, g.lists)
	if g.Private() {
		if !sp.b.reads() {
			return nil, pgerr.New(pgerr.Internal, "the values of a grouping key are not listed").At(sp.b.at)
		}
		if err := sp.refusePrivate(keys, unit); err != nil {
			return nil, err
		}
		if g.coarser, err = coarser(sp, keys); err != nil {
			return nil, err
		}
	}
	if len(sp.b.aggregates) == 0 && !g.Private() {
		return g, nil
	}
	if g.bounds, err = sp.b.unitBounds(&g.partitions, s, unit); err != nil {
		return nil, err
	}
	if g.outputs, err = sp.specializeAll(&collector{sp.arguments, &g.aggregation}); err != nil {
		return nil, err
	}
	if g.judge, err = sp.judge(&collector{sp.arguments, &g.aggregation}, g.outputs, s); err != nil {
		return nil, err
	}
	g.strays = withStrays(g.strays, sp.ofModes(g.outputs))
	g.weigh()
	return g, nil
}

// refusePrivate refuses private groups of one unit each, and counts of private groups.
func (sp *specializer) refusePrivate(keys []int, unit string) error {
	if err := sp.refuseOwnGroups(keys, unit); err != nil {
		return err
	}
	return sp.refuseCounted(unit)
}

// refuseOwnGroups refuses private groups of one unit each: no budget could show them.
func (sp *specializer) refuseOwnGroups(keys []int, unit string) error {
	var list []scalar.Expr
	for _, k := range keys {
		list = append(list, sp.b.keys[k].expr)
	}
	if len(keys) == 0 || sp.b.source.Concealing() {
		return nil
	}
	if c := sp.b.source.TellsOne(list); c != nil && !sp.b.source.OneUnit(list) {
		return pgerr.New(pgerr.PrivateGroupKey, "a group for each value of %q but NULL would be rows of one %s", c.Shown(), unit).
			At(sp.b.keys[keys[0]].at).WithDetail("No such group can be shown.").
			WithHint("Group by what many of them share, or by %s IS NULL; in a sub-select of which counts are averaged, by the %s as well.",
				c.Shown(), unit)
	}
	if !sp.b.source.OneUnit(list) {
		return nil
	}
	return pgerr.New(pgerr.PrivateGroupKey, "a group for each value of this key would be rows of one %s", unit).At(sp.b.keys[keys[0]].at).
		WithDetail("No such group can be shown.").
		WithHint("Group by what many of them share. A sub-select for each value has the column that identifies the %s in GROUP BY too; "+
			"what is counted of each row's own matches is a LEFT JOIN by this key.", unit)
}
