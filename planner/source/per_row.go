package source

import (
	"strconv"

	"dpproxy/parser/ast"
)

// A perRow is a query that is evaluated for each row of a level. Its conditions are of two kinds: those that tie its rows to the row
// around, and those on its own rows. Its rows without the former are resolved and proved once, before a rule says what becomes of it.
type perRow struct {
	scope // of expressions over these rows
	query *ast.Select
	at    int
	// relation is what stands for the query in FROM of the level, and alias what it is called there.
	relation *relation
	alias    string
	ties     []tied
	rest     []ast.Expr
	// fields counts the columns that have names of our own.
	fields int
	// of is the query as the level has it, and value what stands for it in expressions.
	of, value ast.Expr
}

// A tied is an equality of an expression over the query with one over the row around. The query that is joined has a column of its name.
type tied struct {
	inner, outer ast.Expr
	name         string
}

// perRowPrefix begins the names of such queries, and of their columns.
const perRowPrefix = ast.OwnPrefix + "each"

// known is what stands for a query that is joined already; nil if it is not.
func (a *applied) known(of ast.Expr) ast.Expr {
	for _, q := range a.queries {
		if ast.Alike(q.of, of) {
			return q.value
		}
	}
	return nil
}

// perRow resolves a query; nil if anything but equalities ties its conditions to the row around.
func (a *applied) perRow(of ast.Expr, sel *ast.Select) *perRow {
	a.shared.perRow++
	q := &perRow{of: of, at: of.Pos(), alias: perRowPrefix + strconv.Itoa(a.shared.perRow)}
	var over []*ast.Expr
	q.query, over = ownSelect(sel)
	if q.relation, a.err = a.newRelation(q.alias, q.at); a.err != nil {
		return nil
	}
	if q.scope, a.err = a.shared.newLevel(a.resolved.place).resolveItems(q.query.From, over); a.err != nil {
		return nil
	}
	for _, c := range conjunction(q.query.Where) {
		inner, outer := q.tie(a.frame, c)
		switch {
		case inner != nil:
			q.ties = append(q.ties, tied{inner, outer, q.field()})
		case q.sides(a.frame, c)&around != 0:
			return nil
		default:
			q.rest = append(q.rest, c)
		}
	}
	if len(q.ties) == 0 {
		return nil
	}
	if q.scope, a.err = q.resolveConditions(q.query.From, allOf(q.rest, asIs)); a.err != nil {
		return nil
	}
	return q
}

// tie returns an expression over the query and one over the row around, if a condition says that they are equal; else nil.
func (q *perRow) tie(level frame, e ast.Expr) (inner, outer ast.Expr) {
	eq, ok := e.(*ast.Op)
	if !ok || eq.Name != "=" || eq.Left == nil {
		return nil, nil
	}
	switch left, right := q.sides(level, eq.Left), q.sides(level, eq.Right); {
	case left == own && right == around:
		return eq.Left, eq.Right
	case left == around && right == own:
		return eq.Right, eq.Left
	}
	return nil, nil
}

// sides are those to which the columns of an expression belong. A name is one of the query before it is one of the level around.
func (q *perRow) sides(level frame, e ast.Expr) (s sides) {
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *ast.Column:
		if f, err := q.frame.field(e); f != nil || err != nil {
			return own
		}
		if f, err := level.field(e); f != nil || err != nil {
			return around
		}
		return elsewhere
	case *ast.Exists, *ast.InQuery, *ast.ValueQuery, *ast.Subquery, *ast.Aggregate, *ast.Window:
		s = elsewhere
	}
	for _, o := range ast.Operands(e) {
		s |= q.sides(level, o)
	}
	return s
}

// field names another column of a query of all rows.
func (q *perRow) field() string {
	q.fields++
	return q.alias + "$" + strconv.Itoa(q.fields-1)
}

// column is a column of that name as the level around calls it.
func (q *perRow) column(name string) *ast.Column {
	return &ast.Column{Qualifier: q.alias, Name: name, At: q.at}
}

// add adds a column to a query of all rows.
func (q *perRow) add(to *ast.Select, x ast.Expr, name string) *ast.Column {
	to.Targets = append(to.Targets, ast.Target{X: x, Name: name, At: q.at})
	return q.column(name)
}

// grouped is the query of all rows in groups of the ties.
func (q *perRow) grouped() *ast.Select {
	out := &ast.Select{From: q.query.From, Tied: true, At: q.at} // its WHERE is resolved
	for _, t := range q.ties {
		out.Groups = append(out.Groups, t.inner)
		q.add(out, t.inner, t.name)
	}
	q.shared.begun[out] = q
	return out
}

func asIs(e ast.Expr) ast.Expr { return e }

// join joins the level with a query of all rows.
func (q *perRow) join(a *applied, all *ast.Select) *ast.Join {
	var on []ast.Expr
	for _, t := range q.ties {
		on = append(on, &ast.Op{Name: "=", Left: q.column(t.name), Right: t.outer, At: q.at})
	}
	a.queries = append(a.queries, q)
	return &ast.Join{Kind: ast.Left, Right: &ast.Derived{Query: all, Alias: q.alias, At: q.at}, On: allOf(on, asIs), At: q.at}
}
