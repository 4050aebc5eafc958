package parser

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
	"dpproxy/pgerr"
)

// A kind of the rows of a query; a larger one is more protected.
type kind uint8

const (
	public   kind = iota // nothing protected
	released             // results of release blocks
	rows                 // rows of protected tables
)

// A result of a query or a FROM clause.
type result struct {
	kind    kind
	columns []column
	known   bool // columns are all of them
	// at and table say where protected rows come from; at is -1 without them.
	at    int
	table string
	// reference says that they are of a reference table.
	reference bool
	// grouped says that the rows are groups of rows that belong together.
	grouped bool
	// blocks are those whose released rows the rows are made of.
	blocks []*candidate
	// chosen says that released values decide which rows there are, sorted that they decide in which order.
	chosen, sorted bool
}

// A candidate is a release block that was found.
type candidate struct {
	sel     *pg.SelectStmt
	scope   *scope
	groups  grouping
	outputs []string // names of the targets
	at      int      // of the first target, in the analysed text
	counts  []int    // where its rows are counted above, in the client's statement
	summed  bool     // a statistic of several of its rows is computed above
	present bool     // one to which a row without value is not as none
	fenced  bool     // its query has OFFSET 0 in the rewritten statement
}

// A level is a SELECT after its analysis.
type level struct {
	scope   *scope
	kind    kind
	result  result
	reason  string   // why it is no Subquery, or empty; only of a sub-select in an expression
	matcher *matcher // of a grouped SELECT below a block, once it was converted
}

// An analysis finds the release blocks of one statement.
type analysis struct {
	l         *locator
	cat       ast.Names
	levels    queries
	found     []*candidate
	bodies    []*pg.CommonTableExpr // CTEs whose queries read protected rows
	protected []ast.TableRef
	beside    []ast.TableRef        // other relations that the client wrote
	cteRefs   map[*pg.RangeVar]*cte // those that name a CTE
	views     []viewRef             // views that must be expanded before the analysis means anything
	expanded  []ast.TableRef        // those that were
	sorts     []sorting             // those with items whose NULLs are to stand last
	reads     map[string]bool       // whether the query of a view reads protected rows
	refusal   *pgerr.Error
	outputs   []column // of the statement, and values that it assigns
	// runs are the window functions that add up aggregates in an order of groups, and apart those that are used otherwise.
	runs  []running
	apart map[*pg.Node]bool
	// inside counts the enclosing parts of a block that are not executed on the
	// mirror. Their content is judged when the block is converted.
	inside int
	// changed is the protected table that the statement would change, which the analyst has no right to; nil if there is none.
	changed *ast.TableRef
	// unweighable is a call of dp.weight that is of no aggregate.
	unweighable *pg.FuncCall
	// bare is the first call that is of schema dp if search_path finds its bare name there, see [Statement.Bare].
	bare *pg.FuncCall
	// unknown are the places of released results that are not known yet.
	unknown []Span
	// items counts the items of FROM clauses; tables and nodes count converted ones.
	items, tables, nodes int
	// foreign says that FROM has a relation that is no table of the policy, or a function.
	foreign bool
	// modifies is set by INSERT, UPDATE, DELETE and MERGE.
	modifies bool
}

func newAnalysis(l *locator, cat ast.Names) *analysis {
	return &analysis{
		l: l, cat: cat, levels: queries{}, cteRefs: map[*pg.RangeVar]*cte{}, apart: map[*pg.Node]bool{},
	}
}

// offsetOf turns a location of the tree into an offset in the analysed text.
func (a *analysis) offsetOf(location int32) int { return int(location) - a.l.base }

// pos turns a location of the tree into an offset in the client's statement.
func (a *analysis) pos(location int32) int { return a.l.client(max(a.offsetOf(location), 0)) }

// refuse notes the first reason to refuse the statement.
func (a *analysis) refuse(e *pgerr.Error) {
	if a.refusal == nil && a.inside == 0 {
		a.refusal = e
	}
}

func correlated(at int) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "a query over protected rows refers to a column of the query around it").At(at).
		WithHint("Compute the aggregate per group in a sub-select of its own (GROUP BY) and join with its result.")
}

