package source

import (
	"math"
	"slices"
	"strconv"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/sqltext"
)

// Public relations that equalities tie to each other are one relation, as far as rows of people are concerned: a film and its actors. How
// many of its rows one row can meet is counted for the join as it stands, with its conditions on public rows, by all compared columns
// together. The sizes of tables, and the most rows of each table with one value of one column, say less.

// maxBridged bounds the rows that are counted: of a larger bridge it is not known how many rows meet one.
const maxBridged = 2_000_000

// AskBridges has the mirror count the bridges of a source and of its derived tables, of which tables alone say little. ask returns the
// place of an answer.
func AskBridges(s *Source, ask func(*Bridge) int) {
	eachLevel(s.level, func(l *level) {
		for _, b := range findBridges(l) {
			b.answer = ask(b)
			l.bridges = append(l.bridges, b)
		}
	})
}

// eachLevel visits a level and those of its derived tables.
func eachLevel(l *level, visit func(*level)) {
	visit(l)
	for _, r := range l.relations {
		for _, b := range r.branches() {
			eachLevel(b.source, visit)
		}
	}
}

// findBridges returns the bridges of a level that are worth counting.
func findBridges(l *level) (all []*Bridge) {
	if !l.Protected() {
		return nil
	}
	conds := slices.Concat(innerConditions(l.root), l.where)
	var parts [][]*relation
	for _, r := range region(l.root) {
		if bridged(r) {
			parts = append(parts, []*relation{r})
		}
	}
	partOf := func(c *scalar.Column) int {
		return slices.IndexFunc(parts, func(part []*relation) bool { return slices.Contains(part, l.home[c]) })
	}
	for _, p := range equalities(conds) {
		if i, k := partOf(p.a), partOf(p.b); i >= 0 && k >= 0 && i != k {
			parts[i], parts[k] = append(parts[i], parts[k]...), nil
		}
	}
	for _, part := range parts {
		all = append(all, bridgeOf(l, part, conds)...)
	}
	for _, j := range outerJoins(l.root) {
		if r, single := j.right.(*relation); single && bridged(r) {
			all = append(all, bridgeOf(l, []*relation{r}, j.on)...)
		}
	}
	return all
}

// bridged reports whether rows of a relation are counted: those of constants are known.
func bridged(r *relation) bool { return !r.protected() && !r.listed }

// innerConditions are the conditions of joins that hold on every row which counts.
func innerConditions(n node) []condition {
	j, ok := n.(*joined)
	switch {
	case !ok:
		return nil
	case j.outer:
		return innerConditions(j.left)
	}
	return slices.Concat(innerConditions(j.left), innerConditions(j.right), j.on)
}

// bridgeOf returns the bridge of some relations, if it is worth counting.
func bridgeOf(l *level, part []*relation, conds []condition) []*Bridge {
	b := &Bridge{level: l, relations: part}
	most := wholeOf(l, part, l.publicSizes())
	if len(part) == 0 || most == 1 {
		return nil
	}
	within := func(c *scalar.Column) bool { return slices.Contains(part, l.home[c]) }
	var linked []*scalar.Column
	for _, c := range conds {
		for _, x := range scalar.Conjuncts(c.x) {
			columns := x.Columns()
			switch outside := slices.ContainsFunc(columns, func(c *scalar.Column) bool { return !within(c) }); {
			case len(columns) == 0 || c.query:
			case !outside:
				b.conds = append(b.conds, condition{x: x})
			default:
				linked = append(linked, linkedBy(l.resolved, x)...)
			}
		}
	}
	k := l.perUnit(nil, protectedOf(l.relations)...)
	for _, c := range linked {
		if within(c) && k.Has(col(c)) && !slices.Contains(b.by, c) {
			b.by = append(b.by, c)
		}
	}
	plain := len(part) == 1 && part[0].rows == nil && len(b.conds) == 0
	if plain && most < math.MaxInt64 && (len(b.by) == 0 || len(b.by) == 1 && most < sizeOf(part[0].table, l.publicSizes())) {
		return nil // the table says as much
	}
	return []*Bridge{b}
}

func protectedOf(list []*relation) []*relation {
	return slices.DeleteFunc(slices.Clone(list), func(r *relation) bool { return !r.protected() })
}

// wholeOf bounds the rows of some public relations that meet one row of the others, as far as each table by itself says.
func wholeOf(l *level, part []*relation, limits policy.Limits) int64 {
	most := int64(1)
	for r, t := range l.inTurn(nil, limits) {
		if slices.Contains(part, r) {
			most = saturating(most, t.meeting)
		}
	}
	return most
}

func countOfAll() *sqltext.Select {
	return &sqltext.Select{Columns: []sqltext.Column{{SQL: "pg_catalog.count(*)", As: "n"}}}
}

// SQL writes the number of rows of the bridge that one row meets: of those with the same values, the most. It is NULL of bridges that are
// too large to be counted.
func (b *Bridge) SQL(w *scalar.Writer) (string, error) {
	p := &sourceWriter{level: b.level, w: b.level.writer(w)}
	rows, counted := &sqltext.Select{Limit: maxBridged + 1}, countOfAll()
	for _, r := range b.relations {
		item, err := p.relation(r, nil)
		if err != nil {
			return "", err
		}
		if rows.From == nil {
			rows.From = item
		} else {
			rows.From = &sqltext.Join{Left: rows.From, Right: item}
		}
	}
	var err error
	if rows.Where, err = p.conditions(b.conds); err != nil {
		return "", err
	}
	for i, c := range b.by {
		name := "c" + strconv.Itoa(i+1)
		rows.Columns = append(rows.Columns, sqltext.Column{SQL: c.Read(), As: name})
		counted.GroupBy = append(counted.GroupBy, name)
	}
	if b.by == nil {
		rows.Columns = []sqltext.Column{{SQL: "1", As: "c1"}}
	}
	counted.From = &sqltext.Query{Select: rows, As: "r"}
	most := strconv.Itoa(maxBridged)
	return "SELECT CASE WHEN COALESCE(pg_catalog.sum(n.n), 0) OPERATOR(pg_catalog.<=) " + most +
		" THEN COALESCE(pg_catalog.max(n.n), 0) END FROM (" + counted.SQL() + ") AS n", nil
}
