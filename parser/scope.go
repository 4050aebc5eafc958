package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A scope is one query level, with the meanings of its column references and table names.
type scope struct {
	parent *scope
	ctes   *cteScope
	items  []*item
	// index finds columns once there were many lookups; nil until then.
	index   map[string]place
	lookups int
	// blind says that the items of parent cannot be seen from here (a derived
	// table without LATERAL, the query of a CTE); those further out can.
	blind bool
	// block is set in a release block.
	block bool
	// chosen says that released values decide which rows the level has, before it shows some of them.
	chosen bool
	// windows are the named ones.
	windows []*pg.Node
	// escape is the offset of the first reference that leaves this level, or -1.
	escape int
	// foreign is set when a WITH query of a level further out is read.
	foreign bool
}

// An item of FROM, by its name.
type item struct {
	schema  string // as written; only of a table without alias
	name    string // the alias, or the table's name
	aliased bool
	columns []column
	known   bool         // columns are all of them
	unsure  bool         // they may have been computed of released values
	rows    []*candidate // the blocks of whose rows its own are made
	table   bool         // it is a protected table
}

// A place says in how many items of a level a column name is, and which are the
// first and the last of them.
type place struct{ first, last, count int }

// indexAfter is the number of lookups that pay for an index of a level.
const indexAfter = 64

// add adds items to the level.
func (s *scope) add(items ...*item) {
	s.items = append(s.items, items...)
	s.index = nil
}

// collapse replaces the items from the index on by one.
func (s *scope) collapse(from int, it *item) {
	s.items = append(s.items[:from], it)
	s.index = nil
}

// find returns where a column name is among the items of the level.
func (s *scope) find(name string) place {
	if s.lookups++; s.lookups < indexAfter {
		found := place{first: -1}
		for i, it := range s.items {
			if it.column(name) < 0 {
				continue
			}
			if found.count++; found.count == 1 {
				found.first = i
			}
			found.last = i
		}
		return found
	}
	if s.index == nil {
		s.buildIndex()
	}
	if found, ok := s.index[name]; ok {
		return found
	}
	return place{first: -1}
}

func (s *scope) buildIndex() {
	s.index = map[string]place{}
	for i, it := range s.items {
		for _, c := range it.columns {
			found, ok := s.index[c.name]
			switch {
			case !ok:
				found.first = i
			case found.last == i:
				continue // the second column of that name
			}
			found.last = i
			found.count++
			s.index[c.name] = found
		}
	}
}

// A presence says whether a level has a column of a name.
type presence uint8

const (
	absent presence = iota
	unsure
	present
)

func newScope(parent *scope, blind bool) *scope {
	s := &scope{parent: parent, blind: blind, escape: -1}
	if parent != nil {
		s.ctes = parent.ctes
	}
	return s
}

// has looks for a column in the items of this level.
func (s *scope) has(name string) presence {
	if len(s.items) > 0 && isSystemColumn(name) {
		return present
	}
	if s.find(name).count > 0 {
		return present
	}
	for _, it := range s.items {
		if !it.known {
			return unsure
		}
	}
	return absent
}

func isSystemColumn(name string) bool {
	switch name {
	case "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid":
		return true
	}
	return false
}

func (it *item) column(name string) int {
	for i, c := range it.columns {
		if c.name == name {
			return i
		}
	}
	return -1
}

// named returns the item that the qualifier names, or -1.
func (s *scope) named(schema, name string) int {
	for i, it := range s.items {
		if it.name == name && (schema == "" || !it.aliased && (it.schema == schema || it.schema == "")) {
			return i
		}
	}
	return -1
}

// leaveTo notes every level below the one whose WITH query is read.
func (s *scope) leaveTo(with *scope) {
	for l := s; l != nil && l != with; l = l.parent {
		l.foreign = true
	}
}

// refer notes every level that the reference leaves. In doubt it is taken to leave.
func (s *scope) refer(ref *pg.ColumnRef, at int) {
	levels := s.reach(ref)
	for l := s; levels > 0; l, levels = l.parent, levels-1 {
		if l.escape < 0 {
			l.escape = at
		}
	}
}

// reach returns how many levels out the reference leads, as outermost does.
func (s *scope) reach(ref *pg.ColumnRef) int {
	names, _ := pgtree.Strings(ref.Fields)
	if len(names) == 0 {
		return 0 // a bare star
	}
	look := func(l *scope) presence { return l.has(names[0]) }
	if len(names) < len(ref.Fields) || len(names) > 1 {
		schema, qualifier := splitQualifier(names, len(ref.Fields))
		look = func(l *scope) presence { return presenceOf(l.named(schema, qualifier) >= 0) }
	} else if s.outermost(look) < 0 {
		// A name that is no column anywhere can be a whole row.
		look = func(l *scope) presence { return presenceOf(l.named("", names[0]) >= 0) }
	}
	return s.outermost(look)
}

