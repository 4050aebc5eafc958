package repair

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// distinctBranches asks for the different rows of each branch of a set operation:
//
//	SELECT x FROM t UNION SELECT y FROM u
//	SELECT DISTINCT x FROM t UNION SELECT DISTINCT y FROM u
//
// It applies to UNION, INTERSECT and EXCEPT without ALL. Nothing is lost but rare values.
func distinctBranches(r *refused) {
	branches := branchesOf(r.stmt.GetSelectStmt())
	var edits []edit
	for _, sel := range branches {
		q := r.located(sel)
		if q == nil || pgtree.IsAggregated(sel) || q.has(limit) {
			return
		}
		if d := q.draft(); len(sel.DistinctClause) == 0 {
			d.set(distinct, "DISTINCT")
			edits = append(edits, edit{q.Span, d.String()})
		}
	}
	if len(edits) > 0 {
		r.add(r.edited(r.all(), edits...))
	}
}

// branchesOf lists the SELECTs that a set operation without ALL combines; there are none if an operation has ALL, or is none.
func branchesOf(sel *pg.SelectStmt) []*pg.SelectStmt {
	if sel == nil || sel.Op == pg.SetOperation_SETOP_NONE || sel.Op == pg.SetOperation_SET_OPERATION_UNDEFINED || sel.All {
		return nil
	}
	var all []*pg.SelectStmt
	for _, side := range []*pg.SelectStmt{sel.Larg, sel.Rarg} {
		switch {
		case side.Op == pg.SetOperation_SETOP_NONE:
			all = append(all, side)
		case len(branchesOf(side)) == 0:
			return nil
		default:
			all = append(all, branchesOf(side)...)
		}
	}
	return all
}

// unionToDistinct counts different values of all rows in place of the rows of a UNION:
//
//	SELECT count(*) FROM (SELECT x FROM t UNION SELECT y FROM u) q
//	SELECT count(DISTINCT x) FROM (SELECT x FROM t UNION ALL SELECT y FROM u) q
//
// It applies to counts of rows of one column, which leave out a NULL then, and to counts of different values.
func unionToDistinct(r *refused) {
	sub := subselectOf(r.SelectStmt)
	union := sub.GetSubquery().GetSelectStmt()
	branches := branchesOf(union)
	isUnion := func(sel *pg.SelectStmt) bool { return sel.Op == pg.SetOperation_SETOP_UNION }
	if len(branches) == 0 || len(r.FromClause) != 1 || len(branches[0].TargetList) != 1 || !everyOperation(union, isUnion) {
		return
	}
	name, named := pgtree.OutputName(branches[0].TargetList[0].GetResTarget())
	if columns := sub.Alias.GetColnames(); len(columns) == 1 {
		name, named = columns[0].GetString_().GetSval(), true
	}
	if !named {
		return
	}
	d := r.draft()
	for _, n := range find(pgtree.IsAggregate, r.TargetList...) {
		switch {
		case isCountOfRows(n):
			d.put(r.star(n), "DISTINCT "+ident(name))
		case !n.GetFuncCall().GetAggDistinct():
			return // it adds up rows
		}
	}
	first, last := r.located(branches[0]), r.located(branches[len(branches)-1])
	if !pgtree.IsAggregated(r.SelectStmt) || first == nil || last == nil {
		return
	}
	from, to := r.tokens(pgtree.Span{Start: first.Start, End: last.End})
	for i := from; i < to; i++ {
		if r.toks.Kind(i) != pg.Token_UNION || r.toks.Kind(i+1) == pg.Token_ALL {
			continue
		}
		end := i + 1
		if r.toks.Kind(end) == pg.Token_DISTINCT {
			end++
		}
		d.put(r.between(i, end), "UNION ALL")
	}
	r.edit(d)
}

// everyOperation reports whether all set operations of a query are such.
func everyOperation(sel *pg.SelectStmt, such func(*pg.SelectStmt) bool) bool {
	sides := []*pg.SelectStmt{sel.Larg, sel.Rarg}
	return such(sel) && !slices.ContainsFunc(sides, func(s *pg.SelectStmt) bool {
		return s.Op != pg.SetOperation_SETOP_NONE && !everyOperation(s, such)
	})
}
