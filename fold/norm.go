package fold

import (
	"math"
	"sort"
)

// A norm is a [Norm] with its limits in a form that can be compared.
type norm struct {
	squared bool
	limits  []wide
}

func newNorm(of *Norm) norm {
	n := norm{squared: of.Squared}
	for _, l := range of.Limits {
		n.limits = append(n.limits, wideOf(l))
	}
	return n
}

// size returns the norm of a unit, or its square, and calls group with the entries of each of its groups.
func (n *norm) size(own []entry, group func(of []entry, rows uint64)) (size wide) {
	for from := 0; from < len(own); {
		to, rows := from, uint64(0)
		for ; to < len(own) && own[to].group() == own[from].group(); to++ {
			rows += uint64(own[to].rows)
		}
		if n.squared {
			size = size.plus(product(rows, rows))
		} else {
			size = size.plus(wide{0, rows})
		}
		group(own[from:to], rows)
		from = to
	}
	return size
}

// level returns how many limits a size is above.
func (n *norm) level(size wide) int {
	return sort.Search(len(n.limits), func(i int) bool { return !n.limits[i].less(size) })
}

// rootBits is the number of fraction bits of the root of a square.
const rootBits = 10

// largest replaces all larger sizes of a norm.
const largest = 1 << 62

// length returns the divisor of a unit's rows, for a size. It is at least the norm, so that the quotients are within the unit ball. If the
// norm is a root, the divisor is 2^rootBits times as large. For the largest size it is so large that the quotients are 0.
func (n *norm) length(size uint64) uint64 {
	switch {
	case !n.squared:
		return max(size, 1)
	case size == largest:
		return largest
	}
	return uint64(math.Ceil(math.Sqrt(float64(size))*(1<<rootBits))) + 1
}
