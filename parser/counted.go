package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"
)

// Which private groups are shown is decided by how many units they have: rows of a block that are counted as they come are the groups
// that were shown, not those that there are, and no error of their number is known.

// A tallier notes where rows of blocks are counted.
type tallier struct{ *analysis }

// uncounted notes the aggregates of a SELECT that count the rows of blocks below it by nothing that was measured of them, and returns the
// blocks whose rows are also its own rows. Conditions on measured values ask how many groups meet them, which is another question.
func (a tallier) uncounted(sel *pg.SelectStmt, s *scope, blocks []*candidate) []*candidate {
	if len(blocks) == 0 || s.chosen {
		return nil
	}
	above := slices.Concat(sel.TargetList, sel.SortClause, []*pg.Node{sel.HavingClause})
	holds(func(n *pg.Node) bool {
		if tallies(n) && !(valuer{a.analysis, s}).of(n).measured() {
			for _, c := range blocks {
				c.counts = append(c.counts, a.pos(n.GetFuncCall().Location))
			}
		}
		return false
	}, above...)
	if aggregates(sel) && len(sel.GroupClause) == 0 {
		return nil // one row
	}
	return blocks
}

// tallies reports whether a call depends on how many rows there are: the number itself, also by a window, and sums.
func tallies(n *pg.Node) bool {
	f := n.GetFuncCall()
	if f == nil {
		return false
	}
	schema, name := callee(f)
	return (schema == "" || schema == "pg_catalog") && slices.Contains([]string{"count", "sum", "avg", "regr_count"}, name)
}
