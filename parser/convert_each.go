package parser

import (
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A query that runs for each row around it, as LATERAL or as a value, and that is tied to the row by equalities of which one is of
// units, is a sub-select of all rows instead, which is joined: of groups of what it compares, or of the first rows of each.
//
//	FROM patients p WHERE p.weight > (SELECT avg(w.cost) FROM visits w WHERE w.patient_id = p.id)
//
//	FROM patients p LEFT JOIN (SELECT w.patient_id, avg(w.cost) AS a FROM visits w GROUP BY w.patient_id) AS x ON x.patient_id = p.id
//	WHERE p.weight > x.a

// An each has what stands for such queries of a level.
type each struct {
	scope *scope
	// exists says that it is the level of an EXISTS, which may be joined with the one around it.
	exists bool
	// open says that FROM is converted: what is joined with it can be named.
	open  bool
	joins []*ast.Join
	// nullable says that an outer join puts NULLs in the place of what is converted.
	nullable bool
	// around converts columns of the query around the level, of one whose value that query has; else nil.
	around *exprConverter
	// columns are those of LATERAL that are computed around it, by its place among the items of FROM and their names.
	columns map[int]map[string]func() ast.Expr
}

// joined returns FROM of the level with what is joined.
func (e *each) joined(from ast.From) ast.From {
	for _, j := range e.joins {
		j.Left = from
		from = j
	}
	return from
}

// computed returns what a column of LATERAL stands for, nil of any other column.
func (e *each) computed(ref *pg.ColumnRef) ast.Expr {
	if e.columns == nil {
		return nil
	}
	it, c, ok := e.scope.own(ref)
	if !ok || e.columns[it][c.name] == nil {
		return nil
	}
	return e.columns[it][c.name]()
}

// qualifier is the table of a bare name of an EXISTS: where both levels have the name it is that of the EXISTS itself, and stays so if
// they are joined.
func (e *each) qualifier(ref *pg.ColumnRef) string {
	if !e.exists || e.scope.parent == nil || e.scope.parent.parent == nil {
		return ""
	}
	outer := e.scope.parent.parent
	it, c, ok := e.scope.own(ref)
	there, _, also := outer.own(ref)
	switch {
	case ok && outer.find(c.name).count > 0:
		return e.scope.items[it].name
	case !ok && also && e.scope.reach(ref) == around && e.scope.named("", outer.items[there].name) < 0:
		return outer.items[there].name
	}
	return ""
}

// side converts a side of a join, which may have NULLs in its place.
func (e *each) side(nullable bool, convert func(*pg.Node) ast.From, n *pg.Node) ast.From {
	before := e.nullable
	e.nullable = before || nullable
	defer func() { e.nullable = before }()
	return convert(n)
}

// lateral joins what stands for LATERAL with the items before it; nil if nothing does. A count of no rows is a zero that is computed
// around the join: an outer join would not put NULL in its place.
func (e *each) lateral(v *queryConverter, left ast.From, j *pg.JoinExpr) *ast.Join {
	s := j.Rarg.GetRangeSubselect()
	alias := s.GetAlias().GetAliasname()
	place := e.scope.named("", alias)
	if !s.GetLateral() || alias == "" || place < 0 || j.IsNatural || len(j.UsingClause) > 0 || j.Alias != nil ||
		j.Jointype != pg.JoinType_JOIN_INNER && j.Jointype != pg.JoinType_JOIN_LEFT {
		return nil
	}
	sel := s.Subquery.GetSelectStmt()
	c, ok := v.a.levels.correlation(sel, e.scope)
	if !ok {
		return nil
	}
	row := exprConverter{v, false}
	q := joinQuery(row, sel, c, selectLocation(sel))
	out := &ast.Join{Kind: ast.Inner, Left: left, At: q.at}
	if j.Jointype == pg.JoinType_JOIN_LEFT {
		out.Kind = ast.Left
	}
	names := columnNames(s.Alias.GetColnames())
	switch n, limited := pgtree.Position(sel.LimitCount); {
	case v.a.levels.oneGroup(sel, c.own) && !e.nullable && (j.Quals == nil || pgtree.IsTrue(j.Quals)): // each has its row
		out.Kind = ast.Left
		e.compute(place, sel, q.groups(sel, alias))
		names = nil
	case c.keyed && !ofKey(sel):
		return nil
	case !limited && sel.LimitCount == nil && v.a.levels.ownRows(sel, c.own):
		q.all(sel)
	case limited && n > 0 && v.a.levels.ownRows(sel, c.own):
		q.first(sel, n)
	default:
		return nil
	}
	out.Right = q.item(alias, names)
	on := q.conditions(alias)
	if j.Quals != nil && !pgtree.IsTrue(j.Quals) {
		on = append(on, row.expr(j.Quals))
	}
	out.On = allTrue(on...)
	return out
}

// ofKey reports whether rows that a key alone ties to each row can be joined: groups of it, or the first row of each.
func ofKey(sel *pg.SelectStmt) bool {
	if sel.LimitCount == nil {
		return len(sel.GroupClause) > 0
	}
	n, _ := pgtree.Position(sel.LimitCount)
	skipped, _ := skippedRows(sel)
	return n == 1 && skipped == 0 && len(sel.GroupClause) == 0 && sel.LimitOption != pg.LimitOption_LIMIT_OPTION_WITH_TIES
}

// compute notes the columns of LATERAL that are computed around it.
func (e *each) compute(place int, sel *pg.SelectStmt, of func(*pg.Node) ast.Expr) {
	if e.columns == nil {
		e.columns = map[int]map[string]func() ast.Expr{}
	}
	e.columns[place] = map[string]func() ast.Expr{}
	for i, t := range sel.TargetList {
		e.columns[place][e.scope.items[place].columns[i].name] = func() ast.Expr { return of(t.GetResTarget().GetVal()) }
	}
}

// A joinedQuery is the query of all rows that takes the place of one for each row.
type joinedQuery struct {
	*queryConverter // of the query

	around exprConverter // of expressions around it
	correlation
	name string // in those of its columns
	at   int
	out  *ast.Select
}

// joinQuery begins one around which a converter stands.
func joinQuery(v exprConverter, sel *pg.SelectStmt, c correlation, location int32) *joinedQuery {
	v.queries++
	level := v.a.levels[sel]
	q := &joinedQuery{around: v, correlation: c, name: ast.OwnPrefix + strconv.Itoa(v.queries), at: v.a.pos(location)}
	q.queryConverter = &queryConverter{conversion: v.conversion, level: level, depth: v.depth + 1, each: &each{scope: level.scope}}
	if q.depth > maxLevels {
		v.tooLarge(location)
	}
	return q
}

// item is the sub-select in FROM.
func (q *joinedQuery) item(alias string, names []string) ast.From {
	return &ast.Derived{Query: q.out, Alias: alias, Columns: names, At: q.at}
}

// field names a column of its own: those of ties have the first numbers.
func (q *joinedQuery) field(i int) string { return q.name + "$" + strconv.Itoa(i) }

func (q *joinedQuery) column(alias string, i int) ast.Expr {
	return &ast.Column{Qualifier: alias, Name: q.field(i), At: q.at}
}

// conditions are the ties of the sub-select of that alias.
func (q *joinedQuery) conditions(alias string) (list []ast.Expr) {
	for i, t := range q.ties {
		list = append(list, &ast.Op{Name: "=", Left: q.column(alias, i), Right: q.around.expr(t.outer), At: q.at})
	}
	return list
}

func allTrue(list ...ast.Expr) ast.Expr {
	if len(list) == 1 {
		return list[0]
	}
	return &ast.Bool{Kind: ast.And, Args: list, At: list[0].Pos()}
}

// inner are its own sides of the ties.
func (q *joinedQuery) inner() (list []ast.Expr) {
	for _, t := range q.ties {
		list = append(list, exprConverter{q.queryConverter, false}.expr(t.inner))
	}
	return list
}

// add adds columns of its own.
func (q *joinedQuery) add(from int, list ...ast.Expr) {
	for i, x := range list {
		q.out.Targets = append(q.out.Targets, ast.Target{X: x, Name: q.field(from + i), At: q.at})
	}
}

// groups groups its rows by the ties, and returns what makes an expression of aggregates: no rows are no group, whose counts are zero.
func (q *joinedQuery) groups(sel *pg.SelectStmt, alias string) (of func(*pg.Node) ast.Expr) {
	row := exprConverter{q.queryConverter, false}
	q.grouping(sel)
	columns := map[*pg.Node]int{}
	for _, t := range sel.TargetList {
		everyAggregate(t, func(n *pg.Node) {
			columns[n] = len(q.out.Targets)
			q.add(columns[n], row.aggregate(n))
		})
	}
	q.out.From = q.each.joined(q.out.From)
	return func(target *pg.Node) ast.Expr {
		v := *q.around.queryConverter
		v.aggregated = func(n *pg.Node) ast.Expr {
			x := q.column(alias, columns[n])
			if _, name := pgtree.Callee(n.GetFuncCall()); name == "count" || name == "regr_count" {
				return &ast.Func{Name: "coalesce", Args: []ast.Expr{x, q.number(0)}, At: q.at}
			}
			return x
		}
		return exprConverter{&v, false}.expr(target)
	}
}

// grouping groups its rows by the ties.
func (q *joinedQuery) grouping(sel *pg.SelectStmt) {
	q.out = &ast.Select{From: q.from(sel), Tied: true, At: q.at}
	if where := pgtree.AllOf(q.rest...); where != nil {
		q.out.Where = exprConverter{q.queryConverter, false}.expr(where)
	}
	q.out.Groups = q.inner()
	q.add(0, q.inner()...)
}

func (q *joinedQuery) number(n int) ast.Expr {
	return &ast.Const{Kind: ast.Integer, Text: strconv.Itoa(n), At: q.at}
}

// everyAggregate visits the aggregates of an expression.
func everyAggregate(n *pg.Node, visit func(*pg.Node)) {
	switch {
	case n.GetSelectStmt() != nil:
	case pgtree.IsAggregate(n):
		visit(n)
	default:
		pgtree.Children(n, func(n *pg.Node) { everyAggregate(n, visit) })
	}
}

// all has all rows, or groups, with the columns of the ties behind those of the client.
func (q *joinedQuery) all(sel *pg.SelectStmt) {
	q.out = q.query(&pg.SelectStmt{
		TargetList: sel.TargetList, DistinctClause: sel.DistinctClause, FromClause: sel.FromClause, WhereClause: pgtree.AllOf(q.rest...),
		GroupClause: sel.GroupClause, HavingClause: sel.HavingClause, GroupDistinct: sel.GroupDistinct,
	}, selectLocation(sel))
	q.out.Tied = true
	q.add(0, q.inner()...)
	if len(sel.GroupClause) > 0 {
		q.out.Groups = append(q.out.Groups, q.inner()...)
	}
}

// first has rows of each group of the ties, those that LIMIT and OFFSET number.
func (q *joinedQuery) first(sel *pg.SelectStmt, n int) {
	q.all(sel)
	sorts, ties := q.order(sel), q.inner
	if len(sel.GroupClause) > 0 {
		ties = q.grouped(sorts)
	}
	withTies := sel.LimitOption == pg.LimitOption_LIMIT_OPTION_WITH_TIES
	skipped, _ := skippedRows(sel)
	if n == 1 && !withTies && skipped == 0 {
		q.out.First = ties()
		for _, x := range ties() {
			q.out.Order = append(q.out.Order, ast.Sort{X: x})
		}
		q.out.Order = append(q.out.Order, sorts...)
		return
	}
	number := &ast.Window{Func: "row_number", Partition: ties(), Order: sorts, At: q.at}
	if withTies {
		number.Func = "rank"
	}
	place := len(q.ties)
	q.add(place, number)
	q.wrap()
	compared := func(operator string, n int) ast.Expr {
		return &ast.Op{Name: operator, Left: q.column(q.name, place), Right: q.number(n), At: q.at}
	}
	switch {
	case skipped == 0:
		q.out.Where = compared("<=", n)
	case n == 1:
		q.out.Where = compared("=", skipped+1)
	default:
		q.out.Where = allTrue(compared(">", skipped), compared("<=", skipped+n))
	}
}

// grouped has groups as rows, with what orders them among their columns, and returns their ties.
func (q *joinedQuery) grouped(sorts []ast.Sort) (ties func() []ast.Expr) {
	place := len(q.ties)
	for i := range sorts {
		q.add(place+i, sorts[i].X)
		sorts[i].X = q.column(q.name, place+i)
	}
	q.wrap()
	return func() (list []ast.Expr) {
		for i := range q.ties {
			list = append(list, q.column(q.name, i))
		}
		return list
	}
}

// wrap puts its rows into a sub-select, of which a star has the client's columns.
func (q *joinedQuery) wrap() {
	q.out = &ast.Select{From: q.item(q.name, nil), Targets: []ast.Target{{At: q.at}}, At: q.at}
	for i := range q.ties {
		q.add(i, q.column(q.name, i))
	}
}
