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

// A Bridge is such public relations. No protected row stands between them.
type Bridge struct {
	level     *level
	relations []*relation
	// by are the columns that are identical in all rows which one row of the other relations meets.
	by []*scalar.Column
	// conds are the conditions on the relations alone.
	conds []condition
	// answer is the place of its count among what the mirror is asked for.
	answer int
}

// maxBridged bounds the rows that are counted: of a larger bridge it is not known how many rows meet one.
const maxBridged = 2_000_000

// AskBridges has the mirror count the bridges of the source and of its derived tables, of which tables alone say little. ask returns the
// place of an answer.
func (s *Source) AskBridges(ask func(*Bridge) int) {
	s.eachLevel(func(l *level) {
		for _, b := range l.findBridges() {
			b.answer = ask(b)
			l.bridges = append(l.bridges, b)
		}
	})
}

// eachLevel visits a level and those of its derived tables.
func (l *level) eachLevel(visit func(*level)) {
	visit(l)
	for _, r := range l.relations {
		for _, b := range r.branches() {
			b.source.eachLevel(visit)
		}
	}
}

// findBridges returns the bridges of a level that are worth counting.
func (l *level) findBridges() (all []*Bridge) {
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
		all = append(all, l.bridge(part, conds)...)
	}
	for _, j := range outerJoins(l.root) {
		if r, single := j.right.(*relation); single && bridged(r) {
			all = append(all, l.bridge([]*relation{r}, j.on)...)
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

// bridge returns the bridge of some relations, if it is worth counting.
func (l *level) bridge(part []*relation, conds []condition) []*Bridge {
	b := &Bridge{level: l, relations: part}
	most := l.within(part, l.publicSizes())
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

// within bounds the rows of some public relations that meet one row of the others, as far as each table by itself says.
func (l *level) within(part []*relation, limits policy.Limits) int64 {
	most := int64(1)
	for r, t := range l.inTurn(nil, limits) {
		if slices.Contains(part, r) {
			most = saturating(most, t.meeting)
		}
	}
	return most
}

// SQL writes the number of rows of the bridge that one row meets: of those with the same values, the most. It is NULL of bridges that are
// too large to be counted.
func (b *Bridge) SQL(w *scalar.Writer) (string, error) {
	p := &sourceWriter{level: b.level, w: b.level.writer(w)}
	rows, counted := &sqltext.Select{Limit: maxBridged + 1}, &sqltext.Select{Columns: []sqltext.Column{{SQL: "pg_catalog.count(*)", As: "n"}}}
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

// someTable returns a table that relations, or derived tables among them, read; nil if they are of constants.
func someTable(relations []*relation) *policy.Table {
	for _, r := range relations {
		if r.rows == nil && !r.listed {
			return r.table
		}
		for _, b := range r.branches() {
			if t := someTable(b.source.relations); t != nil {
				return t
			}
		}
	}
	return nil
}

// count is what was counted; false if it is not known.
func (b *Bridge) count(limits policy.Limits) (n int64, known bool) {
	if b.answer >= len(limits.Answers) {
		return 0, false
	}
	n, err := strconv.ParseInt(string(limits.Answers[b.answer].Bytes), 10, 64)
	return max(n, 1), err == nil
}

// bridgeOf returns the bridge that a relation is of and that was counted; nil if there is none.
func (b *bounded) bridgeOf(r *relation, limits policy.Limits) (*Bridge, int64) {
	for _, br := range b.bridges {
		if n, known := br.count(limits); known && slices.Contains(br.relations, r) {
			return br, n
		}
	}
	return nil, 0
}

// A product multiplies the rows that relations add. Those of a bridge add no more rows together than were counted.
type product struct {
	*bounded
	limits  policy.Limits
	others  int64
	bridges map[*Bridge]int64
}

func (b *bounded) newProduct(limits policy.Limits) *product { return &product{b, limits, 1, map[*Bridge]int64{}} }

// times adds a relation, of which n rows meet one row of the relations before.
func (p *product) times(r *relation, n int64) {
	if br, most := p.bridgeOf(r, p.limits); br != nil {
		p.bridges[br] = min(saturating(max(p.bridges[br], 1), n), most)
		return
	}
	p.others = saturating(p.others, n)
}

func (p *product) total() int64 {
	total := p.others
	for _, n := range p.bridges {
		total = saturating(total, n)
	}
	return total
}
