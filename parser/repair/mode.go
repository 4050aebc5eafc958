package repair

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// mode returns the call of mode() whose values are refused, and the expression that orders them.
func (r *refused) mode() (call, value *pg.Node) {
	for _, n := range nodesOf(r.SelectStmt, func(n *pg.Node) bool { return nameOf(n) == "mode" }) {
		if by := n.GetFuncCall().AggOrder; len(by) == 1 && r.at.isIn(by[0]) {
			call, value = n, by[0].GetSortBy().GetNode()
		}
	}
	return call, value
}

// modeToGroups shows the most frequent value as a group:
//
//	SELECT mode() WITHIN GROUP (ORDER BY x) FROM t
//	SELECT x, count(*) FROM t GROUP BY x ORDER BY count(*) DESC LIMIT 1
//
// It applies if mode() has no list of values to choose from. With GROUP BY, DISTINCT ON finds the value of each group. The other columns,
// HAVING and the client's order are lost.
func modeToGroups(r *refused) {
	call, value := r.mode()
	if call == nil || !slices.ContainsFunc(r.TargetList, r.at.isIn) {
		return
	}
	d, x := r.with(from, where), r.text(value)
	if filter := call.GetFuncCall().AggFilter; filter != nil {
		d.require(r.bracketed(filter))
	}
	keys := r.keys(r.SelectStmt)
	switch list := r.list(keys...); {
	case len(r.GroupClause) == 0:
		d.set(targets, x+", count(*)")
		d.set(groups, x)
		d.set(order, "count(*) DESC")
		d.set(limit, "LIMIT 1")
	case len(keys) == len(r.GroupClause):
		d.set(distinct, "DISTINCT ON ("+list+")")
		d.set(targets, list+", "+x+", count(*)")
		d.set(groups, list+", "+x)
		d.set(order, list+", count(*) DESC")
	default:
		return
	}
	r.ask(d.String())
}

// modeToMedian asks for the middle value in place of the most frequent one:
//
//	mode() WITHIN GROUP (ORDER BY x)
//	percentile_cont(0.5) WITHIN GROUP (ORDER BY x)
//
// It applies as modeToGroups does. The question changes, but the rest of the statement stays.
func modeToMedian(r *refused) {
	call, _ := r.mode()
	if call == nil || !slices.ContainsFunc(r.TargetList, r.at.isIn) {
		return
	}
	d := r.draft()
	d.put(r.head(call), "percentile_cont(0.5)")
	r.edit(d)
}

// called lists the calls at the place of the refusal.
func (r *refused) called(names ...string) []*pg.Node {
	is := func(n *pg.Node) bool {
		return n.GetFuncCall() != nil && r.at.is(n) && slices.Contains(names, nameOf(n))
	}
	return nodesOf(r.SelectStmt, is)
}

// contToDisc chooses a value that occurs, if no middle of two values can be computed, such as of dates:
//
//	percentile_cont(0.5) WITHIN GROUP (ORDER BY x)
//	percentile_disc(0.5) WITHIN GROUP (ORDER BY x)
func contToDisc(r *refused) {
	d := r.draft()
	for _, n := range r.called("percentile_cont") {
		d.put(r.callee(n), "percentile_disc")
	}
	r.edit(d)
}

// discToMode chooses the most frequent value, if the values have no order that a percentile needs:
//
//	percentile_disc(0.5) WITHIN GROUP (ORDER BY x)
//	mode() WITHIN GROUP (ORDER BY x)
func discToMode(r *refused) {
	d := r.draft()
	for _, n := range r.called("percentile_disc") {
		d.put(r.head(n), "mode()")
	}
	r.edit(d)
}

// intervalToSeconds computes with the seconds of intervals, and makes an interval of the result:
//
//	avg(x)
//	justify_hours(make_interval(secs => avg(extract(epoch FROM x))))
//
// It applies to a refused aggregate of one value. If that is no interval, the new statement is refused too.
func intervalToSeconds(r *refused) {
	d := r.draft()
	for _, n := range r.called("avg", "sum", "percentile_cont", "percentile_disc") {
		values := n.GetFuncCall().Args
		if within := n.GetFuncCall().AggOrder; len(within) > 0 {
			values = []*pg.Node{within[0].GetSortBy().GetNode()}
		}
		if len(values) == 1 {
			d.before(r.place(n), "justify_hours(make_interval(secs => ")
			d.before(r.place(values[0]), "extract(epoch FROM ")
			d.after(r.place(values[0]), ")")
			d.after(r.place(n), "))")
		}
	}
	r.edit(d)
}

// rowsToColumn counts a column in place of rows:
//
//	count(v.*), count(v)
//	count(v.id), count(v.id)
//
// It applies if the table has a column. The unit or a key comes first, since these are never NULL where there is a row.
func rowsToColumn(r *refused) {
	d := r.draft()
	for _, n := range nodesOf(r.SelectStmt, isCount) {
		f := n.GetFuncCall()
		if len(f.Args) != 1 || f.AggDistinct {
			continue
		}
		fields := f.Args[0].GetColumnRef().GetFields()
		if len(fields) == 0 {
			continue
		}
		alias := fields[0].GetString_().GetSval()
		star := len(fields) == 2 && pgtree.IsStar(f.Args[0])
		t, known := r.of(aliased(r.FromClause, alias))
		if column := t.valued(); known && column != "" && (star || len(fields) == 1 && !slices.Contains(t.Columns, alias)) {
			d.replace(f.Args[0], ident(alias)+"."+ident(column))
		}
	}
	r.edit(d)
}

// tuplesToText counts different rows of several columns by one text of them all:
//
//	count(DISTINCT (a, b))
//	count(DISTINCT coalesce(a as a quoted text) || ' |, ' || coalesce(b as a quoted text))
//
// Different rows have different texts, and no text is NULL. Equal numbers with different zeros at their ends count twice.
func tuplesToText(r *refused) {
	d := r.draft()
	for _, n := range nodesOf(r.SelectStmt, isCount) {
		f := n.GetFuncCall()
		if !f.AggDistinct || len(f.Args) != 1 || f.Args[0].GetRowExpr() == nil {
			continue
		}
		var parts []string
		for _, x := range f.Args[0].GetRowExpr().Args {
			parts = append(parts, "coalesce(replace(CAST("+r.text(x)+" AS text), '|', '||'), ' | ')")
		}
		d.replace(f.Args[0], strings.Join(parts, " || ' |, ' || "))
	}
	r.edit(d)
}
