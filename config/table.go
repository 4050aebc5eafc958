package config

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/planner/policy"
)

// defaultSchema is that of tables that are named without one.
const defaultSchema = "public"

// unit reads the privacy unit: its name and the guarantee.
func (v value) unit() (name string, b accountant.Budget) {
	v.object(fields{
		"name":   func(v value) { name = v.text() },
		"budget": func(v value) { b = v.budget() },
	})
	v.need("name", "budget")
	return name, b
}

// budget reads a budget; selection_delta is half of delta unless it is stated.
func (v value) budget() accountant.Budget {
	b := accountant.Budget{SelectionDeltaAtto: -1}
	faults := len(v.d.faults)
	v.object(fields{
		"epsilon":         func(v value) { b.EpsilonPico = v.epsilon(dp.MaxPico) },
		"delta":           func(v value) { b.DeltaAtto = v.delta() },
		"selection_delta": func(v value) { b.SelectionDeltaAtto = v.delta() },
	})
	v.need("epsilon")
	if b.SelectionDeltaAtto < 0 {
		b.SelectionDeltaAtto = b.DeltaAtto / 2
	}
	switch {
	case len(v.d.faults) > faults:
	case b.DeltaAtto == 0 && b.SelectionDeltaAtto > 0:
		v.fail("selection_delta is part of delta, which is 0")
	case b.DeltaAtto > 0 && b.SelectionDeltaAtto >= b.DeltaAtto:
		v.fail("selection_delta must be below delta: the rest pays for noise")
	default:
		if _, err := b.Limit(); err != nil {
			v.fail("this budget is too small to spend anything of it")
		}
	}
	return b
}

// longestName is Postgres's limit, in bytes.
const longestName = 63

// identifier checks the name of a column, a table, a schema or a role.
func (v value) identifier(s string) {
	if s == "" || len(s) > longestName || strings.Trim(s, " ") != s || strings.ContainsFunc(s, unprintable) {
		v.fail("a name is 1 to %d bytes of text", longestName)
	}
}

func unprintable(r rune) bool { return printable(r) != r || r == '"' }

// columnName reads the name of a column.
func (v value) columnName() string {
	s := v.text()
	if s != "" {
		v.identifier(s)
	}
	return s
}

// tableName reads [schema.]name.
func (v value) tableName(s string) catalog.Name {
	schema, name, found := strings.Cut(s, ".")
	if !found {
		schema, name = defaultSchema, s
	}
	switch {
	case schema == "" || name == "" || strings.Contains(name, "."):
		v.fail("a table is name or schema.name")
	case schema == "dp" || schema == "information_schema" || strings.HasPrefix(schema, "pg_"):
		v.fail("schema %s cannot be in a policy", schema)
	default:
		v.identifier(schema)
		v.identifier(name)
	}
	return catalog.Name{Schema: schema, Name: name}
}

// tables fills the policy with the tables, in the order of the file.
func (v value) tables(p *Policy) {
	v.entries(func(key string, c value, place position) {
		name := c.at(place).tableName(key)
		if p.lists(name) {
			c.at(place).fail("the table %v is listed twice", name)
		}
		t := c.table()
		t.Name = name
		if t.view {
			p.Views = append(p.Views, View{name, t.shown})
			return
		}
		p.Tables.Tables = append(p.Tables.Tables, t.TablePolicy)
		if t.budget != nil {
			p.TableBudgets[name] = *t.budget
		}
		p.allow(name, t)
		for _, partition := range t.partitions {
			if p.lists(partition.name) {
				partition.fail("the table %v is listed twice", partition.name)
			}
			t.Name = partition.name
			p.allow(t.Name, t)
			p.Tables.Tables = append(p.Tables.Tables, t.TablePolicy)
			p.PartitionOf[partition.name] = name
		}
	})
	if _, ok := v.node.(ast.MapNode); ok && len(p.Tables.Tables) == 0 {
		v.fail("no table is listed")
	}
}

// allow notes what a table allows, and its defaults.
func (p *Policy) allow(n catalog.Name, t table) {
	if !t.allowance.none() {
		p.Allowances[n] = t.allowance
	}
	if t.defaults != (TableDefaults{}) {
		p.TableDefaults[n] = t.defaults
	}
}

// lists reports whether a table, partition or view of that name was read.
func (p *Policy) lists(n catalog.Name) bool {
	return p.table(n) != nil || slices.ContainsFunc(p.Views, func(v View) bool { return v.Name == n })
}

// A table is an entry of tables.
type table struct {
	policy.TablePolicy
	budget      *accountant.Budget // nil: none
	partitions  []partition
	view, shown bool
	allowance   Allowance
	defaults    TableDefaults
}

// A partition is the name of one, with its place in the file.
type partition struct {
	value
	name catalog.Name
}

