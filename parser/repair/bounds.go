package repair

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// suggestedEpsilon bounds the price of suggested bounds. The statement shows it, so that its reader sees that bounds cost.
const suggestedEpsilon, spending = "0.1", ", epsilon => "

// An unbounded is a refused expression without bounds.
type unbounded struct {
	level *pg.SelectStmt // whose it is
	ref   *pg.Node       // its first column
	own   *ownColumn     // the column of a table with which it computes, nil if there is none
}

// unbounded returns the refused expression if it lacks bounds: the innermost one that has a column. An expression of a column with bounds
// is refused for another reason.
func (r *refused) unbounded() (u unbounded, ok bool) {
	if call, _ := r.mode(); call != nil {
		return u, false
	}
	for _, level := range r.at.levelsAt(r.SelectStmt) {
		refs := columnsOf(r.at.nodeAt(level))
		known := false
		for _, ref := range refs {
			switch own := r.ownColumn(level, ref, 0); {
			case own == nil:
			case own.typ == "" || own.unknown:
				return unbounded{level, ref, own}, true
			default:
				known = true
			}
		}
		if len(refs) > 0 {
			return unbounded{level, refs[0], nil}, !known
		}
	}
	return u, false
}

// parentBounds takes the values of a column from the public table that it refers to, whose bounds are public:
//
//	SELECT max(h) FROM v
//	SELECT max(hospitals.id) FROM v JOIN hospitals ON hospitals.id = v.h
//
// It applies to a query of one table, if each value of the column is a key of the public table. Nothing is lost.
func parentBounds(r *refused) {
	u, ok := r.unbounded()
	table, alias := tableOf(r.FromClause)
	if !ok || u.own == nil || u.level != r.SelectStmt || table == nil || !sameTable(table, u.own.table) ||
		len(nodesOf(r.SelectStmt, isSubLink)) > 0 {
		return
	}
	t, _ := r.of(table)
	parent := t.Parents[u.own.column]
	to, known := r.Table(parent.Schema, parent.Table)
	if !known || to.Protected || to.View || !slices.Contains(to.Keys, parent.Column) || parent.Table == alias {
		return
	}
	d, own, key := r.draft(), ident(alias)+".", ident(parent.Table)+"."+ident(parent.Column)
	for _, n := range nodesOf(r.SelectStmt, isColumn) {
		switch name := columnOf(n); {
		case name == u.own.column:
			d.replace(n, key)
		case slices.Contains(t.Columns, name):
			d.edits = append(d.edits, r.qualified(ident(alias), n)...)
		}
	}
	joined := ident(parent.Table)
	if table.Schemaname != "" {
		joined = ident(parent.Schema) + "." + joined
	}
	d.append(from, " JOIN "+joined+" ON "+key+" = "+own+ident(u.own.column))
	r.edit(d)
}

func sameTable(x, y *pg.RangeVar) bool { return x.Relname == y.Relname && x.Schemaname == y.Schemaname }

// suggestBounds asks for the bounds of a column first, and uses them in the last statement:
//
//	SELECT max(x) FROM t
//	CREATE TEMP TABLE t_x_bounds AS SELECT ... FROM dp.suggest_bounds('t.x'); SELECT max(x within these bounds) FROM t
//
// It applies if the policy has no bounds of a column with which the refused expression computes. Anybody can look up the bounds of a public
// column. Values beyond the bounds are lost. The rule invents no bounds: an answer with invented bounds is about other values.
func suggestBounds(r *refused) {
	u, ok := r.unbounded()
	if !ok || u.own == nil {
		return
	}
	all := []*ownColumn{u.own}
	for _, n := range find(needsBounds, append(slices.Clone(u.level.TargetList), u.level.HavingClause)...) {
		for _, ref := range columnsOf(n) { // which would be refused next
			if own := r.ownColumn(u.level, ref, 0); own != nil && own.unknown {
				all = append(all, own)
			}
		}
	}
	before, more := "", bought{map[string]string{}, map[string]bool{}}
	var edits []edit
	for _, own := range all {
		if suggestion := r.suggestion(own); !strings.Contains(before, suggestion) {
			before += suggestion
		}
		more.made[own.end("lower")], more.made[own.end("upper")] = own.example(0), own.example(1)
		more.bounded[own.key()] = own.typ != ""
		edits = append(edits, r.clamps(own)...)
	}
	if edits != nil {
		r.addAfter(before, more, r.edited(r.all(), edits...))
	}
}

