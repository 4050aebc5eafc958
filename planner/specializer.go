package planner

import (
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
			arguments: arguments{env, b.source.Conjuncts()}, b: b,
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
