package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// fromClause analyses a FROM clause and adds its items to the level.
func (a *analysis) fromClause(list []*pg.Node, s *scope) result {
	r := result{at: -1}
	for _, n := range list {
		r = a.joined(r, a.fromItem(n, s))
	}
	return r
}

// joined is the kind of two joined items. Released results joined with
// protected rows would make rows that belong to nobody alone.
func (a *analysis) joined(l, r result) result {
	if l.kind < r.kind {
		l, r = r, l
	}
	if l.kind == rows && r.kind == released {
		a.refuse(pgerr.New(pgerr.Ownership, "rows of protected table %q are joined with a released result", l.table).At(l.at).
			WithHint("Aggregate the protected rows in a sub-select of their own and join the two results."))
	}
	return result{
		kind: l.kind, at: l.at, table: l.table, reference: l.reference, blocks: either(l.blocks, r.blocks),
		chosen: l.chosen || r.chosen, sorted: l.sorted || r.sorted,
	}
}

// kept are the blocks of whose rows those of a join are made: an outer join has a row of its preserved side whatever the
// other shows.
func kept(t pg.JoinType, l, r []*candidate) []*candidate {
	switch t {
	case pg.JoinType_JOIN_LEFT:
		return l
	case pg.JoinType_JOIN_RIGHT:
		return r
	}
	return either(l, r)
}

// either are the blocks of two lists, each once: in a chain of WITH queries that each join the one before twice, there would be
// more of them than fit into memory.
func either(l, r []*candidate) []*candidate {
	all := slices.Clip(l)
	for _, c := range r {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	return all
}

// maxItems bounds the items of all FROM clauses of a statement, and maxColumns
// those of one list: Postgres takes no longer lists of targets.
const (
	maxItems   = 500
	maxColumns = 1664
)

func (a *analysis) fromItem(n *pg.Node, s *scope) result {
	if a.items++; a.items > maxItems {
		a.refusal = pgerr.New(pgerr.StatementTooComplex, "statement names more than %d relations", maxItems).
			WithHint("Split the statement.")
		return result{at: -1}
	}
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		a.noteView(n, s)
		return a.rangeVar(x.RangeVar, s)
	case *pg.Node_RangeSubselect:
		level := newScope(s, !x.RangeSubselect.Lateral)
		found, refusal := a.found, a.refusal
		r := a.query(x.RangeSubselect.Subquery.GetSelectStmt(), level)
		if x.RangeSubselect.Lateral && r.kind == released && a.levels.perRow(x.RangeSubselect.Subquery.GetSelectStmt(), s, a.cat) {
			a.found, a.refusal, r.kind = found, refusal, rows
		}
		s.add(rename(&item{columns: r.columns, known: r.known, rows: r.blocks}, x.RangeSubselect.Alias))
		return r
	case *pg.Node_JoinExpr:
		return a.join(x.JoinExpr, s)
	case *pg.Node_RangeTableSample:
		r := a.relation(x.RangeTableSample.Relation, s)
		a.exprs(x.RangeTableSample.Args, s)
		pgtree.Visit(x.RangeTableSample.Repeatable, func(n *pg.Node) { a.expr(n, s) })
		return r
	case *pg.Node_RangeFunction:
		a.noteSuggestion(n)
		a.foreign = a.foreign || pgtree.ConstantCall(x.RangeFunction) != nil
		pgtree.Children(n, func(n *pg.Node) { a.expr(n, s) })
		it := functionItem(x.RangeFunction)
		if it.unsure = (valuer{a, s}).computed(n).further; it.unsure {
			for i := range it.columns {
				it.columns[i].value.further = true
			}
		}
		s.add(it)
		return result{at: -1}
	default:
		if n != nil {
			pgtree.Children(n, func(n *pg.Node) { a.expr(n, s) })
		}
		s.add(&item{unsure: valuer{a, s}.computed(n).further})
		return result{at: -1}
	}
}

// functionItem is the item of a function in FROM. A function without
// alias is named after itself; that is also the column of one that returns a
// scalar. Other columns are not known.
func functionItem(f *pg.RangeFunction) *item {
	it := rename(&item{}, f.Alias)
	if f.Alias == nil && len(f.Functions) > 0 {
		call := f.Functions[0].GetList().GetItems()
		if len(call) > 0 && call[0].GetFuncCall() != nil {
			_, it.name = pgtree.Callee(call[0].GetFuncCall())
		}
	}
	it.columns = append(it.columns, column{name: it.name})
	return it
}

