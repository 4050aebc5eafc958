package mechanisms

import (
	"math"
	"math/big"
)

// farAway stands for every distance that no word below it holds.
const farAway = math.MaxUint64

// Distances say how far each of some scores is below the best.
type distances struct {
	words []uint64   // or farAway
	exact []*big.Int // nil where words are all there is
}

// all returns the distances themselves.
func (d distances) all() []*big.Int {
	if d.exact != nil {
		return d.exact
	}
	exact := make([]*big.Int, len(d.words))
	for i, w := range d.words {
		exact[i] = new(big.Int).SetUint64(w)
	}
	return exact
}

// exactly returns distances of any size.
func exactly(exact []*big.Int) distances {
	d := distances{make([]uint64, len(exact)), exact}
	for i, x := range exact {
		d.words[i] = farAway
		if x.IsUint64() {
			d.words[i] = x.Uint64()
		}
	}
	return d
}

// narrow returns private integers whose sizes are at most a limit, if all are.
func narrow(values []Private, limit int64) ([]int64, bool) {
	out := make([]int64, len(values))
	for i, v := range values {
		n := v.reveal()
		if !n.IsInt64() || n.Int64() > limit || n.Int64() < -limit {
			return nil, false
		}
		out[i] = n.Int64()
	}
	return out, true
}

// narrowScore bounds scores whose distances are words.
const narrowScore = 1 << 62

// distancesOf returns those of at least one score.
func distancesOf(scores []Private) distances {
	if s, ok := narrow(scores, narrowScore); ok {
		best := s[0]
		for _, v := range s {
			best = max(best, v)
		}
		d := distances{words: make([]uint64, len(s))}
		for i, v := range s {
			d.words[i] = uint64(best - v)
		}
		return d
	}
	best := scores[0].reveal()
	for _, s := range scores[1:] {
		if v := s.reveal(); v.Cmp(best) > 0 {
			best = v
		}
	}
	below := make([]*big.Int, len(scores))
	for i, s := range scores {
		below[i] = new(big.Int).Sub(best, s.reveal())
	}
	return exactly(below)
}
