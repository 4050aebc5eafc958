package pld

import (
	"math"
	"slices"

	"dpproxy/internal/gausssum"
)

// A source is a dominating pair that can be brought to any grid. Sources are
// comparable, so that equal ones are computed once.
type source interface {
	// bounds returns an interval that holds the loss, or all of it but a tail of
	// 10⁻²⁶ on each side.
	bounds() (low, high float64)
	// fill puts all mass into the builder.
	fill(b *builder)
}

// tailReach is the number of standard deviations beyond which the loss of one
// coordinate is cut off, and counts as infinite: exp(−11²/2) is 5·10⁻²⁷, so
// little that 2⁴⁰ coordinates do not show in a δ of 10⁻¹².
const tailReach = 11

// discretise brings one source to a grid.
func discretise(s source, step float64) (part, error) {
	low, high := s.bounds()
	b, err := newBuilder(step, low, high)
	if err != nil {
		return part{}, err
	}
	s.fill(b)
	return b.part(high), nil
}

// response is the pair of randomised response: the loss is ε with probability
// exp(ε)/(1+exp(ε)), else −ε.
type response struct{ epsilon float64 }

func (r response) bounds() (low, high float64) { return -r.epsilon, r.epsilon }

func (r response) fill(b *builder) {
	truth := 1 / (1 + math.Exp(-r.epsilon))
	b.atom(r.epsilon*(1+floatSlack)+2*floatSlack, truth*(1+floatSlack))
	b.atom(-r.epsilon*(1-floatSlack)+2*floatSlack, math.Exp(-r.epsilon)*truth*(1+floatSlack))
}

// ranged is the pair that dominates every pair whose losses lie in an interval of
// width ε that holds 0. Among those, the largest δ at x has the two losses
// (x+ε)/2 and (x−ε)/2, and is (exp(ε/2) − exp(x/2))²/(exp(ε) − 1), for |x| ≤ ε: the
// curve of the densities exp(±x/2)/(4·sinh(ε/2)), P with the sign +, Q with −.
type ranged struct{ epsilon float64 }

func (r ranged) bounds() (low, high float64) { return -r.epsilon, r.epsilon }

func (r ranged) fill(b *builder) {
	e := math.Min(r.epsilon*(1+floatSlack), farLoss)
	// The masses between two losses, from antiderivatives 2·exp(±x/2): the
	// difference is exp((u+v)/4)·2·sinh((v−u)/4), and no digits cancel.
	norm := 2 * math.Sinh(e/2)
	for i := int64(math.Floor(-e / b.step)); float64(i)*b.step < e; i++ {
		low, high := math.Max(-e, float64(i)*b.step), math.Min(e, float64(i+1)*b.step)
		width := 2 * math.Sinh((high-low)/4) / norm
		p, q := width*math.Exp((low+high)/4), width*math.Exp(-(low+high)/4)
		b.cell(i, p*(1+floatSlack), q*(1-2*floatSlack))
	}
	if e == farLoss && r.epsilon > farLoss {
		b.infinite = 1
	}
}

// noise is the pair (f, f(·−shift)) of integer noise with a law f proportional to
// a kernel up to the boundary, and to 1−recycle times the kernel beyond.
type noise struct {
	laplace  bool
	spread   float64 // the kernel's scale, or its variance
	shift    float64
	boundary float64
	recycle  float64
	total    float64 // the sum of a Gaussian kernel's weights; fill sets it
}

// bounds implements source.
func (n noise) bounds() (low, high float64) {
	extra := -math.Log1p(-n.recycle)
	if n.laplace {
		high = n.shift / n.spread
	} else {
		mu := n.shift / math.Sqrt(n.spread)
		high = mu*mu/2 + tailReach*mu
	}
	return -high - extra, high + extra
}

// slack returns the relative error granted to a mass between two losses.
func (n noise) slack(step float64) float64 {
	if n.laplace {
		return floatSlack
	}
	// A sum of weights, and the total, are each right to 10⁻¹¹; sums of ranges
	// much shorter than the deviation lose digits in proportion.
	return 4e-11 + 1e-14*n.shift/math.Sqrt(n.spread)/step
}

