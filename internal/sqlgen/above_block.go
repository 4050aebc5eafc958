package sqlgen

import (
	"fmt"
	"slices"
	"strings"
)

// denseKeys are the keys that people are grouped by: each expression is the same for many rows of
// each combination.
var denseKeys = scope{
	{name: "sex", kind: text},
	{name: "region", kind: text},
	{name: `"Größe"`, kind: text},
	{name: "mood", kind: mood},
	{name: "smoker", kind: boolean},
	{name: "tier", kind: text},
	{name: "upper(region)", kind: text},
	{name: "CASE WHEN region = 'east' THEN 'e' ELSE 'other' END", kind: text},
}

// count writes a call of an integer aggregate over people.
func (a *above) count() string {
	return choose(a, "count(*)", "count(*)", "count( * )", "count(note)", "sum(n)", "sum ( n )", "count(*) FILTER (WHERE n > 0)",
		"pg_catalog.count(*)", "count(DISTINCT id)", "sum(n) FILTER (WHERE smoker OR NOT smoker)")
}

// rows writes FROM and WHERE of a block, and returns the keys that its rows can be grouped by.
func (a *above) rows() (with, from string, keys scope) {
	keys = denseKeys
	switch a.r.IntN(8) {
	case 0:
		from = "people JOIN places USING (place)"
		keys = append(slices.Clone(keys), column{name: "zone", kind: text})
	case 1:
		from = "places l JOIN people p ON p.place = l.place"
		keys = append(slices.Clone(keys), column{name: "l.zone", kind: text})
	case 2:
		from = choose(a, "people LEFT JOIN places l ON l.place = people.place AND l.place < 3",
			"places l RIGHT JOIN people p ON l.place = p.place AND l.label = 'Place 1'")
		keys = append(slices.Clone(keys), column{name: "l.zone", kind: text}, column{name: "l.label", kind: text},
			column{name: "coalesce(l.zone, 'none')", kind: text}, column{name: "l.best", kind: mood})
	case 3:
		from = "(SELECT * FROM people) AS p"
	case 4:
		with, from = "WITH w AS (SELECT * FROM people WHERE n > 0) ", "w"
	default:
		from = choose(a, "people", "people AS p", "public.people", "ONLY people")
	}
	// Only in the block itself does a condition on a key take its groups away.
	direct := with == "" && !strings.HasPrefix(from, "(")
	switch n := a.r.IntN(8); {
	case n == 0:
		from += " WHERE n >= " + a.param("0")
	case n == 1 && direct:
		from += " WHERE region <> " + a.param("east")
	case n == 2 && direct:
		from += " WHERE " + single + " AND n BETWEEN 0 AND 20"
	case n == 4:
		from += " WHERE 1 = " + a.param("0")
	case n == 3 && direct:
		from += " WHERE mood IN ('ok', 'happy')"
	}
	return with, from, keys
}

// block writes a release block, with much in its own targets and HAVING.
func (a *above) block() result {
	a.use("block")
	with, from, all := a.rows()
	var keys scope
	for range choose(a, 0, 1, 1, 2) {
		// Of two keys of one column not all pairs have rows.
		k := choose(a, all...)
		if !slices.ContainsFunc(keys, func(c column) bool {
			return c.name == k.name || strings.Contains(c.name, "region") && strings.Contains(k.name, "region")
		}) {
			keys = append(keys, k)
		}
	}
	s := slices.Clone(keys)
	for range 1 + a.r.IntN(3) {
		s = append(s, column{name: a.count(), kind: integer})
	}
	var items []string
	var cols scope
	add := func(x string, k kind) {
		name := fmt.Sprintf("c%d", len(cols)+1)
		items = append(items, x+choose(a, " AS ", " ")+name)
		cols = append(cols, column{name: name, kind: k})
	}
	for _, k := range keys {
		add(k.name, k.kind)
	}
	for range 1 + a.r.IntN(3) {
		k := choose(a, s...).kind
		add(a.expr(s, k, 2), k)
	}
	if len(keys) == 0 {
		add(a.count(), integer) // or it would be no block
	}
	if a.chance(25) {
		a.use("window over aggregates")
		add(a.window(s), integer)
	}
	sql := with + "SELECT " + choose(a, "", "", "", "ALL ", "DISTINCT ") + strings.Join(items, ", ") + " FROM " + from +
		a.grouped(keys, strings.Contains(from, single))
	inner := s
	if strings.HasPrefix(strings.TrimPrefix(sql, with), "SELECT DISTINCT") {
		a.use("DISTINCT block")
		inner = nil
	}
	if a.chance(25) {
		a.use("HAVING")
		sql += " HAVING " + a.expr(s, boolean, 2)
	}
	return result{sql, cols, inner}
}

