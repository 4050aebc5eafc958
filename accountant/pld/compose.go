package pld

import (
	"fmt"
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"
)

const (
	// maxTransform bounds the points of a Fourier transform. Where the step asks
	// for more, it is doubled.
	maxTransform = 1 << 20
	// outside bounds the probability of losses above the transform's window, as
	// a part of the δ in question. It is added to δ.
	outside = 1e-9
	// fftError is more than the relative error, in the Euclidean norm, of a
	// transform of maxTransform points: each of its 20 stages has at most 10
	// roundings of 2⁻⁵³ [Higham 2002, Theorem 24.2].
	fftError = 0x1p-44
	// maxRetries bounds the search for a tilt whose window goes down to where the
	// answer is. The results of the last one are bounds too.
	maxRetries = 4
	// powerError is the relative error of a product, in parts of fftError: that of
	// a power zⁿ is n times 2⁻⁵¹ or less.
	powerError = 0x1p-7
)

// Delta returns the least δ for which d shows (ε, δ)-differential privacy, as an
// upper bound, for ε ≥ 0.
func (d Distribution) Delta(epsilon float64) (float64, error) {
	if !(epsilon >= 0) {
		return 0, fmt.Errorf("%w: an epsilon of %g", ErrParameter, epsilon)
	}
	if len(d.parts) == 0 {
		return math.Min(1, d.failure+d.gaussian.delta(epsilon)), nil
	}
	switch {
	case d.infinite() >= 1:
		return 1, nil
	case epsilon >= d.most():
		return d.failure, nil
	}
	bound := func(s float64) float64 { return d.logMoment(s) - s*epsilon - logGain(s) }
	tilt := d.minimise(bound)
	target := math.Exp(math.Min(0, bound(tilt)))
	c := d.compose(tilt, target)
	for n := 0; n < maxRetries && !c.reaches(epsilon); n++ {
		tilt /= 16
		c = d.compose(tilt, target)
	}
	return c.delta(epsilon), nil
}

// Epsilon returns the least ε ≥ 0 for which d shows (ε, δ)-differential privacy,
// as an upper bound, for 0 < δ < 1. It is +Inf if an infinite loss has a
// probability of δ or more.
func (d Distribution) Epsilon(delta float64) (float64, error) {
	if !(delta > 0 && delta < 1) {
		return 0, fmt.Errorf("%w: a delta of %g", ErrParameter, delta)
	}
	left := delta - d.infinite()
	switch {
	case left <= 0:
		return math.Inf(1), nil
	case len(d.parts) == 0:
		return d.gaussian.epsilon(left), nil
	}
	tilt := d.minimise(func(s float64) float64 { return (d.logMoment(s) - logGain(s) - math.Log(left)) / s })
	c := d.compose(tilt, left)
	for n := 0; n < maxRetries && c.base+c.hinge[0] <= delta && !c.reaches(0); n++ {
		tilt /= 16
		c = d.compose(tilt, left)
	}
	return math.Min(c.epsilon(delta), d.most()), nil
}

// logGain returns −ln of the largest max(0, 1−exp(−u))·exp(−s·u), by which
// δ(ε) ≤ E[exp(s·(loss−ε))]·exp(−logGain(s)) improves upon Chernoff's bound.
func logGain(s float64) float64 { return (1+s)*math.Log1p(s) - s*math.Log(s) }

// logMoment returns ln E[exp(s·loss)], without the infinite losses.
func (d Distribution) logMoment(s float64) float64 {
	sum := 0.0
	for _, p := range d.parts {
		sum += float64(p.repeats) * p.logMoment(s, d.step)
	}
	return sum
}

// logMoment sums from the largest term's end, as a polynomial (Horner).
func (p part) logMoment(s, step float64) float64 {
	sum, n := 0.0, len(p.mass)
	factor, end := math.Exp(-math.Abs(s)*step), p.last()
	if s < 0 {
		end = p.first
	}
	for i := range n {
		if s < 0 {
			sum = sum*factor + p.mass[n-1-i]
		} else {
			sum = sum*factor + p.mass[i]
		}
	}
	return math.Log(sum) + s*step*float64(end)
}

// chernoff returns the s > 0 with the least x such that P(loss ≥ x) ≤ probability
// by Chernoff's bound, x = (ln E[exp(s·loss)] − ln probability)/s.
func (d Distribution) chernoff(probability float64) float64 {
	return d.minimise(func(s float64) float64 { return (d.logMoment(s) - math.Log(probability)) / s })
}

