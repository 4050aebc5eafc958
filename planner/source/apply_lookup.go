package source

import (
	"slices"
	"strconv"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// ApplyLookup: a sub-select that looks up the row of a table by a key is an outer join with the table. A row around it has one match or
// none.
//
//	SELECT (SELECT h.region FROM hospitals h WHERE h.id = v.hospital_id), count(*) FROM visits v GROUP BY 1
//
//	SELECT h.region, count(*) FROM visits v LEFT JOIN hospitals h ON h.id = v.hospital_id GROUP BY 1
//
// A value that is more than a column of that row is NULL without one.
func applyLookup(a *applied, e ast.Expr) (ast.Expr, *ast.Join) {
	q, ok := e.(*ast.ValueQuery)
	if !ok || len(q.Query.Targets) != 1 || q.Query.Targets[0].X == nil {
		return nil, nil
	}
	value := q.Query.Targets[0].X
	l := a.lookupOf(q.Query)
	if l == nil || a.sides(l, value)&elsewhere != 0 {
		return nil, nil
	}
	join := a.look(l, q.At)
	out := l.renamed(value)
	if c, column := value.(*ast.Column); column && l.side(c) == own {
		return out, join
	}
	return &ast.Case{Whens: []ast.When{{If: l.there(out.Pos()), Then: out}}, At: out.Pos()}, join
}

// A lookup reads the row of a table that has a value in its key, for each row around it.
type lookup struct {
	from  *ast.Table
	table *policy.Table
	conds []ast.Expr
	// key is a column that tells the rows of the table, and tied what is equal to it of the row around.
	key  string
	tied ast.Expr
	// alias is what the table is called in FROM around.
	alias string
}

// lookedPrefix begins the names of tables that are looked up, and of their columns.
const lookedPrefix = ast.OwnPrefix + "row"

// sides are those to which the columns of an expression belong, as bits.
type sides uint8

const (
	own       sides = 1 << iota // the query itself
	around                      // the one around it
	elsewhere                   // any other, or what a row alone does not tell
)

// lookupOf returns the look-up that a query is; nil if it is none.
func (a *applied) lookupOf(sel *ast.Select) *lookup {
	l := &lookup{conds: conjunction(sel.Where)}
	var ok bool
	if l.from, ok = sel.From.(*ast.Table); !ok || len(l.from.Columns) > 0 || sel.Distinct || len(sel.Groups) > 0 ||
		sel.Having != nil || len(sel.First) > 0 || !leavesFirst(sel.Limit) {
		return nil
	}
	ref := l.from.Ref.Resolved
	if l.table = a.resolved.model.Table(catalog.Name{Schema: ref.Schema, Name: ref.Name}); l.table == nil {
		return nil
	}
	for _, c := range l.conds {
		if a.sides(l, c)&elsewhere != 0 {
			return nil
		}
		inner, outer := a.tie(l, c)
		if column, ok := inner.(*ast.Column); ok && l.key == "" && l.table.Tells(column.Name) {
			l.key, l.tied = column.Name, outer
		}
	}
	if l.key == "" {
		return nil
	}
	return l
}

// leavesFirst reports whether LIMIT and OFFSET leave a row if there is one.
func leavesFirst(l *ast.Limit) bool { return l == nil || l.Rows > 0 && l.Skipped == 0 }

// tie returns an expression of the query and one of the row around, if a condition says that they are equal; else nil.
func (a *applied) tie(l *lookup, e ast.Expr) (inner, outer ast.Expr) {
	eq, ok := e.(*ast.Op)
	if !ok || eq.Name != "=" || eq.Left == nil {
		return nil, nil
	}
	for _, s := range [][2]ast.Expr{{eq.Left, eq.Right}, {eq.Right, eq.Left}} {
		if a.sides(l, s[0]) == own && a.sides(l, s[1]) == around {
			return s[0], s[1]
		}
	}
	return nil, nil
}

// side is that of a column, own or elsewhere, or 0 if the table has none of that name.
func (l *lookup) side(c *ast.Column) sides {
	there := slices.ContainsFunc(l.table.Columns, func(t policy.Column) bool { return t.Name == c.Name && !t.Hidden })
	named := c.Qualifier == l.from.Alias && (c.Schema == "" || c.Schema == l.table.Name.Schema && c.Qualifier == l.table.Name.Name)
	switch {
	case there && (named || c.Qualifier == ""):
		return own
	case named:
		return elsewhere
	}
	return 0
}

// sides are those of an expression.
func (a *applied) sides(l *lookup, e ast.Expr) (s sides) {
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Column:
		if s = l.side(e); s != 0 {
			return s
		}
		if f, err := a.frame.field(e); f != nil || err != nil {
			return around
		}
		return elsewhere
	case *ast.Exists, *ast.InQuery, *ast.ValueQuery, *ast.Quantified, *ast.Subquery, *ast.Aggregate, *ast.Window:
		return elsewhere
	}
	for _, o := range ast.Operands(e) {
		s |= a.sides(l, o)
	}
	return s
}

// look gives a look-up its alias, and returns the join with the table: one for all look-ups of the same row.
func (a *applied) look(l *lookup, at int) *ast.Join {
	if i := slices.IndexFunc(a.rows, l.same); i >= 0 {
		l.alias = a.rows[i].alias
		return nil
	}
	a.shared.looked++
	l.alias = lookedPrefix + strconv.Itoa(a.shared.looked)
	t := &ast.Table{Ref: l.from.Ref, Alias: l.alias, Only: l.from.Only}
	for _, c := range l.table.Columns {
		if !c.Hidden {
			t.Columns = append(t.Columns, l.field(c.Name))
		}
	}
	j := &ast.Join{Kind: ast.Left, Right: t, On: allOf(l.conds, l.renamed), At: at}
	for _, r := range joinRules {
		if kind, ok := r.apply(a, l); ok {
			j.Kind = kind
		}
	}
	a.rows = append(a.rows, l)
	return j
}

// same reports whether two look-ups are of the same row.
func (l *lookup) same(o *lookup) bool {
	return l.table == o.table && l.from.Alias == o.from.Alias && l.from.Only == o.from.Only && slices.EqualFunc(l.conds, o.conds, ast.Alike)
}

func (l *lookup) field(name string) string { return l.alias + "$" + name }

// renamed is an expression around the query.
func (l *lookup) renamed(e ast.Expr) ast.Expr {
	return ast.Replace(e, func(x ast.Expr) ast.Expr {
		if c, ok := x.(*ast.Column); ok && l.side(c) == own {
			return &ast.Column{Qualifier: l.alias, Name: l.field(c.Name), At: c.At}
		}
		return nil
	})
}

// there is the condition that there is a row.
func (l *lookup) there(at int) ast.Expr {
	return &ast.IsNull{X: &ast.Column{Qualifier: l.alias, Name: l.field(l.key), At: at}, Not: true, At: at}
}

// allOf is the condition that all are true, each as it is called elsewhere; nil if there is none.
func allOf(conds []ast.Expr, renamed func(ast.Expr) ast.Expr) ast.Expr {
	if len(conds) == 0 {
		return nil
	}
	out := &ast.Bool{Kind: ast.And, At: conds[0].Pos()}
	for _, c := range conds {
		out.Args = append(out.Args, renamed(c))
	}
	if len(out.Args) == 1 {
		return out.Args[0]
	}
	return out
}