// single leaves one value of a key. Postgres before 18 then takes the key for a constant,
// also in the rows of other grouping sets, where it is NULL: DISTINCT and ORDER BY above go
// wrong.
const single = "sex = 'f'"

// grouped writes GROUP BY by the first columns; plain is without grouping sets.
func (a *above) grouped(keys scope, plain bool) string {
	if len(keys) == 0 {
		return ""
	}
	var items []string
	for i, k := range keys {
		items = append(items, choose(a, k.name, fmt.Sprint(i+1), fmt.Sprintf("c%d", i+1)))
	}
	list := strings.Join(items, ", ")
	if a.chance(85) || plain {
		return " GROUP BY " + list
	}
	a.use("grouping sets in a block")
	return " GROUP BY " + choose(a, "ROLLUP ("+list+")", "CUBE ("+list+")", "GROUPING SETS (("+list+"), ())",
		"GROUPING SETS (("+list+"), "+items[0]+")")
}

// public writes a query of nothing protected.
func (a *above) public() result {
	a.use("public")
	return choose(a,
		selecting("SELECT place AS c1, zone AS c2, label AS c3, round(size, 2) AS c4 FROM places",
			scope{{name: "c1", kind: integer}, {name: "c2", kind: text}, {name: "c3", kind: text}, {name: "c4", kind: decimal}}),
		selecting("SELECT column1 AS c1, column2 AS c2 FROM (VALUES (1::bigint, 'east'), (96, 'f'), (NULL, NULL)) v",
			scope{{name: "c1", kind: integer}, {name: "c2", kind: text}}),
		selecting("SELECT best AS c1, count(*) AS c2 FROM places GROUP BY best",
			scope{{name: "c1", kind: mood}, {name: "c2", kind: integer}}),
		selecting("SELECT g AS c1, g % 2 = 0 AS c2 FROM generate_series(1, 3) g",
			scope{{name: "c1", kind: integer}, {name: "c2", kind: boolean}}),
	)
}

// regroup aggregates released rows.
func (a *above) regroup(depth int) result {
	a.use("aggregates of released rows")
	from, s := a.relation(a.query(depth))
	key := choose(a, s...)
	items, cols := []string{key.name + " AS c1"}, scope{{name: "c1", kind: key.kind}}
	for i := range 1 + a.r.IntN(2) {
		x, k := a.aggregateOf(s)
		name := fmt.Sprintf("c%d", i+2)
		items, cols = append(items, x+" AS "+name), append(cols, column{name: name, kind: k})
	}
	sql := "SELECT " + strings.Join(items, ", ") + " FROM " + from + a.where(s) + " GROUP BY " +
		choose(a, "1", key.name, "ROLLUP (1)", "GROUPING SETS (("+key.name+"), ())", "DISTINCT CUBE (c1)")
	if strings.HasSuffix(sql, "(c1)") || a.chance(70) {
		return selecting(sql, cols)
	}
	x, _ := a.aggregateOf(s)
	return selecting(sql+" HAVING "+x+" IS NOT NULL", cols)
}

