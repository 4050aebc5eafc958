package config

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/planner"
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
		if slices.ContainsFunc(p.Tables.Tables, func(o planner.TablePolicy) bool { return o.Name == name }) {
			c.at(place).fail("the table %v is listed twice", name)
		}
		t, budget := c.table()
		t.Name = name
		p.Tables.Tables = append(p.Tables.Tables, t)
		if budget != nil {
			p.TableBudgets[name] = *budget
		}
	})
	if _, ok := v.node.(ast.MapNode); ok && len(p.Tables.Tables) == 0 {
		v.fail("no table is listed")
	}
}

// table reads a table's policy and its budget, which may be nil.
func (v value) table() (t planner.TablePolicy, budget *accountant.Budget) {
	var protected []string
	note := func(key string, read func(value)) func(value) {
		return func(v value) { protected = append(protected, key); read(v) }
	}
	v.object(fields{
		"public":         func(v value) { t.Public = v.bool() },
		"columns":        note("columns", func(v value) { t.Columns = v.columns() }),
		"unit":           note("unit", func(v value) { v.unitPath(&t) }),
		"budget":         note("budget", func(v value) { budget = new(v.budget()) }),
		"max_rows":       note("max_rows", func(v value) { t.MaxRows = v.count(maxContribution) }),
		"max_partitions": note("max_partitions", func(v value) { t.MaxPartitions = v.count(maxContribution) }),
		"not_protected":  note("not_protected", func(v value) { t.NotProtected = v.columnNames() }),
		"model":          func(v value) { v.fail("the local model is not available in this version: leave model out") },
	})
	switch {
	case t.Public && len(protected) > 0:
		v.fail("a public table has no %s", protected[0])
	case !t.Public && !slices.Contains(protected, "unit"):
		if _, ok := v.node.(ast.MapNode); ok {
			v.fail("unit is missing (or public: true)")
		}
	}
	return t, budget
}

// unitPath reads a column, or {via: column, to: table.column}.
func (v value) unitPath(t *planner.TablePolicy) {
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
func (v value) target() planner.ColumnName {
	s := v.text()
	i := strings.LastIndexByte(s, '.')
	switch {
	case s == "":
		return planner.ColumnName{}
	case i <= 0:
		v.fail("the target is table.column or schema.table.column")
		return planner.ColumnName{}
	}
	v.identifier(s[i+1:])
	return planner.ColumnName{Table: v.tableName(s[:i]), Column: s[i+1:]}
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
