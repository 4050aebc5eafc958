package source

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"dpproxy/core"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// Fanout bounds how many rows one row that is read can become, and refuses a source whose joins
// could take too long. It depends on the statement, the policy and public sizes alone.
func (l *level) Fanout(limits policy.Limits) (int64, error) {
	for _, j := range l.semijoinsOf() {
		if _, err := j.inner.Fanout(limits); err != nil {
			return 0, err
		}
	}
	rows := l.newProduct(limits)
	base := l.Protected() // otherwise the first public relation takes its place
	for r, t := range l.inTurn(nil, limits) {
		n, err := l.rowsOf(r, t, limits)
		if err != nil {
			return 0, err
		}
		switch {
		case !base:
			base = true
			continue
		case r.protected():
		case r.followsFrom(t.k):
			n = 1
		default:
			n = min(t.all, l.linkedRows(r, t.k, limits))
			if br, most := l.bridgeOf(r, limits); br != nil {
				n = min(n, most)
			}
			if n > limits.PublicFanout {
				return 0, errFanout(r, n, t.all, limits.PublicFanout)
			}
		}
		rows.times(r, n)
		if total := rows.total(); total > limits.Work {
			return 0, pgerr.New(pgerr.ProgramLimitExceeded,
				"the join with %q could make %d rows of each, at most %d are allowed", r.name, total, limits.Work).At(r.at).
				WithHint("Join fewer relations, or aggregate them in sub-selects first.")
		}
	}
	return rows.total(), nil
}

func errFanout(r *relation, n, all, most int64) error {
	rows := count(n) + "rows"
	if n == all {
		rows = "all " + rows
	}
	return pgerr.New(pgerr.ProgramLimitExceeded, "each row could be joined with %s of public relation %q", rows, r.name).At(r.at).
		WithHint("Join it by equality on its key; otherwise it may have at most %d rows (max_public_fanout).", most)
}

// linkedRows bounds the rows of a public relation that equalities with the rows before find. Other conditions find none: each row is
// compared with all rows of the relation then.
func (b *bounded) linkedRows(r *relation, k core.Set, limits policy.Limits) int64 {
	most := int64(math.MaxInt64)
	for _, c := range linked(b.resolved, r) {
		if k.Has(col(c)) {
			most, _ = b.publicMatches(r, k, limits)
		}
	}
	return most
}

// A turn is what is known when a relation is joined.
type turn struct {
	// k is what is identical in rows that agree in columns and in the relations before.
	k core.Set
	// all are the rows of a public relation, and meeting those that can meet one row of the relations before.
	all, meeting int64
	// by is the column of the public table whose value all these rows have.
	by string
}

// inTurn visits the relations: protected ones first, or, without any, the largest one, and then always the one of which the fewest rows can
// meet the rows before. So public relations that keys tie to each other are not multiplied, in whatever order they are written.
func (b *bounded) inTurn(columns []*scalar.Column, limits policy.Limits) iter.Seq2[*relation, turn] {
	return func(yield func(*relation, turn) bool) {
		rest, joined := b.protectedFirst(), []*relation{}
		sizes := map[*relation]int64{}
		for _, r := range rest {
			if !r.protected() {
				sizes[r] = publicRows(r, limits)
			}
		}
		for len(rest) > 0 {
			k := b.perUnit(columns, joined...)
			next, best := 0, b.turn(rest[0], k, sizes[rest[0]], limits)
			for i, r := range rest[1:] {
				t := b.turn(r, k, sizes[r], limits)
				if !rest[0].protected() && (len(joined) > 0 && t.meeting < best.meeting || len(joined) == 0 && t.meeting > best.meeting) {
					next, best = i+1, t
				}
			}
			if !yield(rest[next], best) {
				return
			}
			joined, rest = append(joined, rest[next]), slices.Delete(rest, next, next+1)
		}
	}
}

func (b *bounded) turn(r *relation, k core.Set, size int64, limits policy.Limits) turn {
	t := turn{k: k, all: size, meeting: 1}
	if r.protected() || r.followsFrom(k) {
		return t
	}
	if t.meeting, t.by = b.publicMatches(r, k, limits); t.meeting >= t.all {
		t.meeting, t.by = t.all, ""
	}
	return t
}

