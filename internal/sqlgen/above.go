package sqlgen

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A Query is a statement that reads protected rows in release blocks alone, with much
// around them: it is over the database of [DenseDDL].
type Query struct {
	// Params are the values of $1, $2... as texts.
	Params []string
	// Ordered says that its rows come in one order.
	Ordered bool
	// Features name its parts.
	Features []string

	text string // with marks where the parameters are
}

// SQL returns the text with parameters.
func (q Query) SQL() string {
	return q.fill(func(i int) string { return "$" + strconv.Itoa(i+1) })
}

// Literal returns the text with the values of the parameters in their places.
func (q Query) Literal() string {
	return q.fill(func(i int) string { return quote(q.Params[i]) })
}

// mark brackets the number of a parameter in a text.
const mark = "\x01"

func (q Query) fill(param func(i int) string) string {
	parts := strings.Split(q.text, mark)
	for i := 1; i < len(parts); i += 2 {
		n, _ := strconv.Atoi(parts[i])
		parts[i] = param(n)
	}
	return strings.Join(parts, "")
}

// above writes the queries around blocks.
type above struct {
	dice
	params   []string
	features map[string]bool
	aliases  int
}

// A result is a SELECT with the columns that it has.
type result struct {
	sql  string
	cols scope
	// inner are columns that ORDER BY can name besides: keys and aggregates of a block.
	inner scope
}

func selecting(sql string, cols scope) result { return result{sql: sql, cols: cols} }

// Query makes a statement.
func (g *Generator) Query() Query {
	a := &above{dice: g.dice, features: map[string]bool{}}
	r := a.query(1 + g.r.IntN(3))
	q := Query{}
	if g.chance(70) {
		q.Ordered = true
		r.sql = a.ordered(r)
	}
	q.text, q.Params = a.renumber(a.disguise(r.sql))
	q.Features = slices.Sorted(maps.Keys(a.features))
	return q
}

// renumber leaves out the parameters that did not come into the text.
func (a *above) renumber(text string) (renumbered string, params []string) {
	parts, numbers := strings.Split(text, mark), map[string]int{}
	for i := 1; i < len(parts); i += 2 {
		n, known := numbers[parts[i]]
		if !known {
			n = len(params)
			old, _ := strconv.Atoi(parts[i])
			numbers[parts[i]], params = n, append(params, a.params[old])
		}
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, mark), params
}

// use notes a feature.
func (a *above) use(feature string) { a.features[feature] = true }

// alias returns a name that nothing else has.
func (a *above) alias() string {
	a.aliases++
	return fmt.Sprintf("q%d", a.aliases)
}

// param returns the mark of a new parameter.
func (a *above) param(value string) string {
	a.use("parameter")
	a.params = append(a.params, value)
	return fmt.Sprintf("%s%d%s", mark, len(a.params)-1, mark)
}

// order writes an order of all columns, so that only equal rows change places.
func (a *above) order(cols scope) string {
	var items []string
	for _, i := range a.r.Perm(len(cols)) {
		items = append(items, strconv.Itoa(i+1)+choose(a, "", " ASC", " DESC", " NULLS FIRST", " DESC NULLS LAST"))
	}
	return " ORDER BY " + strings.Join(items, ", ")
}

// ordered gives a query an order, and at times a limit.
func (a *above) ordered(r result) string {
	first := ""
	switch {
	case r.inner != nil && a.chance(50):
		a.use("ORDER BY aggregates")
		first = a.expr(r.inner, choose(a, integer, text, boolean), 2)
	case a.chance(20):
		a.use("ORDER BY expressions")
		r.sql, first = "SELECT * FROM ("+r.sql+") AS z", a.expr(r.cols.as("z"), choose(a, integer, text, boolean), 2)
	}
	sql := r.sql + a.order(r.cols)
	if first != "" && first != constant(integer) {
		sql = r.sql + " ORDER BY (" + first + "), " + strings.TrimPrefix(a.order(r.cols), " ORDER BY ")
	}
	switch a.r.IntN(8) {
	case 0:
		a.use("LIMIT")
		sql += " LIMIT " + choose(a, "3", "ALL", a.param("4"), "(1 + 1)") + choose(a, "", " OFFSET 1")
	case 1:
		a.use("FETCH FIRST")
		sql += " OFFSET 1 ROW FETCH FIRST 2 ROWS " + choose(a, "ONLY", "WITH TIES")
	}
	return sql
}

