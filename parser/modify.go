package parser

import (
	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// modify analyses INSERT, UPDATE, DELETE and MERGE.
func (a *analysis) modify(n *pg.Node, outer *scope) {
	a.modifies = true
	s := newScope(outer, false)
	switch x := n.GetNode().(type) {
	case *pg.Node_InsertStmt:
		a.insert(x.InsertStmt, s)
	case *pg.Node_UpdateStmt:
		u := x.UpdateStmt
		a.openCTEs(u.WithClause, s)
		a.target(u.Relation, s)
		a.source(u.FromClause, s)
		a.exprs(u.TargetList, s)
		a.outputs = append(a.outputs, valuer{a, s}.assigned(u.TargetList...)...)
		a.exprs([]*pg.Node{u.WhereClause}, s)
		a.exprs(u.ReturningList, s)
	case *pg.Node_DeleteStmt:
		d := x.DeleteStmt
		a.openCTEs(d.WithClause, s)
		a.target(d.Relation, s)
		a.source(d.UsingClause, s)
		a.exprs([]*pg.Node{d.WhereClause}, s)
		a.exprs(d.ReturningList, s)
	case *pg.Node_MergeStmt:
		m := x.MergeStmt
		a.openCTEs(m.WithClause, s)
		a.target(m.Relation, s)
		a.source([]*pg.Node{m.SourceRelation}, s)
		a.exprs([]*pg.Node{m.JoinCondition}, s)
		a.exprs(m.MergeWhenClauses, s)
		a.outputs = append(a.outputs, valuer{a, s}.assigned(m.MergeWhenClauses...)...)
	}
}

func (a *analysis) insert(i *pg.InsertStmt, s *scope) {
	a.openCTEs(i.WithClause, s)
	if sel := i.SelectStmt.GetSelectStmt(); sel != nil {
		r := a.query(sel, newScope(s, true))
		if r.kind == rows {
			a.refuse(rowAccess(r))
		}
		a.outputs = append(a.outputs, r.columns...)
	}
	a.target(i.Relation, s)
	excluded := rename(s.items[0], &pg.Alias{Aliasname: "excluded"})
	s.add(excluded)
	if i.OnConflictClause != nil {
		pgtree.Others(i.OnConflictClause.ProtoReflect(), func(n *pg.Node) {
			a.expr(n, s)
			a.outputs = append(a.outputs, valuer{a, s}.assigned(n)...)
		})
	}
	a.exprs(i.ReturningList, s)
}

// target adds the changed table to the level.
func (a *analysis) target(v *pg.RangeVar, s *scope) {
	ref, _ := a.table(v)
	if ref.Resolved.Protected {
		a.changed = &ref
	}
	it := &item{schema: v.Schemaname, name: v.Relname, known: len(ref.Resolved.Columns) > 0}
	for _, name := range ref.Resolved.Columns {
		it.columns = append(it.columns, column{name: name})
	}
	s.add(rename(it, v.Alias))
}

// source analyses FROM or USING, whose rows must not be protected.
func (a *analysis) source(list []*pg.Node, s *scope) {
	if r := a.fromClause(list, s); r.kind == rows {
		a.refuse(rowAccess(r))
	}
}
