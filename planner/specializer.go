package planner

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"dpproxy/planner/scalar"
)

// A specializer plans the grouping sets of a block for known constants.
type specializer struct {
	domains
	order []int // of the aggregates, see ordered
}

func newSpecializer(b *block, env *scalar.Env) *specializer {
	return &specializer{
		domains: domains{
			arguments: arguments{env, b.source.Conjuncts()}, b: b, folds: b.folds(),
			factors: map[*factor][][]*string{}, byKeys: map[string]*list{},
		},
	}
}

// unitOrdered reports whether an index alone has all columns that the level uses, unit by unit. If rows had to be fetched for each entry of
// the index, a sort would be faster. Like all choices between statements it depends on the schema alone, never on the rows.
func (sp *specializer) unitOrdered() bool {
	t := sp.b.source.ScannedTable()
	if t == nil || sp.b.source.Tagged() {
		return false
	}
	var names []string
	for _, c := range sp.b.source.Used() {
		names = append(names, c.Name)
	}
	return t.UnitIndex(names)
}

// ordered returns the indices of the aggregates of the block in an order that does not depend on their order in the statement. Statistics
// are added in it, so that question, noise and price are the same for all orders.
func (sp *specializer) ordered() []int {
	if sp.order == nil && len(sp.b.aggregates) > 0 {
		keys := make([]string, len(sp.b.aggregates))
		for i, a := range sp.b.aggregates {
			sp.order = append(sp.order, i)
			keys[i] = sp.sortingKey(a)
		}
		slices.SortStableFunc(sp.order, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	}
	return sp.order
}

// sortingKey returns the call and the expressions of an aggregate, with the values of constants. Aggregates with the same key have the same
// statistics, or statistics whose order the statement may decide.
func (sp *specializer) sortingKey(a *aggregate) string {
	w := &scalar.Writer{Env: sp.env, Fold: sp.valueText, Query: sp.b.source.WriteQuery}
	if !sp.b.source.Concealing() { // regions have the values of constants
		w.Normal = scalar.NormalForms{}
	}
	parts := []string{a.call}
	for _, e := range a.form.overRows() {
		text := ""
		if e != nil {
			text, _, _ = w.Value(e) // an error here is returned later
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\x00")
}

// valueText writes the value of a constant. It is empty if the constant may belong to a concealed view, since EXPLAIN shows the order of
// statistics.
func (sp *specializer) valueText(i int) string {
	if sp.b.source.Concealing() {
		return ""
	}
	return hex.EncodeToString(sp.env.Values[i].Bytes)
}

// specializeAll collects the statistics of the aggregates of the block. Of several refusals it returns that of the first aggregate in the
// statement.
func (sp *specializer) specializeAll(c *collector) ([]output, error) {
	outputs := make([]output, len(sp.b.aggregates))
	refused, refusal := len(outputs), error(nil)
	for _, i := range sp.ordered() {
		a := sp.b.aggregates[i]
		e, err := a.form.specialize(c)
		if err != nil && i < refused {
			refused, refusal = i, err
		}
		outputs[i] = output{aggregate: a, estimator: e}
	}
	return outputs, refusal
}

// judge returns the judge of the groups of a set, nil if all are shown. It adds the count unless an aggregate needs it.
func (sp *specializer) judge(c *collector, outputs []output, s Settings) (*judge, error) {
	if !judged(s, &c.partitions) {
		return nil, nil
	}
	j := &judge{
		fewest: max(s.MinimumPeople, 1), beyond: 1 - cmp.Or(s.Judgment, DefaultJudgment), people: s.MinimumPeople > 0,
		hides: s.EmptyGroups == hideEmpty && len(c.keys) > 0,
	}
	had := len(c.statistics)
	var err error
	if j.people {
		j.statistic, err = sp.people(c, outputs)
	} else {
		j.statistic, err = sp.present(c)
	}
	j.added = len(c.statistics) > had
	return j, err
}

// people returns the number of people. Rows of nobody count as none.
func (sp *specializer) people(c *collector, outputs []output) (int, error) {
	for i := range outputs {
		if f, ok := outputs[i].form.(countOf); ok && f.units && f.whole {
			return outputs[i].statistics()[0], nil
		}
	}
	if c.bounds.unique {
		return c.add(rowCount{}, nil, sp.b.at)
	}
	return c.add(unitCount{}, sp.b.source.OfPeople(), sp.b.at)
}

// present returns a number that is 0 of a group without rows, and of no other: one that an aggregate needs, if there is one.
func (sp *specializer) present(c *collector) (int, error) {
	if i := slices.IndexFunc(c.statistics, countsAll); i >= 0 {
		return i, nil
	}
	if c.bounds.unique {
		return c.add(rowCount{}, nil, sp.b.at)
	}
	return c.add(unitCount{}, nil, sp.b.at)
}

// judged reports whether settings want groups of a set to be judged.
func judged(s Settings, p *partitions) bool {
	empty := (s.EmptyGroups == nullEmpty || s.EmptyGroups == hideEmpty) && !p.Private() && len(p.keys) > 0
	return s.MinimumPeople > 0 || empty
}
