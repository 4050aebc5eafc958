package replay

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"dpproxy/planner"
)

// Limits of contributions leave out something, which moves released values by no more than is stated. How far that moves an outcome is seen
// in replicas without noise: with all values at their ends, with each alone at its ends, if they are few, and with parts of what is stated,
// some times one part for all values and as many times a random one for each.
const (
	manyParts  = 60
	fewParts   = 15 // where values are many
	fewShifted = 30
)

// moved are the replicas without noise of the relations that were released for a plan.
type moved struct {
	released [][]string       // the columns of each block
	of       []planner.Shifts // of each block
	// seeds are those of the values that may have moved, of each block: a release that stands in two places is moved alike in both.
	seeds [][]uint64
	down  bool // any value may be below the released one
}

// newShifted returns those in which values are moved as limits may have moved them.
func newShifted(r *Replicas) *moved {
	s := &moved{released: r.Released()}
	for i, b := range r.plan.Blocks {
		var of planner.Shifts
		if r.released[i] != nil {
			of = planner.ShiftsOf(b, r.released[i])
		}
		s.of, s.down = append(s.of, of), s.down || of.Down()
		seeds := make([]uint64, of.Len())
		for k := range seeds {
			set, row, integer := of.Of(k)
			seeds[k] = seedOf(r.noises[i][set].seeds[integer], row)
		}
		s.seeds = append(s.seeds, seeds)
	}
	return s
}

func seedOf(digest [sha256.Size]byte, row int) uint64 {
	h := sha256.Sum256(slices.Concat([]byte("moved"), digest[:], number(row)))
	return binary.BigEndian.Uint64(h[:])
}

// any reports whether limits may have moved any value.
func (s *moved) any() bool {
	return slices.ContainsFunc(s.of, func(of planner.Shifts) bool { return of.Len() > 0 })
}

// known reports whether it is known of all values by how much.
func (s *moved) known() bool {
	return !slices.ContainsFunc(s.of, func(of planner.Shifts) bool { return !of.Known() })
}

// parts is how many times parts are taken, of either kind, if there is room for so many replicas; 0 if nothing is moved, by an amount that
// is not known, or if there is no room.
func (s *moved) parts(room int) int {
	ends := 2 * (1 + fewShifted)
	switch {
	case !s.any() || !s.known():
		return 0
	case room >= 2*manyParts+ends:
		return manyParts
	case room >= 2*fewParts+ends:
		return fewParts
	}
	return 0
}

// A shift is the part of what is stated by which a value of a seed is moved.
type shift func(seed uint64) float64

// replicas are the shifts of each replica, with so many random parts; none without any.
func (s *moved) replicas(parts int) (all []shift) {
	if parts == 0 {
		return nil
	}
	first := 0.0
	if s.down {
		first = -1
	}
	for end := 1.0; end >= first; end -= 2 {
		all = append(all, func(uint64) float64 { return end })
		for _, seed := range s.alone() {
			all = append(all, func(of uint64) float64 {
				if of == seed {
					return end
				}
				return 0
			})
		}
	}
	for i := range parts {
		part := func(u float64) float64 { return first + u*(1-first) }
		common := part((float64(i) + 0.5) / float64(parts))
		all = append(all,
			func(uint64) float64 { return common },
			func(seed uint64) float64 { return part(rand.New(rand.NewPCG(seed, uint64(i))).Float64()) })
	}
	return all
}

// alone are the seeds of the values that are moved alone.
func (s *moved) alone() []uint64 {
	all := slices.Concat(s.seeds...)
	slices.Sort(all)
	if all = slices.Compact(all); len(all) > fewShifted || len(all) == 1 {
		return nil
	}
	return all
}

// columns returns the columns of each block for a replica.
func (s *moved) columns(part shift) (all [][]string) {
	for i, of := range s.of {
		if of.Len() == 0 {
			all = append(all, s.released[i])
			continue
		}
		all = append(all, of.Columns(func(k int) float64 { return part(s.seeds[i][k]) }))
	}
	return all
}