func rowAccess(r result) *pgerr.Error {
	if r.grouped {
		return pgerr.New(pgerr.RowAccess, "one row per privacy unit of protected table %q cannot be read", r.table).At(r.at).
			WithHint("Aggregate these rows once more: SELECT avg(n) FROM (SELECT ... GROUP BY ...) t.")
	}
	if r.reference {
		return pgerr.New(pgerr.RowAccess, "rows of the reference table %q cannot be read", r.table).At(r.at).
			WithHint("Aggregate protected rows that refer to them, and join it by its whole key.")
	}
	return pgerr.New(pgerr.RowAccess, "rows of protected table %q cannot be read", r.table).At(r.at).
		WithHint("Ask for an aggregate: SELECT count(*) FROM %s.", r.table)
}

// misplaced refuses dp.weight around what is no aggregate of a block.
func (a *analysis) misplaced() *pgerr.Error {
	if len(a.found) == 0 || a.unweighable == nil {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "dp.weight is of an aggregate over protected rows, and of nothing else").
		At(a.pos(a.unweighable.Location)).WithHint(weighLikeThis)
}

// query finds the blocks of a SELECT whose level is s.
func (a *analysis) query(sel *pg.SelectStmt, outer *scope) result {
	s := newScope(outer, false)
	before := len(a.found)
	a.openCTEs(sel.WithClause, s)
	var r result
	switch {
	case sel.Op > pg.SetOperation_SETOP_NONE:
		r = a.setOperation(sel, s)
	case len(sel.ValuesLists) > 0:
		a.exprs(sel.ValuesLists, s)
		a.tail(sel, s)
		r = result{at: -1, columns: valuer{a, s}.listed(sel.ValuesLists)}
	default:
		r = a.plain(sel, s)
	}
	if r.kind == public && len(a.found) > before {
		r.kind = released
	}
	a.levels[sel] = &level{scope: s, kind: r.kind, result: r}
	return r
}

func (a *analysis) setOperation(sel *pg.SelectStmt, s *scope) result {
	l, r := a.query(sel.Larg, s), a.query(sel.Rarg, s)
	a.tail(sel, s)
	if (l.kind == rows) != (r.kind == rows) {
		side := l
		if r.kind == rows {
			side = r
		}
		a.refuse(pgerr.New(pgerr.RowAccess, "rows of protected table %q are combined with other rows in a set operation", side.table).
			At(side.at).WithHint("Aggregate each branch: SELECT count(*) FROM %s UNION ALL SELECT ...", side.table))
	}
	for i := range l.columns {
		l.columns[i].of = nil
		if i >= len(r.columns) || !named(a.cat, l.columns[i].origins) || !named(a.cat, r.columns[i].origins) {
			l.columns[i].origins = nil
		}
		l.columns[i].lacking = l.columns[i].lacking || i < len(r.columns) && r.columns[i].lacking
		if i < len(r.columns) {
			l.columns[i].value = l.columns[i].value.or(r.columns[i].value)
		}
	}
	sorter{a}.noteOrder(sel, s, l.columns, l.known)
	l.kind, l.blocks = max(l.kind, r.kind), either(l.blocks, r.blocks)
	l.chosen, l.sorted = l.chosen || r.chosen, false
	if sel.Op != pg.SetOperation_SETOP_UNION {
		l.chosen = l.chosen || slices.ContainsFunc(l.columns, column.measured)
	}
	return valuer{a, s}.shown(sel, l)
}

// tail walks ORDER BY and LIMIT of a set operation or VALUES, where columns
// are output columns.
func (a *analysis) tail(sel *pg.SelectStmt, s *scope) {
	for _, n := range sel.SortClause {
		if _, bare := pgtree.ColumnName(n.GetSortBy().GetNode()); !bare {
			a.expr(n, s)
		}
	}
	a.limits(sel, s)
}

func (a *analysis) limits(sel *pg.SelectStmt, s *scope) {
	pgtree.Visit(sel.LimitOffset, func(n *pg.Node) { a.expr(n, s) })
	pgtree.Visit(sel.LimitCount, func(n *pg.Node) { a.expr(n, s) })
}