// query writes a SELECT of some depth.
func (a *above) query(depth int) result {
	if depth == 0 {
		if a.chance(20) {
			return a.public()
		}
		return a.block()
	}
	return choose(a, a.derived, a.derived, a.join, a.join, a.setOperation, a.regroup, a.windows, a.common, a.scalars,
		a.lateral, a.distinct, a.recursive, func(int) result { return a.block() })(depth - 1)
}

// relation writes a query as a relation of FROM, under an alias that its columns carry.
func (a *above) relation(r result) (sql string, cols scope) {
	alias := a.alias()
	if a.chance(25) {
		names := make([]string, len(r.cols))
		renamed := slices.Clone(r.cols)
		for i := range r.cols {
			names[i] = fmt.Sprintf("%s_%d", alias, i+1)
			renamed[i].name = names[i]
		}
		return fmt.Sprintf("(%s) AS %s (%s)", r.sql, alias, strings.Join(names, ", ")), renamed.as(alias)
	}
	return fmt.Sprintf("(%s) %s", r.sql, alias), r.cols.as(alias)
}

// selects writes targets over a scope; the columns are c1, c2...
func (a *above) selects(s scope) (list string, cols scope) {
	var items []string
	for i := range 1 + a.r.IntN(3) {
		k := choose(a, s...).kind
		items = append(items, a.expr(s, k, 2)+fmt.Sprintf(" AS c%d", i+1))
		cols = append(cols, column{name: fmt.Sprintf("c%d", i+1), kind: k})
	}
	return strings.Join(items, ", "), cols
}

func (a *above) where(s scope) string {
	if a.chance(40) {
		return " WHERE " + a.expr(s, boolean, 2)
	}
	return ""
}

func (a *above) derived(depth int) result {
	a.use("derived table")
	from, s := a.relation(a.query(depth))
	if a.chance(20) {
		a.use("star")
		return selecting("SELECT * FROM "+from+a.where(s), s.bare())
	}
	if a.chance(10) {
		a.use("whole row")
		alias, _, _ := strings.Cut(s[0].name, ".")
		return selecting("SELECT ("+alias+")::text AS c1, "+alias+" IS NULL AS c2 FROM "+from,
			scope{{name: "c1", kind: text}, {name: "c2", kind: boolean}})
	}
	list, cols := a.selects(s)
	return selecting("SELECT "+list+" FROM "+from+a.where(s), cols)
}

// bare returns the columns without the relation they are of.
func (s scope) bare() scope {
	all := slices.Clone(s)
	for i, c := range all {
		all[i].name = c.name[strings.LastIndex(c.name, ".")+1:]
	}
	return all
}

func (a *above) join(depth int) result {
	left, s1 := a.relation(a.query(depth))
	right, s2 := a.relation(a.query(0))
	if s1[0].kind == s2[0].kind && strings.HasSuffix(s1[0].name, ".c1") && strings.HasSuffix(s2[0].name, ".c1") {
		return a.using(left, right, slices.Concat(s1, s2))
	}
	kind := choose(a, "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", ",")
	a.use("join " + kind)
	both := slices.Concat(s1, s2)
	on := ""
	if strings.HasSuffix(kind, "JOIN") && kind != "CROSS JOIN" {
		c := choose(a, s1...)
		on = " ON " + c.name + " = " + a.expr(s2, c.kind, 0)
	}
	list, cols := a.selects(both)
	return selecting("SELECT "+list+" FROM "+left+" "+kind+" "+right+on+a.where(both), cols)
}

// using joins by the first column of both.
func (a *above) using(left, right string, both scope) result {
	join := choose(a, "JOIN", "LEFT JOIN", "FULL JOIN", "RIGHT OUTER JOIN")
	a.use(join + " USING")
	list, cols := a.selects(append(slices.Clip(both), column{name: "c1", kind: both[0].kind}))
	return selecting("SELECT "+list+" FROM "+left+" "+join+" "+right+" USING (c1)"+a.where(both), cols)
}

