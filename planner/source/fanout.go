package source

import (
	"math"
	"math/bits"
	"slices"
	"strconv"

	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// Fanout bounds how many rows one row that is read can become, and refuses a source whose joins
// could take too long. It depends on the statement, the policy and public sizes alone.
func (l *level) Fanout(limits policy.Limits) (int64, error) {
	for _, j := range l.semijoinsOf() {
		if _, err := j.inner.Fanout(limits); err != nil {
			return 0, err
		}
	}
	total := int64(1)
	var joined []*relation
	base := l.Protected() // otherwise the first public relation takes its place
	for _, r := range l.protectedFirst() {
		n, err := l.rowsOf(r, limits)
		if err != nil {
			return 0, err
		}
		known := r.followsFrom(l.perUnit(nil, joined...))
		joined = append(joined, r)
		switch {
		case !base:
			base = true
			continue
		case r.protected():
		case known:
			n = 1
		case n > limits.PublicFanout:
			return 0, pgerr.New(pgerr.ProgramLimitExceeded,
				"each row could be joined with all %srows of public relation %q", count(n), r.name).At(r.at).
				WithHint("Join it by equality on its key; otherwise it may have at most %d rows (max_public_fanout).", limits.PublicFanout)
		}
		if total = saturating(total, n); total > limits.Work {
			return 0, pgerr.New(pgerr.ProgramLimitExceeded,
				"the join with %q could make %d rows of each, at most %d are allowed", r.name, total, limits.Work).At(r.at).
				WithHint("Join fewer relations, or aggregate them in sub-selects first.")
		}
	}
	return total, nil
}

func (r *resolved) protectedFirst() []*relation {
	var first, then []*relation
	for _, rel := range r.relations {
		if rel.protected() {
			first = append(first, rel)
		} else {
			then = append(then, rel)
		}
	}
	return slices.Concat(first, then)
}

// rowsOf bounds the rows of a public relation, and by how much a protected one
// multiplies the rows of a unit.
func (l *level) rowsOf(r *relation, limits policy.Limits) (int64, error) {
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
		return publicRows(r, limits), nil
	}
	return most, nil
}

// publicRows bounds the rows of a level without protected relations.
func (l *level) publicRows(limits policy.Limits) int64 {
	total := int64(1)
	var joined []*relation
	for _, r := range l.relations {
		if !r.followsFrom(l.typ.Closure(agreeing(nil, joined))) {
			total = saturating(total, publicRows(r, limits))
		}
		joined = append(joined, r)
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
