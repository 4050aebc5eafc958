package sqlgen

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
)

// Shapes are the features of statements whose FROM is a tree: queries in FROM, over others, joined in any order and on any side.
var Shapes = []string{shapeMerged, shapeGrouped, shapeDistinct, shapeTwice, shapeBushy, shapeComma}

const (
	shapeMerged   = "shape: query that chooses rows"
	shapeGrouped  = "shape: query with groups"
	shapeDistinct = "shape: query with DISTINCT"
	shapeTwice    = "shape: WITH that is read twice"
	shapeBushy    = "shape: join of joins"
	shapeComma    = "shape: comma"
)

// A shape is a part of FROM.
type shape struct {
	from string
	// conds are those of its inner joins that FROM cannot have, and belong to WHERE.
	conds []string
	cols  scope
	links []link
	items int
	comma bool
	// protected says that rows of units are read.
	protected bool
}

// A link is columns that refer to something, by what that is.
type link struct {
	to    string
	names []string
	// key says that the columns are the key of its table.
	key bool
}

const (
	toUnit  = "unit"
	toEvent = "event"
	toPlace = "place"
	toSite  = "site"
	toZone  = "zone"
)

// A shapeGenerator makes FROM of one statement.
type shapeGenerator struct {
	sourceGenerator
	aliases int
	// many is how many tables are read of which a unit has many rows.
	many     int
	with     []string
	features []string
}

// shaped returns a statement over a tree in the place of some others: their text is the source of chance, so that the rest stays as it is.
func shaped(s *Schema, text string) (Statement, bool) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 9))}
	if !d.chance(12) {
		return Statement{}, false
	}
	return shapedBy(d, s), true
}

func shapedBy(d dice, s *Schema) Statement {
	sources := sourceGenerator{exprGenerator{d}, s}
	var g *shapeGenerator
	var tree shape
	for !tree.protected {
		g = &shapeGenerator{sourceGenerator: sources}
		tree = g.tree(choose(d, 1, 1, 2))
	}
	src := source{from: tree.from, where: strings.Join(tree.conds, " AND "), cols: tree.cols, units: tree.linked(toUnit), feature: "shape"}
	if len(g.with) > 0 {
		src.with = "WITH " + strings.Join(g.with, ", ") + " "
	}
	st := statementGenerator{sources}.over(src)
	st.Features = append(st.Features, g.features...)
	if slices.Contains(g.features, shapeGrouped) { // rounding moves squares and products of sums by more than those of columns
		for i, o := range st.Outputs {
			if o == Variance || o == Deviation || o == Covariance {
				st.Outputs[i] = Rank
			}
		}
	}
	return st
}

func (g *shapeGenerator) alias(prefix string) string {
	g.aliases++
	return fmt.Sprintf("%s%d", prefix, g.aliases)
}

func (g *shapeGenerator) notes(feature string) {
	if !slices.Contains(g.features, feature) {
		g.features = append(g.features, feature)
	}
}

// linked are the columns of links of one column.
func (s shape) linked(to string) (names []string) {
	for _, l := range s.links {
		if l.to == to && len(l.names) == 1 {
			names = append(names, l.names[0])
		}
	}
	return names
}

// scan reads a table.
func (g *shapeGenerator) scan() shape {
	few, many := []string{"people", "parts", "places", "sites"}, []string{"events", "events", "events", "readings", views[0], views[1]}
	if g.many == maxMany || g.chance(45) {
		return g.scanOf(choose(g, few...))
	}
	g.many++
	return g.scanOf(choose(g, many...))
}

// maxMany bounds such tables, of which a bad plan multiplies the rows.
const maxMany = 3