// protectedFirst are the relations whose rows belong to units, then reference tables, and then public ones. A row of a reference table
// follows from the row that looks it up: the other way round, the rows that look it up would seem to follow from it.
func (r *resolved) protectedFirst() []*relation {
	var first, looked, then []*relation
	for _, rel := range r.relations {
		switch {
		case ofReference(rel):
			looked = append(looked, rel)
		case rel.protected():
			first = append(first, rel)
		default:
			then = append(then, rel)
		}
	}
	return slices.Concat(first, looked, then)
}

// rowsOf bounds the rows of a public relation, and by how much a protected one
// multiplies the rows of a unit.
func (l *level) rowsOf(r *relation, t turn, limits policy.Limits) (int64, error) {
	most := int64(1)
	for _, b := range r.branches() {
		n, err := b.source.Fanout(limits)
		if err != nil {
			return 0, err
		}
		if b.elements != nil {
			n = saturating(n, b.elements.most)
		}
		most = max(most, n)
	}
	most = max(most, l.provenRows[r])
	switch {
	case l.rowsPerUnit[r] > 0:
		return l.rowsPerUnit[r], nil
	case !r.protected():
		return t.all, nil
	}
	return most, nil
}

// publicRows bounds the rows of a level without protected relations.
func (l *level) publicRows(limits policy.Limits) int64 {
	total := int64(1)
	for _, t := range l.inTurn(nil, limits) {
		total = saturating(total, t.meeting)
	}
	return total
}

// publicRows bounds the rows of a public relation.
func publicRows(r *relation, limits policy.Limits) int64 {
	if r.rows != nil {
		return r.rows.branches[0].source.publicRows(limits)
	}
	return sizeOf(r.table, limits)
}

// sizeOf returns the rows of a public table; one whose size is not known may have any.
func sizeOf(t *policy.Table, limits policy.Limits) int64 {
	if n, ok := limits.PublicRows[t.Name]; ok {
		return max(n, 1)
	}
	return math.MaxInt64
}

// count writes a number of rows, if it is known.
func count(n int64) string {
	if n == math.MaxInt64 {
		return ""
	}
	return strconv.FormatInt(n, 10) + " "
}

// saturating multiplies positive numbers.
func saturating(a, b int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// How many public rows one value can meet is counted on the mirror. It chooses limits and bounds work, and is no proof of how many rows a
// unit has, since rows of public tables come and go: each read counts anew in its own snapshot, before the charge.

// A Meeting is such a number: as many rows of a public table have the same value of a column, or are there, without a column.
type Meeting struct {
	Table  *policy.Table
	SQL    string // the table, in FROM
	Column string
	Most   int64
	// Bridge is what was counted in place of a table; nil if it was one.
	Bridge *Bridge
}

// Meetings are the numbers that bound the rows which public tables make of those of the level and of the levels below it. Limits have the
// sizes of the tables.
func (l *level) Meetings(limits policy.Limits) []Meeting { return l.meetings(limits, true) }

// meetings are likewise those of a level, of whose first public relation the rows count too unless it has the place of a protected one.
func (l *level) meetings(limits policy.Limits, first bool) (all []Meeting) {
	base, bridges := l.Protected(), map[*Bridge]bool{}
	for r, t := range l.inTurn(nil, limits) {
		if b, n := l.bridgeOf(r, limits); b != nil {
			if t := someTable(b.relations); t != nil && !bridges[b] {
				all, bridges[b] = append(all, Meeting{Table: t, Most: n, Bridge: b}), true
			}
			continue
		}
		for _, b := range r.branches() {
			all = append(all, b.source.meetings(limits, r.protected())...)
		}
		begins := !base
		if base = true; r.protected() || begins && first || !begins && r.followsFrom(t.k) || r.table == nil || r.listed {
			continue
		}
		if t.by != "" {
			all = append(all, Meeting{Table: r.table, SQL: tableSQL(r), Column: t.by, Most: t.meeting})
		}
		if t.all < math.MaxInt64 && (t.by == "" || l.linkedRows(r, t.k, limits) > t.meeting) {
			all = append(all, Meeting{Table: r.table, SQL: tableSQL(r), Most: t.all})
		}
	}
	for _, j := range l.semijoinsOf() {
		all = append(all, j.inner.meetings(limits, true)...)
	}
	return all
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

// A product multiplies the rows that relations add. The relations of a bridge add together no more rows than were counted.
type product struct {
	*bounded
	limits  policy.Limits
	others  int64
	bridges map[*Bridge]int64
}

func (b *bounded) newProduct(limits policy.Limits) *product {
	return &product{b, limits, 1, map[*Bridge]int64{}}
}

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
