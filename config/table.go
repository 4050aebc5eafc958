package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// readBudget reads a budget; selection_delta is half of delta unless it is stated.
func readBudget(v value) accountant.Budget {
	b := accountant.Budget{SelectionDeltaAtto: -1}
	faults := len(v.d.faults)
	decode(v, budgetKeys, &b)
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

// checkColumnName checks the name of a column, which is whatever Postgres takes: one that could not be named could not be
// hidden.
func checkColumnName(v value, s string) {
	if s == "" || len(s) > longestName || !utf8.ValidString(s) || strings.Contains(s, "\x00") {
		v.fail("a name is 1 to %d bytes of text", longestName)
	}
}

// checkIdentifier checks the name of a table, a schema or a role.
func checkIdentifier(v value, s string) {
	if s == "" || len(s) > longestName || strings.Trim(s, " ") != s || strings.ContainsFunc(s, unprintable) {
		v.fail("a name is 1 to %d bytes of text", longestName)
	}
}

func unprintable(r rune) bool { return printable(r) != r || r == '"' }

// readColumnName reads the name of a column.
func readColumnName(v value) string {
	s := v.textWithout(func(r rune) bool { return r == 0 })
	if s != "" {
		checkColumnName(v, s)
	}
	return s
}

// readTableName reads [schema.]name.
func readTableName(v value, s string) catalog.Name {
	schema, name, found := strings.Cut(s, ".")
	if !found {
		schema, name = defaultSchema, s
	}
	switch {
	case schema == "" || name == "" || strings.Contains(name, "."):
		v.fail("a table is name or schema.name")
	case schema == "dp" || schema == "dpproxy" || schema == "information_schema" || strings.HasPrefix(schema, "pg_"):
		v.fail("schema %s cannot be in a policy", schema)
	default:
		checkIdentifier(v, schema)
		checkIdentifier(v, name)
	}
	return catalog.Name{Schema: schema, Name: name}
}

// readTables fills the policy with the tables, in the order of the file.
func readTables(v value, p *Policy) {
	v.entries(func(key string, c value, place position) {
		name := readTableName(c.placed(place), key)
		if p.lists(name) {
			c.placed(place).fail("the table %v is listed twice", name)
		}
		t := readTable(c)
		t.Name = name
		if t.local {
			p.Local = append(p.Local, policy.LocalTable{
				Name: name, Key: t.key, Public: t.shownColumns, Columns: t.Columns, BudgetPico: t.localBudget.EpsilonPico,
				DeltaAtto: t.localBudget.DeltaAtto, Never: t.never,
			})
			return
		}
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
	if _, ok := v.node.(ast.MapNode); ok && len(p.Tables.Tables) == 0 && len(p.Local) == 0 {
		v.fail("no table is listed")
	}
}

// allow notes the allowance and the defaults of a table.
func (p *Policy) allow(n catalog.Name, t table) {
	if !t.allowance.none() {
		p.Allowances[n] = t.allowance
	}
	if t.defaults != (TableDefaults{}) {
		p.TableDefaults[n] = t.defaults
	}
}

// A table is an entry of tables.
type table struct {
	policy.TablePolicy
	budget      *accountant.Budget // nil: none
	partitions  []partition
	view, shown bool
	auto        bool // the limit of a unit's rows is chosen
	allowance   Allowance
	defaults    TableDefaults
	// The following are of the local model.
	local        bool
	key          string
	shownColumns []string
	localBudget  accountant.Budget
	never        bool
}

// A partition is the name of one, with its place in the file.
type partition struct {
	value
	name catalog.Name
}

// readTable reads an entry of tables. A public table and a view have no keys of protected
// ones.
func readTable(v value) (t table) {
	stated := decode(v, tableKeys, &t)
	if t.checkModel(v, stated); t.local {
		return t
	}
	ofView := slices.Contains(stated, "definition")
	protected := slices.DeleteFunc(stated, func(name string) bool {
		return slices.Contains([]string{"public", "view", "definition"}, name) || t.Public && name == "columns"
	})
	_, isMapping := v.node.(ast.MapNode)
	switch {
	case t.view && t.Public:
		v.fail("a table is a view or public, not both; a public view is public: true")
	case t.view && len(protected) > 0:
		v.fail("a view has no %s: that of the tables it reads holds", protected[0])
	case !t.view && ofView:
		v.fail("definition is for a view, and view: true is missing")
	case t.Public && len(protected) > 0:
		v.fail("a public table has no %s", protected[0])
	case t.Public:
		t.ofPublic(v)
	case t.Reference:
		t.ofReference(v, stated)
	case isMapping && !t.Public && !t.view && !slices.Contains(protected, "unit"):
		v.fail("unit is missing (or public: true, reference: true, or view: true)")
	}
	if i := slices.IndexFunc(stated, namesPartitions); t.auto && i >= 0 {
		v.d.complain("a limit that is chosen (auto) is one of all groups together: leave this out, or state a number of rows",
			slices.Concat(v.path, stated[i:i+1])...)
	}
	return t
}

// ofPublic refuses what the policy says of columns of a public table, but that they are hidden.
func (t *table) ofPublic(v value) {
	for _, name := range slices.Sorted(maps.Keys(t.Columns)) {
		if !reflect.DeepEqual(t.Columns[name], policy.ColumnPolicy{Hidden: t.Columns[name].Hidden}) {
			v.d.complain("a column of a public table is hidden or {}: its values are those of the rows",
				slices.Concat(v.path, []string{"columns", name})...)
		}
	}
}

// ofReference refuses keys that a reference table cannot have.
func (t *table) ofReference(v value, stated []string) {
	for _, name := range stated {
		if !slices.Contains([]string{"reference", "columns", "derived", "refers", "not_protected", "defaults"}, name) {
			v.fail("a reference table has no %s: its rows are nobody's in particular", name)
			return
		}
	}
	if t.defaults != (TableDefaults{}) {
		v.d.complain("a reference table has no defaults but dates: statements look it up for rows of other tables",
			slices.Concat(v.path, []string{"defaults"})...)
	}
}

// namesPartitions reports whether a key limits the groups of a unit.
func namesPartitions(key string) bool {
	return key == "max_groups_contributed" || key == "max_partitions"
}

// rowLimit is a number, auto, or {auto: n}.
func rowLimit() form[table] {
	return form[table]{fmt.Sprintf("1 to %d", maxContribution), readMaxRows}
}

// readMaxRows reads a limit of a unit's rows, or that it is chosen.
func readMaxRows(v value, t *table) {
	if _, ok := v.node.(ast.MapNode); ok {
		t.auto = true
		decode(v, autoKeys, t)
		return
	}
	var ok bool
	if s, _ := scalarText(v.node); s == "auto" {
		t.auto = true
	} else if t.MaxRows, ok = v.whole(maxContribution); !ok {
		v.fail("a whole number from 1 to %d, auto or {auto: n} is needed", maxContribution)
	}
}

// maxListed is the longest list of partitions.
const maxListed = 10_000

// readPartitions reads a list of partitions, each once.
func readPartitions(v value) (all []partition) {
	v.list(func(c value) {
		faults := len(c.d.faults)
		s := c.text()
		if len(c.d.faults) > faults {
			return
		}
		name := readTableName(c, s)
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

// readUnitPath reads a column, or {via: column, to: table.column}.
func readUnitPath(v value, t *policy.TablePolicy) {
	if _, ok := v.node.(ast.MapNode); !ok {
		t.UnitColumn = readColumnName(v)
		return
	}
	var w way
	decode(v, unitKeys, &w)
	t.Via, t.ViaKey = w.via, w.viaKey
	switch {
	case w.to.node == nil:
	case t.ViaKey == nil:
		t.To = readTarget(w.to)
	default:
		if s := w.to.text(); s != "" {
			t.To.Table = readTableName(w.to, s)
		}
	}
}

// A way is a path to a protected table, by one column or several.
type way struct {
	via    string
	viaKey []string
	to     value // is read when it is known whether a column belongs to it
}

// readVia reads a column, or a list of two or more.
func readVia(v value, w *way) {
	if _, ok := v.node.(*ast.SequenceNode); !ok {
		w.via = readColumnName(v)
		return
	}
	if w.viaKey = readColumnNames(v); len(w.viaKey) < 2 {
		v.fail("a list has two columns or more: write one without brackets")
	}
}

// readReferences reads {column: table}, or a list of ways.
func readReferences(v value) (list []policy.ReferencePolicy) {
	if _, ok := v.node.(*ast.SequenceNode); ok {
		v.list(func(c value) {
			var t policy.TablePolicy
			if _, ok := c.node.(ast.MapNode); !ok {
				c.fail("an element is {via: column, to: table.column}")
				return
			}
			readUnitPath(c, &t)
			from := t.ViaKey
			if from == nil {
				from = []string{t.Via}
			}
			list = append(list, policy.ReferencePolicy{From: from, To: t.To})
		})
		return list
	}
	v.entries(func(column string, c value, place position) {
		checkColumnName(c.placed(place), column)
		if s := c.text(); s != "" {
			list = append(list, policy.ReferencePolicy{From: []string{column}, To: policy.ColumnName{Table: readTableName(c, s)}})
		}
	})
	return list
}

// readTarget reads [schema.]table.column.
func readTarget(v value) policy.ColumnName {
	s := v.textWithout(func(r rune) bool { return r == 0 })
	i := strings.LastIndexByte(s, '.')
	switch {
	case s == "":
		return policy.ColumnName{}
	case i <= 0:
		v.fail("the target is table.column or schema.table.column")
		return policy.ColumnName{}
	}
	checkColumnName(v, s[i+1:])
	return policy.ColumnName{Table: readTableName(v, s[:i]), Column: s[i+1:]}
}

// readColumnNames reads a list of columns, each once.
func readColumnNames(v value) (names []string) {
	v.list(func(c value) {
		s := readColumnName(c)
		if slices.Contains(names, s) {
			c.fail("the column %q is listed twice", s)
		}
		names = append(names, s)
	})
	return names
}
