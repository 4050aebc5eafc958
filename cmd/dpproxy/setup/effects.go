package setup

import (
	"fmt"
	"slices"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// effects says how a policy limits answers: how much of one unit counts, and how far values are off. It plans
// statements, and reads nothing.
type effects struct {
	policy *config.Policy
	model  *policy.Model
}

// A statement of effects would spend effectEpsilonPico, and its errors are of effectConfidence.
const (
	effectEpsilonPico = dp.PicoPerUnit / 10
	effectConfidence  = 0.95
)

// of plans an aggregate over a table alone.
func (e effects) of(n catalog.Name, aggregate string) (planner.Effect, error) {
	plan, err := e.plan(n, aggregate, "", e.settings(n))
	if err != nil {
		return planner.Effect{}, err
	}
	all := plan.Effects()
	if len(all) != 1 {
		return planner.Effect{}, fmt.Errorf("%s has %d values", aggregate, len(all))
	}
	return all[0], nil
}

// plan plans an aggregate over a table alone, with the end of a statement.
func (e effects) plan(n catalog.Name, aggregate, end string, s planner.Settings) (*planner.Plan, error) {
	script, err := parser.Parse("SELECT "+aggregate+" FROM "+e.model.Table(n).SQL()+end, planner.Names(e.model))
	if err != nil {
		return nil, err
	}
	if refusal := script.Statements[0].Refusal; refusal != nil {
		return nil, refusal
	}
	query, err := planner.Analyze(nil, e.model, script.Statements[0], nil)
	if err != nil {
		return nil, err
	}
	return query.Specialize(nil, nil, s)
}

// settings are those of an analyst who asks for an epsilon and nothing else.
func (e effects) settings(n catalog.Name) planner.Settings {
	pure := isPure(e.policy.Unit)
	if b, ok := e.policy.TableBudgets[n]; ok {
		pure = pure || isPure(b)
	}
	l := e.policy.Limits
	return planner.Settings{
		EpsilonPico: effectEpsilonPico, TypicalPico: e.policy.Defaults.EpsilonPico, DeltaAtto: e.policy.Defaults.DeltaAtto,
		Mechanism: e.policy.Defaults.Mechanism, Mechanisms: e.policy.Allowances[n].Mechanisms, Pure: pure, Alpha: 1 - effectConfidence,
		MinimumPeople: max(e.policy.MinimumPeople, e.policy.Allowances[n].MinimumPeople), Judgment: e.policy.MinimumConfidence,
		Limits: policy.Limits{PublicFanout: l.MaxPublicFanout, Work: l.MaxWork, PublicRows: e.model.PublicRows()},
	}
}

// isPure reports whether a budget admits mechanisms of a finite epsilon alone.
func isPure(b accountant.Budget) bool {
	l, err := b.Limit()
	return err == nil && l.Measure() == dp.PureDP
}

// summable reports whether a column of the table is one of numbers that an analyst may name, and no part of a key.
func summable(t *policy.Table, c *policy.Column) bool {
	for _, k := range t.Source.Keys {
		if slices.Contains(k.Columns, c.Name) {
			return false
		}
	}
	for _, fk := range slices.Concat(t.Source.Foreign, t.Source.Loose) {
		if slices.Contains(fk.Columns, c.Name) {
			return false
		}
	}
	fam := pgtype.OfColumn(c.Type, c.Collation, c.Deterministic).Family()
	number := fam == pgtype.IntFamily || fam == pgtype.NumericFamily || fam == pgtype.FloatFamily
	return number && !c.Hidden && !t.Identifies(c.Name)
}

// rows writes the effects of a table: of its count, and of the sum of each column that is no key and of each expression with bounds.
func (e effects) rows(t *policy.Table) [][]string {
	all := [][]string{{"", "what one " + e.model.Unit() + " can add", "off by at most, 95 times in 100"}}
	add := func(aggregate string) {
		x, err := e.of(t.Name, aggregate)
		if err != nil {
			all = append(all, []string{aggregate, "refused", err.Error()})
			return
		}
		all = append(all, []string{x.Label, x.Contribution, x.Error})
	}
	add("count(*)")
	for i := range t.Columns {
		if c := &t.Columns[i]; summable(t, c) {
			add("sum(" + ast.QuoteIdent(c.Name) + ")")
		}
		for _, f := range t.Columns[i].Fields {
			if of := pgtype.OfColumn(f.Type, f.Collation, true); of.Number() {
				add(fmt.Sprintf("sum((%s)::%s)", scalar.FieldName(ast.QuoteIdent(t.Columns[i].Name), f.Keys), of))
			}
		}
	}
	for _, b := range t.Bounded {
		if b.Plain() && b.Expr().Type().Number() {
			add("sum(" + b.Text + ")")
			all[len(all)-1][0] = "sum(" + b.Text + ")"
		}
	}
	return all
}
