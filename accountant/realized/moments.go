package realized

import "math"

// Moments is the state of one object that answered about a number with two kinds
// of bits: of its value x, brought to [−1, 1], by bits about (1+x)/2, and of its
// square x² in [0, 1], from which means and variances are estimated [Ding et al.
// 2018; Pan 2023, Appendix A]. Both kinds are [Bits], and both tell about x, so
// that their losses do not add up. The zero Moments has no output yet.
type Moments struct {
	mean, square Bits
}

// ObserveMean adds bits about (1+x)/2.
func (m *Moments) ObserveMean(epsilon float64, ones, zeros int64) error {
	return m.mean.Observe(epsilon, ones, zeros)
}

// ObserveSquare adds bits about x².
func (m *Moments) ObserveSquare(epsilon float64, ones, zeros int64) error {
	return m.square.Observe(epsilon, ones, zeros)
}

// LogLikelihood returns ln P(x) for x in [−1, 1].
func (m *Moments) LogLikelihood(x float64) float64 {
	return m.mean.LogLikelihood((1+x)/2) + m.square.LogLikelihood(x*x)
}

const (
	// momentsError is the most by which Loss may be too large, where maxBoxes suffice.
	momentsError = 1e-9
	// maxBoxes bounds the work of one extremum.
	maxBoxes = 1 << 16
)

// Loss returns ℒ, rounded up by 2·10⁻⁹ or, for very many bits or a large ε, more.
// ln P is neither convex nor concave: both extrema are enclosed by bisection, with
// the bound |f(x) − f(c)| ≤ |f′(c)|·r + max|f″|·r²/2 on |x−c| ≤ r, or, if that is
// closer, by the ends of each summand, which are monotone.
func (m *Moments) Loss() float64 {
	size := 1.0
	for _, b := range []*Bits{&m.mean, &m.square} {
		for _, l := range b.levels {
			size += float64(l.ones+l.zero) * (l.epsilon + 1)
		}
	}
	return up(m.bound(1)+m.bound(-1), size)
}

// A box is an interval of x and a bound of sign·ln P on it.
type box struct{ low, high, bound float64 }

// bound returns an upper bound of sign·ln P.
func (m *Moments) bound(sign float64) float64 {
	found, top := math.Inf(-1), math.Inf(-1) // the largest value seen, and bound dropped
	inspect := func(low, high float64) box {
		c, r := (low+high)/2, (high-low)/2
		for _, x := range []float64{low, c, high} {
			found = math.Max(found, sign*m.LogLikelihood(x))
		}
		slope, curve := m.derivatives(c, low, high)
		least, most := m.enclose(low, high)
		bound := math.Max(sign*least, sign*most)
		if closer := sign*m.LogLikelihood(c) + math.Abs(slope)*r + curve*r*r/2; closer < bound {
			bound = closer
		}
		return box{low, high, bound}
	}
	boxes := []box{inspect(-1, 0), inspect(0, 1)}
	for seen := 0; len(boxes) > 0; seen++ {
		b := boxes[len(boxes)-1]
		boxes = boxes[:len(boxes)-1]
		if b.bound <= found+momentsError || seen > maxBoxes {
			top = math.Max(top, b.bound)
			continue
		}
		c := (b.low + b.high) / 2
		boxes = append(boxes, inspect(b.low, c), inspect(c, b.high))
	}
	return math.Max(top, found)
}

// enclose bounds ln P from low to high, both on one side of 0.
func (m *Moments) enclose(low, high float64) (least, most float64) {
	least, most = m.mean.enclose((1+low)/2, (1+high)/2)
	near, far := min(low*low, high*high), max(low*low, high*high)
	least2, most2 := m.square.enclose(near, far)
	return least + least2, most + most2
}

// enclose bounds LogLikelihood from low to high: of each level, the logarithms of
// both probabilities are monotone.
func (b *Bits) enclose(low, high float64) (least, most float64) {
	for _, l := range b.levels {
		least += times(l.ones, math.Log(one(l.epsilon, low))) + times(l.zero, math.Log(one(l.epsilon, 1-high)))
		most += times(l.ones, math.Log(one(l.epsilon, high))) + times(l.zero, math.Log(one(l.epsilon, 1-low)))
	}
	return least, most
}

// derivatives returns the derivative of ln P at c, and a bound of the absolute
// second derivative from low to high, both on one side of 0.
func (m *Moments) derivatives(c, low, high float64) (slope, curve float64) {
	slope = m.mean.slope((1+c)/2)/2 + m.square.slope(c*c)*2*c
	_, curve = m.mean.steepest((1+low)/2, (1+high)/2)
	near, far := min(low*low, high*high), max(low*low, high*high)
	first, second := m.square.steepest(near, far)
	return slope, curve/4 + 4*far*second + 2*first
}

// steepest bounds the absolute first and second derivatives of LogLikelihood from
// low to high, where the probabilities of a one and of a zero are the least at
// opposite ends.
func (b *Bits) steepest(low, high float64) (first, second float64) {
	for _, l := range b.levels {
		gain := math.Tanh(l.epsilon / 2)
		p, q := gain/one(l.epsilon, low), gain/one(l.epsilon, 1-high)
		first += float64(l.ones)*p + float64(l.zero)*q
		second += float64(l.ones)*p*p + float64(l.zero)*q*q
	}
	return first, second
}