func (g *shapeGenerator) scanOf(name string) shape {
	s, a := g.schema, g.alias("s")
	at := func(columns ...string) (names []string) {
		for _, c := range columns {
			names = append(names, a+"."+c)
		}
		return names
	}
	out := shape{from: name + " " + a, items: 1}
	out.protected = name != "places" && name != "sites"
	key := []string{"id"}
	if s.composite {
		key = append(key, shard)
	}
	switch name {
	case "events":
		out.cols = tableScope(s.events, a)
		out.links = []link{
			{to: toUnit, names: at("uid")}, {toEvent, at(key...), true}, {to: toPlace, names: at("place")}, {to: toSite, names: at(site)},
		}
		if !s.composite {
			out.links = append(out.links, link{to: toEvent, names: at(prior)})
		}
	case "people":
		out.cols, out.links = tableScope(s.people, a), []link{{to: toUnit, names: at("uid")}}
	case "readings":
		common := []kind{integer, decimal, text, date}
		out.cols = tableScope(s.readings, a).ofKinds(common...)
		out.links = []link{{to: toUnit, names: at("uid")}}
	case "parts":
		key[0] = "event"
		out.cols, out.links = tableScope(s.parts, a), []link{{to: toEvent, names: at(key...)}}
	case views[0], views[1]:
		out.cols = viewScope(s, a)
		out.links = []link{{to: toUnit, names: at("u")}, {to: toPlace, names: at("place")}, {toEvent, at(key...), name == views[0]}}
	case "places":
		out.cols, out.links = g.places(a), []link{{toPlace, at("place"), true}, {toZone, at("zone"), true}}
	default:
		out.cols, out.links = tableScope(s.sites, a), []link{{toSite, at(site), true}, {to: toSite, names: at(near)}}
	}
	return out
}

// tree joins some items.
func (g *shapeGenerator) tree(depth int) shape {
	out := g.item(depth)
	for range choose(g, 0, 1, 1, 1, 2, 2) {
		if both, again := g.again(out); again && g.chance(50) {
			out = both
			continue
		}
		next := g.item(depth)
		if depth > 0 && g.chance(20) {
			next = g.join(next, g.item(depth-1))
		}
		for range 6 {
			if len(common(out, next)) > 0 {
				break
			}
			next = g.item(depth)
		}
		if len(common(out, next)) > 0 {
			out = g.join(out, next)
		}
	}
	return out
}

// item is a table, or a query over a tree.
func (g *shapeGenerator) item(depth int) shape {
	if depth == 0 || g.chance(45) {
		return g.scan()
	}
	return g.query(g.tree(depth - 1))
}

// A pairing is two links to the same thing.
type pairing struct {
	to          string
	left, right []string
}

func (p pairing) condition() string {
	var eqs []string
	for i := range p.left {
		eqs = append(eqs, p.left[i]+" = "+p.right[i])
	}
	return strings.Join(eqs, " AND ")
}

// common are the links of two shapes to the same thing, of which at most one refers to it if nothing else says that their rows are of one
// unit.
func common(a, b shape) (list []pairing) {
	units := a.linked(toUnit) != nil && b.linked(toUnit) != nil
	for _, l := range a.links {
		for _, r := range b.links {
			if l.to == r.to && len(l.names) == len(r.names) && (l.key || r.key || l.to == toUnit || units) {
				list = append(list, pairing{l.to, l.names, r.names})
			}
		}
	}
	return list
}