// plain analyses a SELECT that is no set operation.
func (a *analysis) plain(sel *pg.SelectStmt, s *scope) result {
	from := a.fromClause(sel.FromClause, s)
	outputs := outputNames(sel)
	if from.kind != rows {
		a.exprs([]*pg.Node{sel.WhereClause}, s)
		groupClause{a, sel, s}.analyse(outputs)
		a.above(sel, s, outputs)
		s.windows, s.chosen = sel.WindowClause, valuer{a, s}.chooses(sel, from)
		from.columns, from.known = a.columns(sel, s)
		sorter{a}.noteOrder(sel, s, from.columns, from.known)
		from.blocks = tallier{valuer{a, s}, from.blocks}.uncounted(sel)
		runner{valuer: valuer{a, s}}.note(sel)
		return valuer{a, s}.shown(sel, from)
	}
	if len(sel.TargetList) > maxColumns || len(sel.GroupClause) > maxColumns || len(sel.SortClause) > maxColumns {
		a.refusal = pgerr.New(pgerr.StatementTooComplex, "a query over protected rows has more than %d expressions", maxColumns).
			At(from.at).WithHint("Split the statement.")
		return from
	}
	clause := groupClause{a, sel, s}
	groups, err := clause.grouping()
	if err != nil {
		a.refuse(err)
	}
	if groups.by && !clause.together(groups) {
		return a.block(sel, s, groups, outputs)
	}
	a.inside++
	a.exprs([]*pg.Node{sel.WhereClause}, s)
	a.exprs(groups.exprs, s)
	a.above(sel, s, outputs)
	a.inside--
	from.grouped = groups.by
	from.columns, from.known = a.columns(sel, s)
	return from
}

// block notes a release block. Its FROM, WHERE, GROUP BY and the arguments of
// its aggregates leave the statement; everything else stays and is looked through.
func (a *analysis) block(sel *pg.SelectStmt, s *scope, groups grouping, outputs []string) result {
	s.block = true
	a.inside++
	a.exprs([]*pg.Node{sel.WhereClause}, s)
	a.exprs(groups.exprs, s)
	a.inside--
	a.above(sel, s, outputs, groups.exprs...)
	s.windows, s.chosen = sel.WindowClause, valuer{a, s}.any(sel.HavingClause)
	columns, known := a.columns(sel, s)
	sorter{a}.noteOrder(sel, s, columns, known)
	r := result{kind: released, columns: columns, known: known, at: -1}
	if a.inside > 0 {
		return r
	}
	if s.escape >= 0 {
		a.refuse(correlated(s.escape))
	}
	if len(sel.TargetList) == 0 {
		a.refuse(pgerr.New(pgerr.FeatureNotSupported, "a SELECT over protected rows needs at least one column"))
		return r
	}
	if len(sel.LockingClause) > 0 {
		a.refuse(pgerr.New(pgerr.FeatureNotSupported, "rows of a protected table cannot be locked").
			WithHint("Remove FOR UPDATE or FOR SHARE."))
	}
	c := &candidate{
		sel: sel, scope: s, groups: groups, outputs: outputs,
		at: a.offsetOf(sel.TargetList[0].GetResTarget().GetLocation()),
	}
	a.found = append(a.found, c)
	r.blocks = tallier{valuer{a, s}, []*candidate{c}}.uncounted(sel)
	runner{valuer: valuer{a, s}}.note(sel)
	return valuer{a, s}.shown(sel, r)
}

// above walks the expressions that are evaluated above grouping. A bare name in ORDER BY and
// DISTINCT ON is an output column first. A sub-select that is grouped by is evaluated below.
func (a *analysis) above(sel *pg.SelectStmt, s *scope, outputs []string, groups ...*pg.Node) {
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if s.block && pgtree.IsStar(t.GetVal()) {
			a.refuse(pgerr.New(pgerr.NotAllowed, "* cannot be used where protected rows are grouped or aggregated").
				At(a.pos(t.Location)).WithHint("Name the grouping columns."))
		}
		if !slices.Contains(groups, t.GetVal()) || !pgtree.Holds(isSubLink, t.GetVal()) {
			a.exprs([]*pg.Node{t.GetVal()}, s)
		}
	}
	a.exprs([]*pg.Node{sel.HavingClause}, s)
	for _, n := range slices.Concat(sel.SortClause, sel.DistinctClause) {
		if isOutput(n, outputs) {
			continue
		}
		a.exprs([]*pg.Node{n}, s)
	}
	a.exprs(sel.WindowClause, s)
	a.limits(sel, s)
}