// maxExponent bounds s·loss over all losses, for the precision of exponentials.
const maxExponent = 1e5

// minimise searches s > 0 for the minimum of a function with one valley, by
// golden sections of ln s. The bounds that it serves hold at every s.
func (d Distribution) minimise(f func(s float64) float64) float64 {
	const golden = 0.6180339887498949
	largest := float64(max(d.last(), -d.first(), 1)) * d.step
	high := math.Log(maxExponent / largest)
	low := high - math.Log(1e12)
	a, b := high-golden*(high-low), low+golden*(high-low)
	fa, fb := f(math.Exp(a)), f(math.Exp(b))
	for range 48 {
		if fa <= fb {
			high, b, fb = b, a, fa
			a = high - golden*(high-low)
			fa = f(math.Exp(a))
		} else {
			low, a, fa = a, b, fb
			b = low + golden*(high-low)
			fb = f(math.Exp(b))
		}
	}
	return math.Exp((low + high) / 2)
}

// A curve is δ(ε) of a composition, by the points of a window of the grid.
type curve struct {
	step  float64
	first int64
	base  float64   // infinite losses, and those above the window
	above []float64 // above[i] is the mass of the finite losses above point i
	hinge []float64 // hinge[i] is δ at the loss of point i, without base
}

// compose computes the part of the sum's law that decides δ(ε) where it is about
// target. Each law is weighted with exp(tilt·loss) and normalised, such that the
// sum's weighted law has its middle about there. Its sum modulo the window is exact
// but for rounding; mass that leaves the window below comes back above, where it
// only raises δ, and mass that leaves it above is bounded and added to base.
func (d Distribution) compose(tilt, target float64) curve {
	low, high := d.window(tilt, target)
	for ; high-low >= maxTransform; low, high = d.window(tilt, target) {
		d = d.coarser()
	}
	size := 4
	for int64(size) <= high-low {
		size *= 2
	}
	weighted, slack := d.convolve(tilt, low, size)
	c := curve{step: d.step, first: low, above: make([]float64, size), hinge: make([]float64, size)}
	top := float64(low+int64(size)) * d.step
	s := d.chernoff(target * outside)
	c.base = d.infinite()
	if low+int64(size) <= d.last() {
		c.base += math.Exp(d.logMoment(s)-s*top) * (1 + outside)
	}
	shrink, moment := math.Exp(-d.step), d.logMoment(tilt)
	for i := size - 2; i >= 0; i-- {
		x := float64(low+int64(i)+1) * d.step
		mass := (math.Max(0, weighted[i+1]) + slack) * math.Exp(moment-tilt*x) * (1 + momentError)
		c.above[i] = c.above[i+1] + mass
		// Each loss x above counts 1 − exp(ε − x), here with ε lower by a step.
		c.hinge[i] = c.hinge[i+1]*shrink + c.above[i]*-math.Expm1(-d.step)
	}
	return c
}

// momentError is more than the relative error of exp(moment − tilt·x): exponents
// up to maxExponent with a few roundings of 2⁻⁵³.
const momentError = 1e-9

// last returns the largest finite loss of the sum, in steps.
func (d Distribution) last() int64 {
	sum := int64(0)
	for _, p := range d.parts {
		sum += p.repeats * p.last()
	}
	return sum
}

// first returns the smallest loss of the sum, in steps.
func (d Distribution) first() int64 {
	sum := int64(0)
	for _, p := range d.parts {
		sum += p.repeats * p.first
	}
	return sum
}

// window returns the points between which the sum's weighted law lies but for
// little, by Chernoff's bound on both sides.
func (d Distribution) window(tilt, target float64) (low, high int64) {
	s := d.chernoff(target * outside)
	top := (d.logMoment(s) - math.Log(target*outside)) / s
	moment := d.logMoment(tilt)
	below := func(s float64) float64 { return (d.logMoment(tilt-s) - moment - math.Log(outside*outside)) / s }
	bottom := -below(d.minimise(below))
	low, high = d.first(), d.last()
	if x := math.Floor(bottom / d.step); x > float64(low) {
		low = int64(math.Min(x, float64(high)))
	}
	if x := math.Ceil(top / d.step); x < float64(high) {
		high = int64(math.Max(x, float64(low)))
	}
	return low, high
}

