package planner

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// Private groups of few people are not shown. If the values of some of their keys are known nevertheless, they are private because there
// are too many groups: by fewer keys, or by months and years in place of days, they are public, and larger.

// A Coarser is what private groups can be grouped by instead, such that the groups are public and few.
type Coarser struct {
	// Keys says of each key of the grouping set how it is taken; nil if no such groups are known.
	Keys []Coarseness
	// Groups is how many groups there are then.
	Groups int
	// Undeclared are the columns of keys of which the policy declares neither values nor bounds.
	Undeclared []string
}

// Coarseness is how a key is taken.
type Coarseness uint8

// Ways to take a key.
const (
	AsItIs Coarseness = iota
	ByMonth
	ByYear
	LeftOut
)

const (
	// mostCoarse bounds the groups that are suggested in place of private ones.
	mostCoarse = 1000
	// mostCoarsened bounds the keys in whose place others are looked for: of more there are too many combinations.
	mostCoarsened = 5
)

// CoarserOf returns what the groups of a plan of one block can be grouped by instead, if they are private; nil if they are not.
func CoarserOf(p *Plan) *Coarser {
	if len(p.Blocks) != 1 || len(p.Blocks[0].Sets) != 1 {
		return nil
	}
	return p.Blocks[0].Sets[0].coarser
}

// A coarsening looks for coarser groups.
type coarsening struct {
	*specializer
	keys  []int
	parts []coarsePart
}

// A coarsePart is keys whose values are known together, and these values; none is known if rows is nil.
type coarsePart struct {
	keys  []int
	rows  [][]*string
	sizes map[string]int
}

// coarser finds coarser groups, and the columns whose declaration would make the groups public.
func coarser(sp *specializer, keys []int) (*Coarser, error) {
	if len(sp.b.sets) > 1 || len(keys) == 0 || sp.b.source.Concealing() {
		return nil, nil
	}
	out := &Coarser{Undeclared: undeclared(sp, keys)}
	if len(keys) > mostCoarsened {
		return out, nil
	}
	c := &coarsening{specializer: sp, keys: keys}
	if err := c.find(); err != nil {
		return nil, err
	}
	work := 0
	for _, p := range c.parts {
		work += len(p.rows)
	}
	if err := sp.env.Work.Spend(work << len(keys)); err != nil {
		return nil, err
	}
	out.Keys, out.Groups = c.finest()
	return out, nil
}

// undeclared names the columns of keys of which nothing is declared.
func undeclared(sp *specializer, keys []int) (names []string) {
	for _, k := range keys {
		for _, c := range scalar.Bases(sp.b.keys[k].expr) {
			known := c.Values != nil || c.Bounds != nil || c.Among != nil || c.List != nil || len(c.Of) > 0 || c.Type.OID == pgtype.Bool ||
				sp.b.source.ShowsPublic(c)
			if !known && !c.Untold && !slices.Contains(names, c.Shown()) {
				names = append(names, c.Shown())
			}
		}
	}
	return names
}

// finest returns the finest groups that are few enough: those that lack the fewest keys, the last first, and of these those by the shortest
// periods.
func (c *coarsening) finest() (taken []Coarseness, groups int) {
	for left := range len(c.keys) {
		for out := range 1 << len(c.keys) {
			if bits.OnesCount(uint(out)) != left {
				continue
			}
			for _, period := range []Coarseness{AsItIs, ByMonth, ByYear} {
				taken := c.taken(out, period)
				if n := c.groups(taken); n > 1 && n <= mostCoarse {
					return taken, n
				}
			}
		}
	}
	return nil, 0
}

// find finds the values of the keys.
func (c *coarsening) find() error {
	for _, f := range c.b.factors {
		if !slices.ContainsFunc(f.keys, func(k int) bool { return slices.Contains(c.keys, k) }) {
			continue
		}
		rows, _, err := c.factorRows(f)
		if err != nil {
			return err
		}
		c.parts = append(c.parts, coarsePart{f.keys, rows, map[string]int{}})
	}
	for _, keys := range c.b.together(c.keys) {
		rows, _, err := c.listed(keys)
		if err != nil {
			return err
		}
		c.parts = append(c.parts, coarsePart{keys, rows, map[string]int{}})
	}
	return nil
}

// taken leaves out keys, a bit for each from the last on, and has those that are dated by a period.
func (c *coarsening) taken(out int, period Coarseness) []Coarseness {
	taken := make([]Coarseness, len(c.keys))
	for i, k := range c.keys {
		switch {
		case out>>(len(c.keys)-1-i)&1 > 0:
			taken[i] = LeftOut
		case c.b.keys[k].typ.Dated():
			taken[i] = period
		}
	}
	return taken
}

// groups returns the number of groups, 0 if it is not known.
func (c *coarsening) groups(taken []Coarseness) int {
	n := 1
	for _, p := range c.parts {
		kept, as := []int{}, []Coarseness{}
		for i, k := range p.keys {
			if how := taken[slices.Index(c.keys, k)]; how != LeftOut {
				kept, as = append(kept, i), append(as, how)
			}
		}
		if len(kept) == 0 {
			continue
		}
		if n *= p.size(kept, as); n == 0 || n > mostCoarse {
			return 0
		}
	}
	return n
}

// size counts the different values of some keys, by periods.
func (p coarsePart) size(kept []int, as []Coarseness) int {
	id := ordinals(kept) + fmt.Sprint(as)
	if n, known := p.sizes[id]; known {
		return n
	}
	seen := map[string]bool{}
	var b strings.Builder
	for _, row := range p.rows {
		b.Reset()
		for n, i := range kept {
			b.WriteString(period(row[i], as[n]))
			b.WriteByte(0)
		}
		seen[b.String()] = true
	}
	p.sizes[id] = len(seen)
	return len(seen)
}

// period returns a value, or the part of a date that says in which period it is.
func period(cell *string, as Coarseness) string {
	const year, month = len("2006"), len("2006-01")
	switch {
	case cell == nil:
		return "\x01"
	case as == AsItIs || len(*cell) < month || (*cell)[year] != '-':
		return *cell
	case as == ByMonth:
		return (*cell)[:month]
	}
	return (*cell)[:year]
}
