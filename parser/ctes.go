package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A cteScope holds the CTEs of one WITH clause.
type cteScope struct {
	parent *cteScope
	ctes   []*cte
}

// A cte is a common table expression. With RECURSIVE it may be met before it
// was analysed, even inside itself.
type cte struct {
	node     *pg.CommonTableExpr
	scope    *scope // the level of its WITH clause
	state    cteState
	selfRead bool
	escape   int // of its query, as in scope
	result   result
}

type cteState uint8

const (
	cteNew cteState = iota
	cteOpen
	cteDone
)

func (s *cteScope) find(name string) *cte {
	for ; s != nil; s = s.parent {
		for _, c := range slices.Backward(s.ctes) {
			if c.node.Ctename == name {
				return c
			}
		}
	}
	return nil
}

// openCTEs opens the CTEs of a WITH clause in the level s.
func (a *analysis) openCTEs(w *pg.WithClause, s *scope) {
	if w == nil {
		return
	}
	local := &cteScope{parent: s.ctes}
	var all []*cte
	for _, n := range w.Ctes {
		c := &cte{node: n.GetCommonTableExpr(), scope: s, escape: -1}
		if c.node == nil {
			continue
		}
		all = append(all, c)
		if w.Recursive {
			local.ctes = append(local.ctes, c)
		}
	}
	s.ctes = local
	for _, c := range all {
		a.cte(c)
		if !w.Recursive {
			local.ctes = append(local.ctes, c)
		}
	}
}

// cte analyses the query of a CTE once and returns its level.
func (a *analysis) cte(c *cte) result {
	switch c.state {
	case cteOpen:
		c.selfRead = true
		return result{at: -1}
	case cteDone:
		return c.result
	case cteNew:
	}
	c.state = cteOpen
	level := newScope(c.scope, true)
	if sel := c.node.Ctequery.GetSelectStmt(); sel != nil {
		c.result = a.query(sel, level)
	} else {
		a.modify(c.node.Ctequery, level)
		c.result = result{at: -1}
	}
	c.state, c.escape = cteDone, level.escape
	if c.selfRead && c.result.kind == released { // the rows are computed of each other
		c.result.chosen = true
		for i := range c.result.columns {
			c.result.columns[i].value = value{further: true}
		}
	}
	names, _ := pgtree.Strings(c.node.Aliascolnames)
	for i, name := range names {
		if i < len(c.result.columns) {
			c.result.columns[i].name = name
		}
	}
	if c.result.kind == rows {
		a.rowsCTE(c, level)
	}
	return c.result
}

// rowsCTE notes that the body of the CTE must not stay in the text: where
// another one refers to it, the mirror would plan it.
func (a *analysis) rowsCTE(c *cte, level *scope) {
	at := a.pos(c.node.Location)
	switch {
	case c.selfRead:
		a.refuse(pgerr.New(pgerr.NotAllowed, "recursive query %q reads protected rows", c.node.Ctename).At(at).
			WithHint("Take protected rows out of the recursion."))
	case c.node.SearchClause != nil || c.node.CycleClause != nil:
		a.refuse(pgerr.New(pgerr.NotAllowed, "SEARCH and CYCLE cannot be used over protected rows").At(at).
			WithHint("Remove the clause."))
	case level.escape >= 0:
		a.refuse(correlated(level.escape))
	}
	a.bodies = append(a.bodies, c.node)
}