// mass returns the kernel's probability of a ≤ n ≤ b. Laplace noise wants a range
// on one side of 0.
func (n noise) mass(a, b float64) float64 {
	if !n.laplace {
		return gausssum.Between(n.spread, 0, a, b) / n.total
	}
	if b < a {
		return 0
	}
	if b <= 0 {
		a, b = -b, -a
	}
	p := math.Exp(-1 / n.spread)
	return math.Exp(-a/n.spread) * -math.Expm1(-(b-a+1)/n.spread) / (1 + p)
}

// fill implements source. Between the places where a weight or the formula of the
// loss changes, the loss is linear in the output.
func (n noise) fill(b *builder) {
	starts := []float64{math.Inf(-1), math.Inf(1)}
	if n.laplace {
		starts = append(starts, 0, n.shift)
	} else {
		n.total = gausssum.Total(n.spread, 0)
	}
	if n.recycle > 0 {
		starts = append(starts, -n.boundary, n.boundary+1, n.shift-n.boundary, n.shift+n.boundary+1)
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	for i, from := range starts[:len(starts)-1] {
		n.fillRange(b, from, starts[i+1]-1)
	}
}

// weight returns the part of the kernel's probability of y that recycling leaves.
func (n noise) weight(y float64) float64 {
	inside := 1.0
	if math.Abs(y) > n.boundary {
		inside = 1 - n.recycle
	}
	outside := 1.0
	if n.recycle > 0 {
		outside = 1 - n.recycle*2*n.mass(n.boundary+1, math.Inf(1))
	}
	return inside / outside
}

// fillRange adds the outputs first ≤ y ≤ to, on which the loss is offset − slope·y.
func (n noise) fillRange(b *builder, first, to float64) {
	from, inside := first, first // an output in the range
	switch {
	case !math.IsInf(from, -1):
	case !math.IsInf(to, 1):
		inside = to
	default:
		inside = 0
	}
	weightP, weightQ := n.weight(inside), n.weight(inside-n.shift)
	offset, slope := n.line(inside)
	offset += math.Log(weightP / weightQ)
	slack := n.slack(b.step)
	masses := func(y, z float64) (p, q float64) {
		p, q = weightP*n.mass(y, z), weightQ*n.mass(y-n.shift, z-n.shift)
		return p * (1 + slack), q * (1 - 2*slack)
	}
	if slope == 0 {
		p, _ := masses(from, to)
		b.atom(offset+4*slack, p)
		return
	}
	low, high := n.bounds()
	low, high = math.Max(low*(1+1e-9), -farLoss), math.Min(high*(1+1e-9), farLoss)
	if offset-slope*from > high {
		from = math.Ceil((offset - high) / slope)
		p, _ := masses(first, math.Min(from-1, to))
		b.infinite += p
	}
	end := to
	if offset-slope*to < low {
		end = math.Max(from-1, math.Floor((offset-low)/slope))
		p, _ := masses(end+1, to)
		b.add(b.first, p)
	}
	for y := from; y <= end; {
		// Losses are raised by less than masses are (three slacks), so that mass
		// that rounding puts into the wrong cell is covered.
		i := math.Floor((offset - slope*y + 2*slack) / b.step)
		z := math.Max(y, math.Min(end, math.Floor((offset+2*slack-i*b.step)/slope)))
		p, q := masses(y, z)
		b.cell(int64(i), p, q)
		y = math.Max(z+1, math.Nextafter(z, math.Inf(1)))
	}
}

// line returns the kernel's loss around the output y as offset − slope·y.
func (n noise) line(y float64) (offset, slope float64) {
	switch {
	case !n.laplace:
		return n.shift * n.shift / (2 * n.spread), n.shift / n.spread
	case y < 0:
		return n.shift / n.spread, 0
	case y >= n.shift:
		return -n.shift / n.spread, 0
	}
	return n.shift / n.spread, 2 / n.spread
}
