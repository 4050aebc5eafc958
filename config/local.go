package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/planner/policy"
)

// localKeys are those of an entry of tables under the local model alone, and sharedKeys those that it has in common with
// other tables.
var (
	localKeys  = []string{"key", "local_budget", "values_change"}
	sharedKeys = []string{"model", "public", "columns"}
)

// checkModel finds keys that are not of the table's model.
func (t *table) checkModel(v value, stated []string) {
	for _, name := range stated {
		own := slices.Contains(localKeys, name)
		switch {
		case t.local && !own && !slices.Contains(sharedKeys, name):
			v.d.complain("the table is of the local model, which has no "+name, slices.Concat(v.path, []string{name})...)
		case !t.local && own:
			v.d.complain("is of the local model, and model: local is missing", slices.Concat(v.path, []string{name})...)
		}
	}
	if !t.local {
		if t.shownColumns != nil {
			const message = "a list of columns is of the local model, and model: local is missing"
			v.d.complain(message, slices.Concat(v.path, []string{"public"})...)
		}
		return
	}
	v.need("key", "local_budget", "columns")
	if slices.Contains(stated, "public") && t.shownColumns == nil {
		v.d.complain("under the local model the public columns are listed: public: [region]", slices.Concat(v.path, []string{"public"})...)
	}
	t.checkColumns(v)
}

// checkColumns finds columns that cannot be asked about.
func (t *table) checkColumns(v value) {
	complain := func(message, name string, rest ...string) {
		v.d.complain(message, slices.Concat(v.path, []string{"columns", name}, rest)...)
	}
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		c := t.Columns[name]
		switch {
		case name == t.key || slices.Contains(t.shownColumns, name):
			complain("the column is public, and cannot be private too", name)
		case c.Hidden:
			complain("leave it out: only columns that are listed can be asked about", name)
		case c.Fields != nil:
			complain("fields are of statements, which the local model does not have", name, "fields")
		case c.Step != nil:
			complain("a step is of sums, which the local model does not have", name, "step")
		case c.Bounds != nil && (c.Values != nil || c.EnumValues):
			complain("state values or bounds, not both", name)
		}
	}
	if slices.Contains(t.shownColumns, t.key) {
		v.d.complain("the key is public anyway: leave it out", slices.Concat(v.path, []string{"public"})...)
	}
	if len(t.shownColumns)+len(t.Columns) > maxLocalColumns {
		v.fail("a table of the local model has at most %d public and private columns", maxLocalColumns)
	}
}

// maxLocalColumns leaves a table of Postgres room for surveys.
const maxLocalColumns = 400

// readShown reads true or false, or a list of columns.
func readShown(v value, t *table) {
	if _, ok := v.node.(*ast.SequenceNode); !ok {
		t.Public = v.bool()
		return
	}
	t.shownColumns = append([]string{}, readColumnNames(v)...)
}

// localBudget is a budget of one object: ε, or ε and δ.
func localBudget() form[table] {
	return form[table]{"from 1e-12 to " + dp.Decimal(maxSettingEpsilon, 12), func(v value, t *table) {
		if _, ok := v.node.(ast.MapNode); !ok {
			t.localBudget.EpsilonPico = v.epsilon(maxSettingEpsilon)
			return
		}
		faults := len(v.d.faults)
		stated := decode(v, localBudgetKeys, &t.localBudget)
		if _, err := t.localBudget.Limit(); err != nil && len(v.d.faults) == faults && slices.Contains(stated, "delta") {
			v.fail("with so small a delta nothing more can be asked: leave it out")
		}
	}}
}

// maxLocalDelta bounds the δ of one object. It has no use that large: of a million objects ten could be told.
const maxLocalDelta = dp.AttoPerUnit / 100_000

// localBudgetKeys are those of a budget of one object.
var localBudgetKeys = []key[accountant.Budget]{
	{"epsilon", "", part(func(v value, b *accountant.Budget) { b.EpsilonPico = v.epsilon(maxSettingEpsilon) }), needed, ""},
	{"delta", "", part(func(v value, b *accountant.Budget) {
		faults := len(v.d.faults)
		if b.DeltaAtto = v.delta(); len(v.d.faults) == faults && (b.DeltaAtto == 0 || b.DeltaAtto > maxLocalDelta) {
			v.fail("must be above 0, and at most 1e-5: it is the chance of each object to be told; without delta there is none")
		}
	}), needed, ""},
}

// limitOf is the limit of the ledger for each object of a local table.
func limitOf(t policy.LocalTable) (dp.Loss, error) {
	m := dp.PureDP
	if t.DeltaAtto > 0 {
		m = dp.ApproximateDP
	}
	return dp.NewLoss(m, t.BudgetPico, t.DeltaAtto)
}

// ParseLocalBudget reads the amounts of a budget of one object as a policy writes them. Delta may be empty.
func ParseLocalBudget(epsilon, delta string) (dp.Loss, error) {
	amounts := []string{epsilon}
	text := epsilon
	if delta != "" {
		amounts, text = append(amounts, delta), fmt.Sprintf("{epsilon: %s, delta: %s}", epsilon, delta)
	}
	for _, a := range amounts {
		if _, ok := parseDecimal(a); !ok {
			return dp.Loss{}, fmt.Errorf("%q is no decimal number of at most %d characters", a, maxDigits)
		}
	}
	d := &decoder{src: newSource("budget", []byte(text))}
	root, err := d.parse([]byte(text))
	if err != nil {
		return dp.Loss{}, err
	}
	var t table
	localBudget().read(value{d: d, node: root, pos: position{1, 1}}, &t)
	if len(d.faults) > 0 {
		return dp.Loss{}, fmt.Errorf("the budget cannot be used: %s", d.faults[0].Text)
	}
	return limitOf(policy.LocalTable{BudgetPico: t.localBudget.EpsilonPico, DeltaAtto: t.localBudget.DeltaAtto})
}

// checkLocal finds policies that no local table can be in.
func (d *decoder) checkLocal(p *Policy) {
	if len(p.Local) == 0 {
		return
	}
	first := p.Local[0].Name.String()
	if p.Ledger.Redis != "" {
		d.complain("a table of the local model needs the embedded ledger: answers are files of one dpproxy, which others could not show "+
			"(docs/local.md)", "tables", first, "model")
	}
	shown := map[string]bool{}
	for _, t := range p.Local {
		if shown[t.Name.Name] {
			d.complain("another table of the local model has this name: both would be local."+t.Name.Name, "tables", t.Name.String())
		}
		shown[t.Name.Name] = true
	}
	for _, t := range p.Tables.Tables {
		if t.Name.Schema == "local" {
			d.complain("the schema local of the mirror has the answers of local tables", "tables", t.Name.String())
		}
	}
}