// isOutput reports whether an item of ORDER BY or DISTINCT ON names an output column.
func isOutput(n *pg.Node, outputs []string) bool {
	if by := n.GetSortBy(); by != nil {
		n = by.Node
	}
	name, bare := pgtree.ColumnName(n)
	return bare && slices.Contains(outputs, name)
}

func outputNames(sel *pg.SelectStmt) []string {
	names := make([]string, 0, len(sel.TargetList))
	for _, n := range sel.TargetList {
		if t := n.GetResTarget(); t != nil && !pgtree.IsStar(t.Val) {
			name, _ := pgtree.OutputName(t)
			names = append(names, name)
		}
	}
	return names
}

func (a *analysis) exprs(list []*pg.Node, s *scope) {
	pgtree.VisitAll(list, func(n *pg.Node) { a.expr(n, s) })
}

// expr looks for sub-selects and for references that leave their query.
func (a *analysis) expr(n *pg.Node, s *scope) {
	switch x := n.Node.(type) {
	case *pg.Node_ColumnRef:
		a.reference(x.ColumnRef)
		s.refer(x.ColumnRef, a.pos(x.ColumnRef.Location))
	case *pg.Node_SubLink:
		pgtree.Visit(x.SubLink.Testexpr, func(n *pg.Node) { a.expr(n, s) })
		a.subquery(x.SubLink.Subselect.GetSelectStmt(), s)
	case *pg.Node_SelectStmt:
		a.subquery(x.SelectStmt, s)
	default:
		sorter{a}.noteOrders(n, s)
		if f := n.GetFuncCall(); f != nil && pgtree.CallsWeight(f) && !pgtree.IsAggregate(n) && a.inside == 0 && a.unweighable == nil {
			a.unweighable = f
		}
		if s.block && pgtree.IsAggregate(n) {
			a.inside++
			defer func() { a.inside-- }()
		}
		pgtree.Children(n, func(n *pg.Node) { a.expr(n, s) })
		if refused := (valuer{a, s}).report(n); refused != nil {
			a.refuse(refused)
		}
	}
}

// subquery analyses a sub-select in an expression.
func (a *analysis) subquery(sel *pg.SelectStmt, s *scope) {
	if sel == nil {
		return
	}
	level := newScope(s, false)
	before := len(a.protected)
	r := a.query(sel, level)
	switch {
	case len(a.protected) > before:
		a.levels[sel].reason = "that reads protected rows"
	case level.escape >= 0:
		a.levels[sel].reason = "that refers to the query around it"
	case level.foreign:
		a.levels[sel].reason = "that reads a WITH query of the query around it"
	}
	switch {
	case r.kind == rows:
		a.refuse(rowAccess(r))
	case s.block && level.escape >= 0:
		a.refuse(correlated(level.escape))
	}
}

// columns returns the output columns of a SELECT.
func (a *analysis) columns(sel *pg.SelectStmt, s *scope) (out []column, known bool) {
	known = true
	for _, n := range sel.TargetList {
		t := n.GetResTarget()
		if t == nil {
			return out, false
		}
		if !pgtree.IsStar(t.Val) {
			name, ok := pgtree.OutputName(t)
			out = append(out, column{
				name: name, titled: pgtree.Titles(t), origins: s.origins(t.Val),
				lacking: s.lacks(t.Val), value: valuer{a, s}.of(t.Val), of: s.keyOf(t.Val),
			})
			known = known && ok
			continue
		}
		names, _ := pgtree.Strings(t.Val.GetColumnRef().GetFields())
		for i, it := range s.items {
			if len(names) > 0 && s.named("", names[len(names)-1]) != i {
				continue
			}
			room := max(maxColumns-len(out), 0)
			out = append(out, it.columns[:min(len(it.columns), room)]...)
			if it.unsure {
				out = append(out, column{name: "*", value: value{further: true}})
			}
			known = known && it.known && !it.unsure && len(it.columns) <= room
		}
		known = known && t.Val.GetColumnRef() != nil
	}
	return out, known
}
