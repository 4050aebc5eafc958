package planner

import (
	"cmp"
	"fmt"
	"slices"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// A Count is a number of public rows by which a plan was made (source.Meeting), as a statement for the protected database. It has one row,
// and ends in an error of [dpproxy/mirror/introspect.NotUnchanged] if there are more of them by now.
type Count struct {
	Table catalog.Name
	Statement
	// Beyond says that values are counted that are beyond those of the copy, by which a column was bounded.
	Beyond bool
}

// countsOf are the statements of such numbers, of each table and column the least.
func (sp *specializer) countsOf(meetings []source.Meeting) (all []Count, err error) {
	slices.SortFunc(meetings, func(x, y source.Meeting) int {
		return cmp.Or(cmp.Compare(x.SQL, y.SQL), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Most, y.Most))
	})
	meetings = slices.CompactFunc(meetings, func(x, y source.Meeting) bool {
		return x.Bridge == y.Bridge && x.SQL == y.SQL && x.Column == y.Column
	})
	for _, m := range meetings {
		c, err := sp.count(m)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (sp *specializer) count(m source.Meeting) (c Count, err error) {
	r, most := &reader{sp: sp}, "SELECT pg_catalog.count(*) FROM "+m.SQL
	switch {
	case m.Bridge != nil:
		w := &scalar.Writer{Env: sp.env, Fold: r.fold, Query: sp.b.source.WriteQuery}
		if most, err = m.Bridge.SQL(w); err != nil {
			return c, err
		}
	case m.Column != "":
		most = "SELECT COALESCE(pg_catalog.max(r.n), 0) FROM (SELECT pg_catalog.count(*) AS n FROM " + m.SQL +
			" GROUP BY " + ast.QuoteIdent(m.Column) + ") AS r"
	}
	c.Table = m.Table.Name
	c.SQL, c.Params = r.finish(checked(fmt.Sprintf("(%s) OPERATOR(pg_catalog.<=) %d", most, m.Most)))
	return c, nil
}

// checked writes a statement that ends in an error unless a condition is true.
func checked(cond string) string {
	return "SELECT CAST(CASE WHEN " + cond + " THEN '0' ELSE 'more' END AS pg_catalog.int4)"
}

// extents are the statements that look for values beyond those by which columns of public tables were bounded: they would be moved
// into these bounds, where conditions and keys would take them for others.
func (sp *specializer) extents() (all []Count, err error) {
	for _, e := range sp.b.source.Extents() {
		r := &reader{sp: sp}
		bounds, err := (&scalar.Writer{Env: sp.env, Fold: r.fold}).Expr(e.Column.Extent)
		if err != nil {
			return nil, err
		}
		c := Count{Table: e.Table.Name, Beyond: true}
		const within = "(SELECT pg_catalog.count(%[1]s) OPERATOR(pg_catalog.=) 0 OR " +
			"pg_catalog.min(%[1]s) OPERATOR(pg_catalog.>=) (%[2]s)[1] AND " +
			"pg_catalog.max(%[1]s) OPERATOR(pg_catalog.<=) (%[2]s)[2] FROM %[3]s)"
		c.SQL, c.Params = r.finish(checked(fmt.Sprintf(within, e.Read, bounds, e.From)))
		all = append(all, c)
	}
	return all, nil
}

// same reports whether two counts are one.
func (c Count) same(o Count) bool { return c.SQL == o.SQL && slices.Equal(c.Params, o.Params) }

// addCounts adds what is counted of public tables, which are read as well.
func addCounts(p *Plan, counted []Count) {
	for _, c := range counted {
		if !slices.ContainsFunc(p.Counts, c.same) {
			p.Counts = append(p.Counts, c)
		}
		if !slices.Contains(p.Relations, c.Table) {
			p.Relations = append(p.Relations, c.Table)
		}
	}
}