// aggregateOf writes an aggregate of columns that does not depend on their order.
func (a *above) aggregateOf(s scope) (string, kind) {
	x := a.expr(s, integer, 1)
	t := a.expr(s, text, 1)
	filter := ""
	if a.chance(20) {
		filter = " FILTER (WHERE " + a.expr(s, boolean, 1) + ")"
	}
	switch a.r.IntN(7) {
	case 0:
		return "count(*)" + filter, integer
	case 1:
		return "sum(" + x + ")" + filter + "::bigint", integer
	case 2:
		return choose(a, "min", "max") + "(" + x + ")" + filter, integer
	case 3:
		return "round(avg(" + x + ")" + filter + ", 2)", decimal
	case 4:
		return "string_agg(" + t + ", ',' ORDER BY " + t + ")" + filter, text
	case 5:
		return "bool_and(" + a.expr(s, boolean, 1) + ")" + filter, boolean
	}
	return "count(DISTINCT " + t + ")" + filter, integer
}

// window writes a window function that does not depend on the order of equal rows.
func (a *above) window(s scope) string {
	over := "(ORDER BY " + a.names(s) + ")"
	switch a.r.IntN(7) {
	case 0:
		return "rank() OVER " + over
	case 1:
		return "dense_rank() OVER (PARTITION BY " + choose(a, s...).name + " ORDER BY " + choose(a, s...).name + " DESC)"
	case 2:
		return "sum(" + a.expr(s, integer, 1) + ") OVER (PARTITION BY " + choose(a, s...).name + ")::bigint"
	case 3:
		return "count(*) OVER ()"
	case 4:
		return "lag(" + a.expr(s.ofKinds(integer), integer, 0) + ", 1, 0::bigint) OVER " + over
	case 5:
		return "sum(" + a.expr(s, integer, 0) + ") OVER (ORDER BY " + a.names(s) + " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)::bigint"
	}
	return "ntile(3) OVER " + over
}

// names lists all columns.
func (a *above) names(s scope) string {
	var all []string
	for _, c := range s {
		all = append(all, c.name)
	}
	return strings.Join(all, ", ")
}

func (a *above) windows(depth int) result {
	a.use("window")
	from, s := a.relation(a.query(depth))
	list, cols := a.selects(s)
	name := fmt.Sprintf("c%d", len(cols)+1)
	cols = append(cols, column{name: name, kind: integer})
	if a.chance(25) {
		a.use("WINDOW")
		return selecting("SELECT "+list+", rank() OVER w AS "+name+" FROM "+from+a.where(s)+" WINDOW w AS (ORDER BY "+a.names(s)+")", cols)
	}
	return selecting("SELECT "+list+", "+a.window(s)+" AS "+name+" FROM "+from+a.where(s), cols)
}

// scalars writes sub-selects of one value, of a set and of existence.
func (a *above) scalars(int) result {
	a.use("sub-select")
	p := a.public()
	from, s := a.relation(p)
	items := []string{choose(a, s...).name + " AS c1", "(SELECT " + a.count() + " FROM people) AS c2"}
	cols := scope{{name: "c1", kind: text}, {name: "c2", kind: integer}}
	if a.chance(30) {
		items = append(items, "ARRAY(SELECT region FROM people GROUP BY region ORDER BY 1) AS c3")
		cols = append(cols, column{name: "c3", kind: text})
	}
	items[0] = "(" + strings.TrimSuffix(items[0], " AS c1") + ")::text AS c1"
	items[len(items)-1] = strings.Replace(items[len(items)-1], ") AS c3", ")::text AS c3", 1)
	where := choose(a, "",
		" WHERE EXISTS (SELECT 1 FROM people HAVING count(*) > "+a.param("10")+")",
		" WHERE (SELECT "+a.count()+" FROM people) > ALL (SELECT count(*) FROM people GROUP BY sex)",
		" WHERE 'f' IN (SELECT sex FROM people GROUP BY sex)",
		" WHERE (96, 'f') NOT IN (SELECT count(*), sex FROM people GROUP BY 2)")
	return selecting("SELECT "+strings.Join(items, ", ")+" FROM "+from+where, cols)
}
