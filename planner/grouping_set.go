package planner

import (
	"math/big"
	"slices"

	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A GroupingSet answers one grouping set of a block: what is read, and with which noise it is
// released. A block without GROUPING SETS has one.
type GroupingSet struct {
	// Reads are the statements for the protected database. Without any, the grouping set shows
	// public keys alone.
	Reads []*Read
	// Selection tells which partitions may be shown; nil if the keys are public, or there
	// are none. It is tried on the number of units of each partition that has any.
	Selection *mechanisms.GaussianSelection
	// Mechanisms has the mechanism of each integer of a partition.
	Mechanisms []mechanisms.Mechanism
	// Reduction is how the integers are released where the answer decides how much noise they
	// need; Mechanisms are nil then. Else it is nil.
	Reduction *NoiseReduction

	keys         []int
	lists        []*list // nil if the keys are private
	size         int     // number of partitions, 0 if the keys are private
	contribution contribution
	statistics   []*statistic
	outputs      []output
	alpha        float64 // one minus the confidence of error statements
	estimators   *estimators
}

// An output is one aggregate of the released relation, with what it is computed from.
type output struct {
	*aggregate
	estimator
}

// A contribution says what a unit may add in one grouping set.
type contribution struct {
	dp.Contribution
	// unique says that a unit has at most one row in all, by a proof.
	unique bool
	// chosen says that rows of a unit must be chosen: nothing proves that it has at
	// most Rows of them in a partition.
	chosen bool
	// maxSum bounds the sum that a unit adds to a partition, in the unit of the value;
	// nil without.
	maxSum *big.Rat
}

// specializer plans the grouping sets of a block for known constants.
type specializer struct {
	q        *Query
	b        *block
	env      *scalar.Env
	settings Settings
	domains  domains
}

// Private reports whether the keys of the grouping set are private: it shows the partitions
// that Selection keeps.
func (p *GroupingSet) Private() bool { return p.lists == nil }

// Size returns the number of partitions of a grouping set with public keys.
func (p *GroupingSet) Size() int { return p.size }

// Keys returns how many columns with keys begin a row of a read.
func (p *GroupingSet) Keys() int { return len(p.keys) }

// Event is the release of the grouping set.
func (p *GroupingSet) Event() dp.ComposedEvent {
	var e dp.ComposedEvent
	if p.Selection != nil {
		e = append(e, p.Selection.Event())
	}
	if p.Reduction != nil {
		return append(e, p.Reduction.worst()...)
	}
	for _, m := range p.statistics {
		for _, mech := range m.levels {
			e = append(e, mech.Event())
		}
	}
	return e
}

// Index returns the partition that ordinals of a read row name, or false if there is
// none: its keys are each public, but not together.
func (p *GroupingSet) Index(numbers []int) (int, bool) {
	n := 0
	for _, l := range p.lists {
		mine := make([]int, len(l.keys))
		for i, k := range l.keys {
			mine[i] = numbers[slices.Index(p.keys, k)]
		}
		at, ok := l.index[ordinals(mine)]
		if !ok {
			return 0, false
		}
		n = n*len(l.rows) + at
	}
	return n, true
}

// publicKeys returns the keys of a public partition, in the order of the set.
func (p *GroupingSet) publicKeys(partition int) []*string {
	keys := make([]*string, len(p.keys))
	for _, l := range slices.Backward(p.lists) {
		row := l.rows[partition%len(l.rows)]
		partition /= len(l.rows)
		for i, k := range l.keys {
			keys[slices.Index(p.keys, k)] = row[i]
		}
	}
	return keys
}

// groupingSet decides everything of one grouping set but its mechanisms.
func (sp *specializer) groupingSet(set []int) (*GroupingSet, error) {
	p := &GroupingSet{keys: set, alpha: sp.settings.Alpha, estimators: &estimators{}}
	lists, public, err := sp.lists(set)
	if err != nil {
		return nil, err
	}
	if public {
		p.lists, p.size = lists, 1
		if lists == nil {
			p.lists = []*list{}
		}
		for _, l := range lists {
			if p.size *= len(l.rows); p.size > maxGroups {
				return nil, tooManyGroups(sp.b.keys[set[0]].at)
			}
		}
	}
	if len(sp.b.aggregates) == 0 && public {
		return p, nil
	}
	if err := sp.contribution(p); err != nil {
		return nil, err
	}
	for _, a := range sp.b.aggregates {
		e, err := a.form.specialize(sp, p)
		if err != nil {
			return nil, err
		}
		p.outputs = append(p.outputs, output{a, e})
	}
	for _, m := range p.statistics {
		m.first = len(p.Mechanisms)
		p.Mechanisms = append(p.Mechanisms, make([]mechanisms.Mechanism, m.nodes())...)
	}
	return p, nil
}

// contribution finds what a unit may contribute: by proof, or by the policy, which the
// analyst's settings can only lower.
func (sp *specializer) contribution(p *GroupingSet) error {
	src, keys := sp.b.source, sp.b.keys
	var of []*key
	for _, i := range p.keys {
		of = append(of, keys[i])
	}
	c := &p.contribution
	c.Contribution = dp.Contribution{Partitions: 1, Rows: 1}
	c.maxSum = sp.settings.MaxSum
	if c.unique = src.Unique(); c.unique {
		return nil
	}
	if !src.Fixes(expressions(of)) {
		c.chosen = true
		c.Rows = lower(src.MaxRows(), sp.settings.MaxRows)
		if c.Rows < 1 {
			return pgerr.New(pgerr.NoContribution, "nothing bounds how many rows of one %s may count", sp.q.cat.Unit()).At(sp.b.at).
				WithHint("The administrator can set max_rows for %s.", src.Told()[0])
		}
	}
	if slices.ContainsFunc(of, func(k *key) bool { return !src.PerUnit(k.expr) }) {
		most := lower(src.MaxPartitions(), sp.settings.MaxPartitions)
		if most < 1 && p.size < 1 {
			return pgerr.New(pgerr.NoContribution, "nothing bounds in how many groups one %s may count", sp.q.cat.Unit()).At(of[0].at).
				WithHint("The administrator can set max_partitions for %s.", src.Told()[0])
		}
		c.Partitions = max(1, lower(most, int64(p.size)))
	}
	return nil
}

// lower returns the smaller of two limits of which 0 is none.
func lower(a, b int64) int64 {
	if a < 1 || b > 0 && b < a {
		return b
	}
	return a
}

// choosesPartitions reports whether partitions of a unit must be chosen.
func (p *GroupingSet) choosesPartitions(b *block) bool {
	if p.contribution.unique || len(p.keys) == 0 {
		return false
	}
	for _, i := range p.keys {
		if !b.source.PerUnit(b.keys[i].expr) {
			return p.Private() || p.contribution.Partitions < int64(p.size)
		}
	}
	return false
}

// selects reports whether the grouping set needs partition selection.
func (p *GroupingSet) selects() bool { return p.Private() }

// shares returns among how many releases of equal cost a budget is divided.
func (p *GroupingSet) shares() int64 {
	n := int64(len(p.statistics))
	if p.selects() {
		n++
	}
	return n
}

// assign gives every statistic its mechanism.
func (p *GroupingSet) assign(s share) error {
	if err := p.selecting(s); err != nil {
		return err
	}
	for _, m := range p.statistics {
		if err := p.assignTo(m, s); err != nil {
			return err
		}
	}
	return nil
}

// selecting gives a grouping set with private keys its partition selection.
func (p *GroupingSet) selecting(s share) error {
	if !p.selects() {
		return nil
	}
	sel, err := mechanisms.GaussianSelectionFor(p.contribution.Partitions, s.rhoPico, s.deltaAtto)
	if err != nil {
		return imprecise()
	}
	p.Selection = &sel
	return nil
}

// assignTo gives a statistic its mechanism, of a histogram one for each level.
func (p *GroupingSet) assignTo(s *statistic, of share) error {
	picos := []int64{of.pico()}
	if h, ok := s.statisticForm.(histogram); ok {
		var err error
		if picos, err = h.tree.Split(of.measure(), of.pico()); err != nil {
			return imprecise()
		}
	}
	at := s.first
	for level, nodes := range s.shape() {
		mech, err := of.withPico(picos[level]).mechanism(s.sensitivity)
		if err != nil {
			return imprecise()
		}
		s.levels = append(s.levels, mech)
		for range nodes {
			p.Mechanisms[at] = mech
			at++
		}
	}
	return nil
}

func expressions(keys []*key) []scalar.Expr {
	out := make([]scalar.Expr, len(keys))
	for i, k := range keys {
		out[i] = k.expr
	}
	return out
}
