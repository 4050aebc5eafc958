package config

import (
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/dp"
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

// localEpsilon is a budget of one object.
func localEpsilon() form[table] {
	return form[table]{"from 1e-12 to " + dp.Decimal(maxSettingEpsilon, 12), func(v value, t *table) {
		t.localBudget = v.epsilon(maxSettingEpsilon)
	}}
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