func (a *analysis) rangeVar(v *pg.RangeVar, s *scope) result {
	if v.Schemaname == "" {
		if c := s.ctes.find(v.Relname); c != nil {
			r := a.cte(c)
			a.cteRefs[v] = c
			s.leaveTo(c.scope)
			it := &item{name: v.Relname, columns: r.columns, known: r.known, rows: r.blocks}
			s.add(rename(it, v.Alias))
			if r.kind == rows {
				r.at = a.pos(v.Location)
			}
			return r
		}
	}
	ref, known := a.table(v)
	a.foreign = a.foreign || !known || ref.Resolved.Derived
	it := &item{schema: v.Schemaname, name: v.Relname, known: known && len(ref.Resolved.Columns) > 0, table: ref.Resolved.Protected}
	it.columns = tableColumns(ref.Resolved)
	s.add(rename(it, v.Alias))
	if !ref.Resolved.Protected {
		return result{at: -1}
	}
	r := result{kind: rows, at: ref.At, table: ref.Name, reference: ref.Resolved.Reference && ref.Concealed == ""}
	if ref.Concealed != "" {
		r.table = ref.Concealed // which table it reads is not told
	}
	return r
}

// tableColumns are the columns of a table. Where rows of a public table come from never matters.
func tableColumns(r ast.Relation) []column {
	out, origins := make([]column, len(r.Columns)), make([]ast.Origin, len(r.Columns))
	for i, name := range r.Columns {
		out[i].name = name
		if r.Protected {
			origins[i] = ast.Origin{Schema: r.Schema, Table: r.Name, Column: name}
			out[i].origins = origins[i : i+1 : i+1]
		}
	}
	return out
}

// table looks the relation up and notes it.
func (a *analysis) table(v *pg.RangeVar) (ast.TableRef, bool) {
	at := a.offsetOf(v.Location)
	ref := ast.TableRef{Schema: v.Schemaname, Name: v.Relname, At: a.pos(v.Location), Within: a.l.within(at), Concealed: a.l.concealed(at)}
	resolved, known := a.cat.Relation(v.Schemaname, v.Relname)
	if known {
		ref.Resolved = resolved
	}
	switch {
	case ref.Resolved.Protected:
		a.protected = append(a.protected, ref)
	case !ref.Within:
		a.beside = append(a.beside, ref)
	}
	return ref, known
}

// relation analyses the item below TABLESAMPLE, which is no view.
func (a *analysis) relation(n *pg.Node, s *scope) result {
	if v := n.GetRangeVar(); v != nil {
		return a.rangeVar(v, s)
	}
	return a.fromItem(n, s)
}

// condition walks the ON of a join. On protected rows it is part of the text that leaves the
// statement, as WHERE is.
func (a *analysis) condition(quals *pg.Node, s *scope, k kind) {
	if k == rows {
		a.inside++
		defer func() { a.inside-- }()
	}
	pgtree.Visit(quals, func(n *pg.Node) { a.expr(n, s) })
}

func (a *analysis) join(j *pg.JoinExpr, s *scope) result {
	first := len(s.items)
	l, right := a.fromItem(j.Larg, s), a.fromItem(j.Rarg, s)
	r := a.joined(l, right)
	r.blocks = kept(j.Jointype, l.blocks, right.blocks)
	a.condition(j.Quals, s, r.kind)
	r.chosen = r.chosen || valuer{a, s}.joins(j, first)
	if j.Alias != nil {
		whole := &item{known: true, unsure: slices.ContainsFunc(s.items[first:], func(it *item) bool { return it.unsure })}
		for _, it := range s.items[first:] {
			room := max(maxColumns-len(whole.columns), 0)
			whole.columns = append(whole.columns, it.columns[:min(len(it.columns), room)]...)
			whole.known, whole.rows = whole.known && it.known, either(whole.rows, it.rows)
		}
		s.collapse(first, rename(whole, j.Alias))
	}
	return r
}