func (a *above) setOperation(depth int) result {
	op := choose(a, "UNION", "UNION ALL", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL")
	a.use(op)
	var kinds []kind
	for range 1 + a.r.IntN(3) {
		kinds = append(kinds, choose(a, integer, integer, text, decimal, boolean))
	}
	first := a.branch(depth, kinds)
	sql := first.sql + " " + op + " " + a.branch(0, kinds).sql
	return selecting(sql, first.cols)
}

// branch writes a branch of a set operation, with columns of some kinds.
func (a *above) branch(depth int, kinds []kind) result {
	from, s := a.relation(a.query(depth))
	var items []string
	var cols scope
	for i, k := range kinds {
		name := fmt.Sprintf("c%d", i+1)
		items = append(items, a.expr(s, k, 1)+" AS "+name)
		cols = append(cols, column{name: name, kind: k})
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + a.where(s)
	if a.chance(30) {
		return selecting("("+sql+a.order(cols)+" LIMIT 5)", cols)
	}
	return selecting(sql, cols)
}

func (a *above) common(depth int) result {
	a.use("WITH")
	name, q := a.alias(), a.query(depth)
	with := "WITH " + name + " AS " + choose(a, "", "MATERIALIZED ", "NOT MATERIALIZED ") + "(" + q.sql + ") "
	if a.chance(50) {
		list, cols := a.selects(q.cols.as(name))
		return selecting(with+"SELECT "+list+" FROM "+name+a.where(q.cols.as(name)), cols)
	}
	a.use("WITH, used twice")
	both := slices.Concat(q.cols.as("x"), q.cols.as("y"))
	list, cols := a.selects(both)
	c := choose(a, q.cols...)
	return selecting(with+"SELECT "+list+" FROM "+name+" x JOIN "+name+" AS y ON x."+c.name+" = y."+c.name, cols)
}

func (a *above) recursive(int) result {
	a.use("WITH RECURSIVE")
	name := a.alias()
	return selecting(
		"WITH RECURSIVE "+name+"(c1) AS (SELECT "+a.count()+" FROM people UNION ALL SELECT c1 - "+choose(a, "50", a.param("60")+"::int")+
			" FROM "+name+" WHERE c1 > 0) SELECT c1 FROM "+name,
		scope{{name: "c1", kind: integer}},
	)
}

func (a *above) distinct(depth int) result {
	from, s := a.relation(a.query(depth))
	list, cols := a.selects(s)
	if a.chance(50) {
		a.use("DISTINCT")
		return selecting("SELECT DISTINCT "+list+" FROM "+from, cols)
	}
	a.use("DISTINCT ON")
	rest := make([]string, len(cols))
	for i := range cols {
		rest[i] = strconv.Itoa(i + 1)
	}
	return selecting("SELECT * FROM (SELECT DISTINCT ON ("+cols[0].name+") "+list+" FROM "+from+" ORDER BY "+cols[0].name+", "+
		strings.Join(rest, ", ")+") "+a.alias(), cols)
}

func (a *above) lateral(depth int) result {
	a.use("LATERAL")
	from, s := a.relation(a.query(depth))
	c := choose(a, s...)
	switch a.r.IntN(3) {
	case 0:
		from += fmt.Sprintf(" CROSS JOIN LATERAL (SELECT %s AS l1, g FROM generate_series(1, 2) g) l", a.expr(s, c.kind, 1))
	case 1:
		from += fmt.Sprintf(" LEFT JOIN LATERAL (SELECT %s AS l1) l ON %s", a.expr(s, c.kind, 1), a.expr(s, boolean, 1))
	default:
		from += fmt.Sprintf(", LATERAL (VALUES (%s), (%s)) l(l1)", c.name, a.expr(s, c.kind, 1))
	}
	list, cols := a.selects(append(slices.Clip(s), column{name: "l.l1", kind: c.kind}))
	return selecting("SELECT "+list+" FROM "+from, cols)
}