// convolve returns the sum's weighted law modulo size, from the point low on, and
// a bound of the error of each value. If the transform z of one law t has the
// relative error η, its power n changes each value of the result by at most the
// mean of n·|z|ⁿ⁻¹·|error of z|, as the other factors are at most 1, and so by
// n·η·‖t‖ times the root mean square of |z|ⁿ⁻¹.
func (d Distribution) convolve(tilt float64, low int64, size int) (weighted []float64, slack float64) {
	fft := fourier.NewFFT(size)
	product := make([]complex128, size/2+1)
	for i := range product {
		product[i] = 1
	}
	errors := 2.0
	sequence, spectrum := make([]float64, size), make([]complex128, size/2+1)
	for _, p := range d.parts {
		clear(sequence)
		moment, norm := p.logMoment(tilt, d.step), 0.0
		for i, mass := range p.mass {
			if mass > 0 {
				t := mass * math.Exp(tilt*d.step*float64(p.first+int64(i))-moment)
				sequence[i%size] += t
				norm += t * t
			}
		}
		fft.Coefficients(spectrum, sequence)
		square := 0.0
		for i, z := range spectrum {
			others := power(z, p.repeats-1)
			product[i] *= others * z
			square += real(others)*real(others) + imag(others)*imag(others)
		}
		each := powerError + math.Sqrt(norm)*math.Ceil(float64(len(p.mass))/float64(size))
		errors += float64(p.repeats) * each * math.Sqrt(square/float64(len(spectrum)))
	}
	fft.Sequence(sequence, product)
	weighted = make([]float64, size)
	// Index 0 of the sequence is the sum's smallest loss.
	at := (low - d.first()) % int64(size)
	for i := range weighted {
		weighted[i] = sequence[(int(at)+i)%size] / float64(size)
	}
	return weighted, errors * fftError
}

// power returns zⁿ.
func power(z complex128, n int64) complex128 {
	if z == 0 || cmplx.IsNaN(z) {
		return 0
	}
	result := complex128(1)
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			result *= z
		}
		z *= z
	}
	return result
}

// coarser returns d on the grid with twice the step: the mass of an odd point is
// split between its neighbours.
func (d Distribution) coarser() Distribution {
	wide := d
	wide.step *= 2
	wide.parts = make([]part, len(d.parts))
	for k, p := range d.parts {
		first := p.first >> 1
		q := part{first: first, mass: make([]float64, (p.last()+1)>>1-first+1), infinite: p.infinite, most: p.most, repeats: p.repeats}
		upper := math.Expm1(-d.step) / math.Expm1(-2*d.step)
		for i, mass := range p.mass {
			at := p.first + int64(i)
			j := at>>1 - first
			if at&1 == 0 {
				q.mass[j] += mass
				continue
			}
			q.mass[j] += mass * (1 - upper)
			q.mass[j+1] += mass * upper * (1 + floatSlack)
		}
		wide.parts[k] = q
	}
	return wide
}

// reaches reports whether ε is not below the window.
func (c curve) reaches(epsilon float64) bool { return math.Floor(epsilon/c.step) >= float64(c.first) }

// delta returns δ(ε). Between two points it is linear in exp(ε).
func (c curve) delta(epsilon float64) float64 {
	i := int64(math.Floor(epsilon/c.step)) - c.first
	switch {
	case i >= int64(len(c.hinge)):
		return math.Min(1, c.base)
	case i < 0:
		return 1
	}
	low := float64(c.first+i) * c.step
	// δ falls from hinge[i] with the slope −(above − hinge) in exp(ε − low).
	value := c.hinge[i] - (c.above[i]-c.hinge[i])*math.Expm1(epsilon-low)
	if i+1 < int64(len(c.hinge)) {
		value = math.Max(value, c.hinge[i+1])
	}
	return math.Min(1, c.base+value*(1+floatSlack))
}

// epsilon returns the least ε ≥ 0 at which delta is at most δ.
func (c curve) epsilon(delta float64) float64 {
	if c.first <= 0 && c.delta(0) <= delta {
		return 0
	}
	low, high := 0, len(c.hinge)-1
	if c.base+c.hinge[high] > delta {
		return math.Inf(1)
	}
	if c.base+c.hinge[low] <= delta {
		return math.Max(0, float64(c.first)*c.step)
	}
	for high-low > 1 {
		mid := (low + high) / 2
		if c.base+c.hinge[mid]*(1+floatSlack) <= delta {
			high = mid
		} else {
			low = mid
		}
	}
	from, to := float64(c.first+int64(low))*c.step, float64(c.first+int64(high))*c.step
	for range 60 {
		mid := (from + to) / 2
		if c.delta(mid) <= delta {
			to = mid
		} else {
			from = mid
		}
	}
	return math.Max(0, to)
}