// table reads an entry of tables. A public table and a view have no keys of protected
// ones.
func (v value) table() (t table) {
	var protected, ofView []string
	noting := func(keys *[]string, key string, read func(value)) func(value) {
		return func(v value) { *keys = append(*keys, key); read(v) }
	}
	note := func(key string, read func(value)) func(value) { return noting(&protected, key, read) }
	v.object(fields{
		"public":         func(v value) { t.Public = v.bool() },
		"view":           func(v value) { t.view = v.bool() },
		"definition":     noting(&ofView, "definition", func(v value) { t.shown = v.oneOf("hidden", "shown") == "shown" }),
		"columns":        note("columns", func(v value) { t.Columns = v.columns() }),
		"unit":           note("unit", func(v value) { v.unitPath(&t.TablePolicy) }),
		"budget":         note("budget", func(v value) { t.budget = new(v.budget()) }),
		"max_rows":       note("max_rows", func(v value) { t.MaxRows = v.count(maxContribution) }),
		"max_partitions": note("max_partitions", func(v value) { t.MaxPartitions = v.count(maxContribution) }),
		"not_protected":  note("not_protected", func(v value) { t.NotProtected = v.columnNames() }),
		"partitions":     note("partitions", func(v value) { t.partitions = v.partitions() }),
		"max_epsilon":    note("max_epsilon", func(v value) { t.allowance.MaxEpsilonPico = v.epsilon(maxSettingEpsilon) }),
		"mechanisms":     note("mechanisms", func(v value) { t.allowance.Mechanisms = v.mechanisms() }),
		"defaults":       note("defaults", func(v value) { v.tableDefaults(&t.defaults) }),
		"model":          func(v value) { v.fail("the local model is not available in this version: leave model out") },
	})
	_, isMapping := v.node.(ast.MapNode)
	switch {
	case t.view && t.Public:
		v.fail("a table is a view or public, not both; a public view is public: true")
	case t.view && len(protected) > 0:
		v.fail("a view has no %s: that of the tables it reads holds", protected[0])
	case !t.view && len(ofView) > 0:
		v.fail("%s is for a view, and view: true is missing", ofView[0])
	case t.Public && len(protected) > 0:
		v.fail("a public table has no %s", protected[0])
	case isMapping && !t.Public && !t.view && !slices.Contains(protected, "unit"):
		v.fail("unit is missing (or public: true, or view: true)")
	}
	return t
}

// tableDefaults reads the defaults of a table.
func (v value) tableDefaults(d *TableDefaults) {
	v.object(fields{
		"epsilon":         func(v value) { d.EpsilonPico = v.epsilon(maxSettingEpsilon) },
		"max_epsilon":     func(v value) { d.MaxEpsilonPico = v.epsilon(maxSettingEpsilon) },
		"relative_error":  func(v value) { d.RelativeError = v.between(leastRelativeError, 1) },
		"target_fraction": func(v value) { d.TargetFraction = v.between(leastFraction, 1) },
	})
}

// maxListed is the longest list of partitions.
const maxListed = 10_000

// partitions reads a list of partitions, each once.
func (v value) partitions() (all []partition) {
	v.list(func(c value) {
		faults := len(c.d.faults)
		s := c.text()
		if len(c.d.faults) > faults {
			return
		}
		name := c.tableName(s)
		if slices.ContainsFunc(all, func(p partition) bool { return p.name == name }) {
			c.fail("the partition %v is listed twice", name)
		}
		if len(c.d.faults) == faults {
			all = append(all, partition{c, name})
		}
	})
	if len(all) > maxListed {
		v.fail("a list of at most %d partitions is needed", maxListed)
	}
	return all
}

// unitPath reads a column, or {via: column, to: table.column}.
func (v value) unitPath(t *policy.TablePolicy) {
	if _, ok := v.node.(ast.MapNode); !ok {
		t.UnitColumn = v.columnName()
		return
	}
	v.object(fields{
		"via": func(v value) { t.Via = v.columnName() },
		"to":  func(v value) { t.To = v.target() },
	})
	v.need("via", "to")
}

// target reads [schema.]table.column.
func (v value) target() policy.ColumnName {
	s := v.text()
	i := strings.LastIndexByte(s, '.')
	switch {
	case s == "":
		return policy.ColumnName{}
	case i <= 0:
		v.fail("the target is table.column or schema.table.column")
		return policy.ColumnName{}
	}
	v.identifier(s[i+1:])
	return policy.ColumnName{Table: v.tableName(s[:i]), Column: s[i+1:]}
}

// columnNames reads a list of columns, each once.
func (v value) columnNames() (names []string) {
	v.list(func(c value) {
		s := c.columnName()
		if slices.Contains(names, s) {
			c.fail("the column %q is listed twice", s)
		}
		names = append(names, s)
	})
	return names
}
