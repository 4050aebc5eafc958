package survey

import (
	"cmp"
	"slices"

	"dpproxy/accountant/realized"
)

// Losses are those of the objects of a table. They do not change.
type Losses struct {
	of       []uint32 // where each object's stands among the different ones
	distinct []realized.Spent
}

// Objects is how many objects there are.
func (l *Losses) Objects() int64 { return int64(len(l.of)) }

// At returns where the loss of an object stands in [Losses.Distinct].
func (l *Losses) At(object int64) int { return int(l.of[object]) }

// Distinct returns the different losses.
func (l *Losses) Distinct() []realized.Spent { return slices.Clone(l.distinct) }

// Quantiles returns the least losses that at least these shares of the objects are below or at, in 10⁻¹² of ε.
func (l *Losses) Quantiles(shares ...float64) []int64 {
	counts := make([]int64, len(l.distinct))
	for _, i := range l.of {
		counts[i]++
	}
	order := make([]int, len(l.distinct))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(l.distinct[a].LossPico, l.distinct[b].LossPico) })
	out := make([]int64, len(shares))
	for s, share := range shares {
		rank := min(int64(share*float64(len(l.of))), l.Objects()-1)
		for _, i := range order {
			if rank -= counts[i]; rank < 0 {
				out[s] = l.distinct[i].LossPico
				break
			}
		}
	}
	return out
}

// Count returns how many objects have such a loss.
func (l *Losses) Count(holds func(realized.Spent) bool) (objects int) {
	yes := make([]bool, len(l.distinct))
	for i, spent := range l.distinct {
		yes[i] = holds(spent)
	}
	for _, i := range l.of {
		if yes[i] {
			objects++
		}
	}
	return objects
}

// Losses returns what each object has lost. It is computed once for each survey.
func (t *Table) Losses() (*Losses, error) {
	if t.lost != nil && t.lostBy == len(t.surveys) && t.lost.Objects() == t.keys.count() {
		return t.lost, nil
	}
	l, err := t.losses(nil)
	if err != nil {
		return nil, err
	}
	all := &Losses{of: make([]uint32, t.keys.count())}
	places := map[realized.Spent]uint32{}
	for i := range all.of {
		spent, err := l.of(int64(i))
		if err != nil {
			return nil, err
		}
		at, ok := places[spent]
		if !ok {
			at = uint32(len(all.distinct))
			places[spent] = at
			all.distinct = append(all.distinct, spent)
		}
		all.of[i] = at
	}
	t.lost, t.lostBy = all, len(t.surveys)
	return all, nil
}
