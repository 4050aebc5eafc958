package repair

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/pgtree"
)

// existsToAggregate asks by an aggregate whether there is a row:
//
//	SELECT EXISTS (SELECT 1 FROM t WHERE c)
//	SELECT bool_or(c) FROM t
//
// It applies to EXISTS in a SELECT list. Without a condition the aggregate is count(*) > 0. Among other expressions it is a sub-select.
// Nothing is lost.
func existsToAggregate(r *refused) {
	d := r.draft()
	for _, link := range find(func(n *pg.Node) bool { return existing(n) != nil }, r.TargetList...) {
		query := r.located(existing(link))
		if query == nil || len(query.FromClause) == 0 || !query.isPlain() {
			return
		}
		value := "count(*) > 0"
		if query.WhereClause != nil {
			value = "bool_or(" + query.clause(where) + ")"
		}
		if len(r.FromClause) == 0 && len(r.TargetList) == 1 && existing(valueOf(r.TargetList[0])) != nil {
			d.replace(link, value)
			d.set(from, query.clause(from))
			break
		}
		one := query.with(from)
		one.set(targets, value)
		d.replace(link, "("+one.String()+")")
	}
	r.edit(d)
}

// existsToJoin joins the rows that EXISTS looks for:
//
//	SELECT count(*) FROM t WHERE EXISTS (SELECT ... FROM u WHERE c)
//	SELECT count(DISTINCT t.id) FROM t JOIN u ON c
//
// It applies if t has a key. Other aggregates than count(*) see a row as often as it has matches.
func existsToJoin(r *refused) {
	v, alias := tableOf(r.FromClause)
	table, _ := r.of(v)
	key := table.key()
	for _, c := range pgtree.Conjuncts(r.WhereClause) {
		query := r.located(existing(c))
		if query == nil || query.WhereClause == nil || len(query.FromClause) != 1 || !query.isPlain() || key == "" {
			continue
		}
		d := r.with(from, where, groups)
		for _, n := range find(isCountOfRows, slices.Concat(r.TargetList, r.GroupClause)...) {
			d.put(r.head(n), "count(DISTINCT "+ident(alias)+"."+ident(key)+")")
		}
		d.append(from, " JOIN "+query.clause(from)+" ON "+query.clause(where))
		d.without(c)
		r.ask(d.String())
	}
}

// isPlain reports whether EXISTS finds a row of a query if its conditions do.
func (q *query) isPlain() bool {
	n, known := pgtree.Position(q.LimitCount)
	return len(q.GroupClause) == 0 && q.HavingClause == nil && q.LimitOffset == nil && (q.LimitCount == nil || known && n > 0)
}

// key returns a column that has a different value in each row, or one that is called id.
func (t Table) key() string {
	switch {
	case len(t.Keys) > 0:
		return t.Keys[0]
	case slices.Contains(t.Columns, "id"):
		return "id"
	}
	return ""
}

func isCount(n *pg.Node) bool { return nameOf(n) == "count" }

// isCountOfRows reports count(*).
func isCountOfRows(n *pg.Node) bool { return isCount(n) && n.GetFuncCall().AggStar }

// divisionToCount counts the units that have all items of a public list:
//
//	... WHERE NOT EXISTS (SELECT ... FROM l WHERE NOT EXISTS (SELECT ... FROM t WHERE t.unit = p.id AND t.item = l.item))
//	SELECT count(*) FROM (SELECT t.unit FROM t WHERE t.item IN (SELECT l.item FROM l) GROUP BY t.unit
//	HAVING count(DISTINCT t.item) = (SELECT count(*) FROM l)) AS complete
//
// It applies if WHERE asks for nothing else. The columns of the units are lost.
func divisionToCount(r *refused) {
	list := r.located(notExisting(r.WhereClause))
	if list == nil {
		return
	}
	var rows *query
	public := list.with(from, where)
	for _, c := range pgtree.Conjuncts(list.WhereClause) {
		if inner := notExisting(c); inner != nil {
			rows = r.located(inner)
			public.without(c)
		}
	}
	if rows == nil {
		return
	}
	_, of := tableOf(list.FromClause)
	_, alias := tableOf(rows.FromClause)
	keys, item := map[bool]string{}, ""
	for _, c := range pgtree.Conjuncts(rows.WhereClause) {
		ours, theirs, ok := equality(c)
		if !ok {
			return
		}
		if ofTable(alias, theirs) {
			ours, theirs = theirs, ours
		}
		keys[ofTable(of, theirs)] = r.text(ours)
		if ofTable(of, theirs) {
			item = r.text(theirs)
		}
	}
	if len(keys) != 2 {
		return
	}
	public.set(targets, item)
	items := public.String()
	public.set(targets, "count(*)")
	units := rows.with(from)
	units.set(targets, keys[false])
	units.set(where, keys[true]+" IN ("+items+")")
	units.set(groups, keys[false])
	units.set(having, "count(DISTINCT "+keys[true]+") = ("+public.String()+")")
	r.ask("SELECT count(*) FROM (" + units.String() + ") AS complete")
}
