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

// unitOrdered reports whether an index alone has all that the level uses, unit by unit. If
// the rows had to be looked up as well, one after the other, a sort would be faster. It is known
// from the schema alone, as are all choices among statements: the rows must not decide.
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

// ordered returns the numbers of the aggregates of the block in an order that does not depend on where they stand in the
// statement: statistics are added in it, so that the question, its noise and its price are the same.
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

// sortingKey tells aggregates apart by their calls and expressions. Constants are in it by their values. The statistics of aggregates
// that it does not tell apart are the same, or differ in a way that the statement's order may decide.
func (sp *specializer) sortingKey(a *aggregate) string {
	w := &scalar.Writer{Env: sp.env, Fold: sp.valueText, Query: sp.b.source.WriteQuery}
	parts := []string{a.call}
	for _, e := range a.form.overRows() {
		text := ""
		if e != nil {
			text, _, _ = w.Value(e) // or else it is refused later
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\x00")
}

// valueText writes the value of a constant: nothing where it can be one of a view whose query is hidden, since the order of statistics
// can be seen in EXPLAIN.
func (sp *specializer) valueText(i int) string {
	if sp.b.source.Concealing() {
		return ""
	}
	return hex.EncodeToString(sp.env.Values[i].Bytes)
}

// specializeAll has the aggregates of the block add their statistics. Of several refusals it returns that of the first in the statement.
func (sp *specializer) specializeAll(c *collector) ([]output, error) {
	outputs := make([]output, len(sp.b.aggregates))
	refused, refusal := len(outputs), error(nil)
	for _, i := range sp.ordered() {
		a := sp.b.aggregates[i]
		e, err := a.form.specialize(c)
		if err != nil && i < refused {
			refused, refusal = i, err
		}
		outputs[i] = output{a, e}
	}
	return outputs, refusal
}