// needsBounds reports whether an expression is an aggregate whose values must have bounds. The values of a sum or an average need none.
func needsBounds(n *pg.Node) bool {
	return pgtree.IsAggregate(n) &&
		!slices.Contains([]string{"count", "sum", "avg", "mode", "bool_and", "bool_or", "every"}, nameOf(n))
}

// keep returns the name of the table that has the suggested bounds.
func (c *ownColumn) keep() string { return ident(c.table.Relname + "_" + c.column + "_bounds") }

// end reads a suggested bound.
func (c *ownColumn) end(name string) string { return "(SELECT " + name + " FROM " + c.keep() + ")" }

// example is a constant of the type of the bounds, no longer than what reads one of them.
func (c *ownColumn) example(i int) string {
	switch c.typ {
	case "date":
		return "date'20" + strconv.Itoa(i+1) + "0-01-01'"
	case "timestamp without time zone":
		return "timestamp'20" + strconv.Itoa(i+1) + "0-01-01'"
	case "timestamp with time zone":
		return "timestamptz'20" + strconv.Itoa(i+1) + "0-01-01'"
	}
	return "('" + strconv.Itoa(100*i) + "'::" + c.typ + ")"
}

// suggestion returns the statement that makes this table, with a semicolon.
func (r *refused) suggestion(c *ownColumn) string {
	if c.typ == "" {
		return ""
	}
	name := ident(c.table.Relname) + "." + ident(c.column)
	if c.table.Schemaname != "" {
		name = ident(c.table.Schemaname) + "." + name
	}
	return "CREATE TEMP TABLE IF NOT EXISTS " + c.keep() + " AS SELECT lower::" + c.typ + ", upper::" + c.typ +
		" FROM dp.suggest_bounds(" + ast.Quote(name) + spending + suggestedEpsilon + "); "
}

// clamps are the edits that bound a column wherever its SELECT computes with it.
func (r *refused) clamps(c *ownColumn) (edits []edit) {
	lower, upper := c.end("lower"), c.end("upper")
	if c.typ == "" {
		of, column := ident(c.table.Relname), ident(c.column)
		if c.table.Schemaname != "" {
			of = ident(c.table.Schemaname) + "." + of
		}
		lower, upper = "(SELECT min("+column+") FROM "+of+")", "(SELECT max("+column+") FROM "+of+")"
	}
	for _, n := range r.computing(c.level) {
		plain := n
		if t := n.GetResTarget(); t != nil {
			plain = t.Val
		} else if s := n.GetSortBy(); s != nil {
			plain = s.Node
		}
		for _, ref := range find(isColumn, n) {
			if ref != plain && slices.Equal(columnPath(ref), c.path) {
				edits = append(edits, r.instead(ref, ast.Clamp(r.text(ref), lower, upper)))
			}
		}
	}
	return edits
}

// computing lists the expressions of a SELECT in which values are computed with; of its conditions, the refused one.
func (r *refused) computing(sel *pg.SelectStmt) []*pg.Node {
	list := slices.Concat(sel.TargetList, sel.GroupClause, sel.SortClause, []*pg.Node{sel.HavingClause})
	for _, n := range pgtree.Conjuncts(sel.WhereClause) {
		if r.at.isIn(n) {
			list = append(list, n)
		}
	}
	return list
}

// magnitudes counts the values of each order of magnitude:
//
//	SELECT max(n) FROM t
//	SELECT CASE WHEN n < 0 THEN 'below 0' ... END AS range, count(*) FROM t GROUP BY 1
//
// It applies to computed values without groups, since no bounds of these can be suggested. The value itself is lost.
func magnitudes(r *refused) {
	const most = 6 // digits
	u, ok := r.unbounded()
	if !ok || u.own != nil || u.level != r.SelectStmt || len(r.FromClause) == 0 || len(r.GroupClause) > 0 {
		return
	}
	value := r.text(u.ref)
	var choice strings.Builder
	choice.WriteString("CASE WHEN " + value + " < 0 THEN 'below 0'")
	for digits, end := 0, 1; digits < most; digits++ {
		end *= 10
		choice.WriteString(" WHEN " + value + " < " + strconv.Itoa(end) + " THEN 'below " + strconv.Itoa(end) + "'")
	}
	d := r.with(from, where)
	d.set(targets, choice.String()+" ELSE 'more' END AS range, count(*)")
	d.set(groups, "1")
	r.ask(d.String())
}

// unmodified matches the lengths and scales in the name of a type, since bounds are powers of two.
var unmodified = regexp.MustCompile(`\([0-9, ]*\)`)
