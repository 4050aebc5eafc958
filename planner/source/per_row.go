package source

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// A perRow is a query that is evaluated for each row of a level. Its conditions are of two kinds: those that tie its rows to the row
// around, and those on its own rows. Its rows without the former are resolved and proved once, before rules are tried.
type perRow struct {
	scope // of expressions over these rows
	query *ast.Select
	at    int
	// relation takes the place of the query in FROM of the level, by the name of alias.
	relation *relation
	alias    string
	ties     []tied
	// fields counts the columns that have names of our own.
	fields int
	// of is the query as the level has it, and value takes its place in expressions.
	of, value ast.Expr
}

// A tied is an equality of an expression over the query with one over the row around. The query that is joined has a column of its name.
type tied struct {
	inner, outer ast.Expr
	name         string
}

// perRowPrefix begins the names of such queries, and of their columns.
const perRowPrefix = ast.OwnPrefix + "each"

// known takes the place of a query that is joined already; nil if it is not.
func (a *applied) known(of ast.Expr) ast.Expr {
	for _, q := range a.queries {
		if ast.Alike(q.of, of) {
			return q.value
		}
	}
	return nil
}

// try returns the query of an expression, resolved once for all rules; nil if none of them takes it.
func (a *applied) try(of ast.Expr, sel *ast.Select, refusal *pgerr.Error) *perRow {
	if a.tried == nil || a.tried.of != of {
		q := a.perRow(sel, of.Pos(), refusal)
		if q == nil {
			return nil
		}
		q.of, a.tried = of, q
	}
	return a.tried
}

// perRow resolves a query, which is refused unless a rule takes it; nil if it has no protected rows, or if anything but equalities ties its
// conditions to the row around.
func (a *applied) perRow(sel *ast.Select, at int, refusal *pgerr.Error) *perRow {
	a.shared.perRow++
	q := &perRow{at: at, alias: perRowPrefix + strconv.Itoa(a.shared.perRow)}
	var over []*ast.Expr
	q.query, over = ownSelect(sel)
	if q.relation, a.err = a.newRelation(q.alias, at); a.err != nil {
		return nil
	}
	q.relation.refusal = refusal
	if q.scope, a.err = a.shared.newLevel(a.resolved.place).resolveFrom(q.query.From); a.err != nil || !q.tells(a.frame) {
		return nil
	}
	for i := range q.ties {
		over = append(over, &q.ties[i].inner)
	}
	if q.scope, a.err = joinApplied(q.scope, q.query.From, over); a.err != nil {
		return nil
	}
	if q.scope, a.err = q.resolveConditions(q.query.Where); a.err != nil {
		return nil
	}
	return q
}

// tells finds the ties of a query, and leaves the conditions on its own rows; false if any other condition is about the row around.
func (q *perRow) tells(level frame) bool {
	var rest []ast.Expr
	for _, c := range conjunction(q.query.Where) {
		inner, outer := q.tie(level, c)
		switch {
		case inner != nil:
			q.ties = append(q.ties, tied{inner, outer, q.field()})
		case q.sides(level, c)&(around|elsewhere) != 0:
			return false
		default:
			rest = append(rest, c)
		}
	}
	q.query.Where = allOf(rest, asIs)
	return len(q.ties) > 0 && holdsProtected(q.resolved.root)
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

// nested is the side of a query in an expression, or of an aggregate: a row alone does not tell its value.
const nested sides = 1 << 7

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
	case *ast.Exists, *ast.InQuery, *ast.ValueQuery, *ast.Quantified, *ast.Subquery, *ast.Aggregate, *ast.Window:
		s = nested
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
	q.begin(out)
	return out
}

// all is the query of all rows, or groups, with the columns of the ties behind those of the client.
func (q *perRow) all() *ast.Select {
	out := *q.query
	out.Where, out.Order, out.Limit, out.Tied = nil, nil, nil, true // its WHERE is resolved
	out.Targets, out.Groups = slices.Clone(q.query.Targets), slices.Clone(q.query.Groups)
	for _, t := range q.ties {
		q.add(&out, t.inner, t.name)
		if len(q.query.Groups) > 0 {
			out.Groups = append(out.Groups, t.inner)
		}
	}
	q.begin(&out)
	return &out
}

// ofOwnRows reports whether a query has rows of its own, or groups of them: those of each row around have the same targets and the same
// order.
func (q *perRow) ofOwnRows(level frame) bool {
	s := q.query
	list := slices.Concat(s.Groups, []ast.Expr{s.Having})
	grouped := len(s.Groups) > 0
	for _, t := range s.Targets {
		list = append(list, t.X)
		if !grouped && t.X != nil && holdsAggregate(t.X) {
			return false
		}
	}
	for _, o := range s.Order {
		list = append(list, o.X)
	}
	return len(s.First) == 0 && (grouped || s.Having == nil) &&
		!slices.ContainsFunc(list, func(e ast.Expr) bool { return e != nil && q.sides(level, e)&(around|elsewhere) != 0 })
}

// tiedColumns are the columns of the query that are tied as they are.
func (q *perRow) tiedColumns() (list []scalar.Expr) {
	for _, t := range q.ties {
		if c, ok := t.inner.(*ast.Column); ok {
			if found, err := q.frame.find(c); err == nil && found != nil {
				list = append(list, &scalar.Ref{Column: found, At: c.At})
			}
		}
	}
	return list
}

// ofOneUnit reports whether rows that agree in the ties are of one unit.
func (q *perRow) ofOneUnit() bool {
	keys := q.tiedColumns()
	return q.proved.tells(keys) || refersBy(q.proved.proof, keys, true) != nil
}

// tiedByUnit reports whether one of the ties is of the unit of the query's rows.
func (q *perRow) tiedByUnit() bool { return slices.ContainsFunc(q.tiedColumns(), q.proved.IsUnit) }

// begin notes a query of all rows, which are resolved.
func (q *perRow) begin(all *ast.Select) { q.shared.begin(all, q.scope) }

// begin notes a query whose rows are resolved.
func (b *shared) begin(sel *ast.Select, rows scope) {
	if b.begun == nil {
		b.begun, b.replacing = map[*ast.Select]scope{}, map[*ast.Select]*relation{}
	}
	b.begun[sel] = rows
}

func asIs(e ast.Expr) ast.Expr { return e }

// join joins the level with a query of all rows.
func (q *perRow) join(a *applied, all *ast.Select) *ast.Join {
	a.queries = append(a.queries, q)
	on := allOf(q.equalities(q.alias, all), asIs)
	return &ast.Join{Kind: ast.Left, Right: &ast.Derived{Query: all, Alias: q.alias, At: q.at}, On: on, At: q.at}
}

// separated refuses a query whose ties give several groups of their sides to a row around. The conditions of its join begin with them.
func (q *perRow) separated(n node) error {
	j, ok := n.(*joined)
	if !ok || len(j.on) < len(q.ties) {
		return q.relation.refusal
	}
	for _, c := range j.on[:len(q.ties)] {
		if !scalar.Separates(c.x) {
			return q.relation.refusal
		}
	}
	return nil
}

// equalities are the ties of a query of all rows of that alias, which takes the place of the query.
func (q *perRow) equalities(alias string, all *ast.Select) (on []ast.Expr) {
	q.shared.replacing[all] = q.relation
	for _, t := range q.ties {
		inner := &ast.Column{Qualifier: alias, Name: t.name, At: q.at}
		on = append(on, &ast.Op{Name: "=", Left: inner, Right: t.outer, At: q.at})
	}
	return on
}