// splitQualifier takes the table and its schema from a reference of n fields,
// the last of which may be a star.
func splitQualifier(names []string, n int) (schema, qualifier string) {
	names = names[:min(len(names), n-1)]
	if len(names) > 1 {
		schema = names[len(names)-2]
	}
	return schema, names[len(names)-1]
}

func presenceOf(ok bool) presence {
	if ok {
		return present
	}
	return absent
}

// outermost returns how many levels out the reference can reach: 0 if it is
// surely of this level, -1 if no level can have it.
func (s *scope) outermost(look func(*scope) presence) int {
	reached, hidden := -1, false
	for l, level := s, 0; l != nil; l, level = l.parent, level+1 {
		if !hidden {
			switch look(l) {
			case present:
				return level
			case unsure:
				reached = level
			case absent:
			}
		}
		hidden = l.blind
	}
	return reached
}

// own returns the item and the column of this level that the reference names;
// ok is false if there is none or more than one.
func (s *scope) own(ref *pg.ColumnRef) (it int, c column, ok bool) {
	names, plain := pgtree.Strings(ref.Fields)
	if !plain || len(names) == 0 || len(names) > 3 {
		return 0, column{}, false
	}
	name := names[len(names)-1]
	if len(names) > 1 {
		schema, qualifier := splitQualifier(names, len(names))
		it = s.named(schema, qualifier)
		if it < 0 {
			return 0, column{}, false
		}
		return it, s.items[it].columnNamed(name), true
	}
	found := s.find(name)
	if found.count != 1 {
		return 0, column{}, false
	}
	return found.first, s.items[found.first].columnNamed(name), true
}

// columnNamed returns the column of that name, which need not be known.
func (it *item) columnNamed(name string) column {
	if i := it.column(name); i >= 0 {
		return it.columns[i]
	}
	return column{name: name}
}

// valueOf is the value of a reference, to a column, a whole row or a star. In doubt it is computed further.
func (s *scope) valueOf(ref *pg.ColumnRef) value {
	for l, hidden := s, false; l != nil; l = l.parent {
		if !hidden {
			if v, ok := l.ownValue(ref); ok {
				return v
			}
		}
		hidden = l.blind
	}
	return value{}
}

// ownValue is valueOf a reference that is of this level.
func (s *scope) ownValue(ref *pg.ColumnRef) (v value, ok bool) {
	if it, c, ok := s.own(ref); ok && s.items[it].column(c.name) >= 0 {
		return c.value, true
	}
	names, plain := pgtree.Strings(ref.Fields)
	for _, it := range s.items {
		switch {
		case plain && len(names) == 1 && it.column(names[0]) >= 0: // a name that a USING clause merges
			v, ok = v.or(it.columnNamed(names[0]).value), true
		case it.unsure:
			v.further, ok = true, true
		case len(names) == 0 || slices.Contains(names, it.name): // a star, or a whole row
			v.further, ok = v.further || slices.ContainsFunc(it.columns, column.measured), true
		}
	}
	return v, ok
}

// origins returns those of an expression: none, unless it is a column. A name that a USING clause merges is in several items.
func (s *scope) origins(n *pg.Node) (all []ast.Origin) {
	ref := n.GetColumnRef()
	if ref == nil {
		return nil
	}
	if _, c, ok := s.own(ref); ok {
		return c.origins
	}
	name, bare := pgtree.ColumnName(n)
	if !bare {
		return nil
	}
	for _, it := range s.items {
		all = append(all, it.columnNamed(name).origins...)
	}
	return all
}

// originsOf returns those of several expressions.
func (s *scope) originsOf(list []*pg.Node) (all []ast.Origin) {
	for _, n := range list {
		all = append(all, s.origins(n)...)
	}
	return all
}

// wholeRow returns the protected table whose whole rows a reference means; false if it means anything else.
func (s *scope) wholeRow(ref *pg.ColumnRef) (it *item, ok bool) {
	names, plain := pgtree.Strings(ref.GetFields())
	star := !plain && len(ref.GetFields()) == len(names)+1
	column := func(l *scope) presence { return l.has(names[0]) }
	if len(names) == 0 || !star && (len(names) > 1 || s.outermost(column) >= 0) {
		return nil, false
	}
	schema, name := splitQualifier(names, len(names)+1)
	i := s.named(schema, name)
	if i < 0 || !s.items[i].table {
		return nil, false
	}
	return s.items[i], true
}

// rename gives an item its alias and its column aliases.
func rename(it *item, alias *pg.Alias) *item {
	if alias == nil {
		return it
	}
	out := &item{name: alias.Aliasname, aliased: true, known: it.known, unsure: it.unsure, rows: it.rows, table: it.table}
	out.columns = append(out.columns, it.columns...)
	names, _ := pgtree.Strings(alias.Colnames)
	for i, name := range names {
		if i < len(out.columns) {
			out.columns[i].name = name
		} else {
			out.columns = append(out.columns, column{name: name, value: value{further: it.unsure}})
		}
	}
	return out
}
