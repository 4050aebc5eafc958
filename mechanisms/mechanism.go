package mechanisms

import (
	"errors"
	"math"
	"math/big"

	"dpproxy/dp"
)

// ErrParameter is wrapped by the errors of the constructors.
var ErrParameter = errors.New("mechanisms: invalid parameter")

// A Mechanism adds noise to each coordinate of an integer vector whose exact
// value one privacy unit changes by no more than a sensitivity. Its sampler and
// its event are one value: who prices Event and draws by Sample cannot charge
// for other noise than is drawn. Mechanisms are immutable and safe for
// concurrent use; the zero value of each draws nothing and panics instead.
type Mechanism interface {
	// Event describes the release of one vector, for a pricer.
	Event() dp.Event
	// Sample sets z to the noise of one coordinate, in lattice units, and
	// returns z, as math/big does: noise may be of any size, and a caller that
	// draws often does not allocate. Each coordinate needs a draw of its own.
	Sample(z *big.Int, src Source) *big.Int
	// Quantile returns an integer c, in lattice units, with P(|noise| > c) ≤ alpha:
	// the smallest, except where the mechanism's comment says otherwise, and
	// rounded up to a double. It is 0 for alpha ≥ 1, and +Inf where no double
	// can tell: alpha below 1e−300, or not a number.
	Quantile(alpha float64) float64
	// StdDev returns the noise's standard deviation in lattice units.
	StdDev() float64
	// String writes the mechanism for plans.
	String() string
}

const (
	// leastAlpha is the least tail probability that is computed.
	leastAlpha = 1e-300
	// tailSlack is more than the relative error of a tail probability computed
	// in doubles here: exponents below 800, each with a few roundings.
	tailSlack = 1e-11
	// exactDouble is the largest double below which a quantile is searched for
	// integer by integer; above, one lattice unit is no loss.
	exactDouble = 1 << 40
)

// trivialQuantile answers the values of alpha at which the law does not matter.
func trivialQuantile(alpha float64) (c float64, ok bool) {
	switch {
	case alpha >= 1:
		return 0, true
	case !(alpha >= leastAlpha): // a NaN too
		return math.Inf(1), true
	}
	return 0, false
}

// ceilDiv returns ⌈a/b⌉ for a ≥ 0 and b > 0.
func ceilDiv(a, b *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(a, b, new(big.Int))
	if r.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q
}