// join joins two shapes, of which either may be written first.
func (g *shapeGenerator) join(a, b shape) shape {
	if g.chance(50) {
		a, b = b, a
	}
	var conds []string
	if list := common(a, b); len(list) > 0 {
		conds = append(conds, choose(g, list...).condition())
		of := func(p pairing) bool { return p.to == toUnit }
		if i := slices.IndexFunc(list, of); i >= 0 && g.chance(92) && !slices.Contains(conds, list[i].condition()) {
			conds = append(conds, list[i].condition())
		}
	} else {
		conds = append(conds, "true")
	}
	out := shape{cols: slices.Concat(a.cols, b.cols), links: slices.Concat(a.links, b.links), items: a.items + b.items}
	out.protected = a.protected || b.protected
	out.conds = slices.Concat(a.conds, b.conds)
	if g.chance(25) {
		conds = append(conds, "("+g.condition(out.cols, 1)+")")
	}
	if b.items > 1 {
		g.notes(shapeBushy)
	}
	if a.comma || b.comma || len(out.conds) == 0 && g.chance(15) || g.chance(5) {
		g.notes(shapeComma)
		out.from, out.comma, out.conds = a.from+", "+b.from, true, append(out.conds, conds...)
		return out
	}
	kind := choose(g, "JOIN", "JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "INNER JOIN")
	if g.chance(3) {
		kind = "FULL JOIN"
	}
	if len(out.conds) > 0 && kind != "JOIN" { // those of an inner join below are no conditions of the whole
		kind = "JOIN"
	}
	for i := range out.cols {
		if kind == "FULL JOIN" || kind == "LEFT JOIN" && i >= len(a.cols) || kind == "RIGHT JOIN" && i < len(a.cols) {
			out.cols[i].notNull = false
		}
	}
	right := b.from
	if b.items > 1 {
		right = "(" + right + ")"
	}
	out.from = a.from + " " + kind + " " + right + " ON " + strings.Join(conds, " AND ")
	return out
}

// query is a query over a tree as one item.
func (g *shapeGenerator) query(below shape) shape {
	a := g.alias("d")
	out := shape{items: 1, protected: below.protected}
	var items, keys, names []string
	put := func(x string) string {
		names = append(names, fmt.Sprintf("c%d", len(names)+1))
		items = append(items, x)
		return a + "." + names[len(names)-1]
	}
	form := choose(g, shapeMerged, shapeMerged, shapeMerged, shapeGrouped, shapeDistinct)
	if form == shapeGrouped && below.linked(toUnit) == nil {
		form = shapeMerged
	}
	g.notes(form)
	for _, l := range below.links {
		another := l.to == toUnit && len(out.linked(toUnit)) > 0
		if another && g.chance(60) || l.to != toUnit && (form == shapeGrouped && !g.chance(25) || g.chance(15)) {
			continue
		}
		of := link{to: l.to, key: l.key}
		for _, n := range l.names {
			of.names, keys = append(of.names, put(n)), append(keys, n)
		}
		out.links = append(out.links, of)
	}
	for range 1 + g.r.IntN(3) {
		if form == shapeGrouped {
			number := g.number(below.cols, 0)
			x := choose(g, "count(*)", "count("+choose(g, below.cols...).name+")", "max("+number+")", "sum("+number+")")
			out.cols = append(out.cols, column{name: put(x), kind: decimal, low: "0", high: "10"})
			continue
		}
		c := choose(g, below.cols...)
		x := c.name
		if form == shapeMerged && g.chance(25) {
			x, c = g.number(below.cols, 1), column{kind: decimal, low: "0", high: "10"}
		}
		c.name, c.notNull = put(x), false
		out.cols = append(out.cols, c)
	}
	if form == shapeGrouped && g.chance(30) {
		k := choose(g, below.cols...)
		keys = append(keys, k.name)
		k.name, k.notNull = put(k.name), false
		out.cols = append(out.cols, k)
	}
	where := slices.Clone(below.conds)
	if c := g.maybe(40, below.cols); c != "" {
		where = append(where, "("+c+")")
	}
	if units := below.linked(toUnit); len(units) > 0 && g.chance(7) {
		where = append(where, "("+g.semiJoin(source{units: units})+")")
	}
	out.from = g.called(form, a, names, items, keys, below.from, where)
	return out
}

// called writes the query, with names of its columns in one of the places for them.
func (g *shapeGenerator) called(form, alias string, names, items, keys []string, from string, where []string) string {
	outside := g.chance(30)
	if !outside {
		items = slices.Clone(items)
		for i := range items {
			items[i] += " AS " + names[i]
		}
	}
	sql := "SELECT "
	if form == shapeDistinct {
		sql += "DISTINCT "
	}
	sql += strings.Join(items, ", ") + " FROM " + from
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	if form == shapeGrouped {
		sql += " GROUP BY " + strings.Join(keys, ", ") + choose(g, "", "", "", " HAVING count(*) > 1")
	}
	list := ""
	if outside {
		list = "(" + strings.Join(names, ", ") + ")"
	}
	if !g.chance(20) {
		return "(" + sql + ") " + alias + list
	}
	w := g.alias("w")
	g.with = append(g.with, w+list+" AS ("+sql+")")
	return w + " " + alias
}

// again joins a query of WITH with itself, on what tells whose its rows are.
func (g *shapeGenerator) again(s shape) (shape, bool) {
	if len(s.links) == 0 || len(s.cols) == 0 || s.items != 1 || !strings.HasPrefix(s.from, "w") || 2*g.many > maxMany {
		return s, false
	}
	g.many *= 2
	name, alias, _ := strings.Cut(s.from, " ")
	a := g.alias("d")
	anew := func(n string) string { return a + strings.TrimPrefix(n, alias) }
	out := shape{from: name + " " + a, items: 1, protected: s.protected}
	for _, c := range s.cols {
		c.name = anew(c.name)
		out.cols = append(out.cols, c)
	}
	for _, l := range s.links {
		of := link{to: l.to, key: l.key}
		for _, n := range l.names {
			of.names = append(of.names, anew(n))
		}
		out.links = append(out.links, of)
	}
	g.notes(shapeTwice)
	return g.join(s, out), true
}
