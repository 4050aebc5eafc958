package brdp

import (
	"math"

	"dpproxy/internal/gausssum"
)

// precision is more than the relative error of every sum of weights here: each
// weight has an exponent with an error of 10⁻¹³ at most where it counts, and sums
// add positive terms only.
const precision = 1e-12

// A kernel is the law k of integer noise, symmetric and log-concave. Ranges a ≤ b
// are of integers; either end may be infinite.
type kernel interface {
	// logMass returns ln P(a ≤ n ≤ b).
	logMass(a, b float64) float64
	// slack is more than the relative errors of exp(logMass) and exp(logTilted).
	slack(a, b float64) float64
	// logTilted returns ln Σ k(n)^α·k(n−shift)^(1−α) over a range that holds no
	// bend inside.
	logTilted(alpha, shift, a, b float64) float64
	// bends returns where ranges of logTilted must end: the first of each next.
	bends(shift float64) []float64
	// crossing returns the y such that ln(k(n)/k(n−shift)) > x just for n < y.
	crossing(shift, x float64) float64
	// variance returns the law's variance, and tailSquare its part n ≥ m, for m ≥ 1.
	variance() float64
	tailSquare(m float64) float64
}

// laplace is the kernel P(n) ∝ exp(−rate·|n|).
type laplace struct{ rate float64 }

// logNorm returns ln P(0) = ln tanh(rate/2).
func (k laplace) logNorm() float64 { return math.Log(math.Tanh(k.rate / 2)) }

func (k laplace) logMass(a, b float64) float64 {
	switch {
	case a > 0:
		return k.logNorm() + geometric(-k.rate*a, k.rate, b-a+1)
	case b < 0:
		return k.logMass(-b, -a)
	}
	mass := 1 + math.Exp(geometric(-k.rate, k.rate, b)) + math.Exp(geometric(-k.rate, k.rate, -a))
	return k.logNorm() + math.Log(mass)
}

func (laplace) slack(float64, float64) float64 { return precision }

// logTilted sums exp(rate·x), where x = −α|n| − (1−α)|n−shift| is n + (α−1)·shift
// left of 0, (α−1)·shift − (2α−1)·n up to shift, and −n − (α−1)·shift beyond.
func (k laplace) logTilted(alpha, shift, a, b float64) float64 {
	tilt, count := (alpha-1)*shift, b-a+1
	switch {
	case b <= 0:
		return k.logNorm() + geometric(k.rate*(b+tilt), k.rate, count)
	case b <= shift:
		return k.logNorm() + geometric(k.rate*(tilt-(2*alpha-1)*a), k.rate*(2*alpha-1), count)
	}
	return k.logNorm() + geometric(-k.rate*(a+tilt), k.rate, count)
}

func (laplace) bends(shift float64) []float64 { return []float64{1, shift + 1} }

func (k laplace) crossing(shift, x float64) float64 {
	switch full := k.rate * shift; {
	case x >= full:
		return math.Inf(-1)
	case x < -full:
		return math.Inf(1)
	}
	return (shift - x/k.rate) / 2
}

func (k laplace) variance() float64 {
	s := math.Sinh(k.rate / 2)
	return 1 / (2 * s * s)
}

func (k laplace) tailSquare(m float64) float64 {
	p, rest := math.Exp(-k.rate), -math.Expm1(-k.rate)
	sum := m*m/rest + 2*m*p/(rest*rest) + p*(1+p)/(rest*rest*rest)
	return sum * math.Exp(k.logNorm()-k.rate*m)
}

// geometric returns the logarithm of exp(first)·Σ exp(−rate·j) over 0 ≤ j < count.
func geometric(first, rate, count float64) float64 {
	if count <= 0 {
		return math.Inf(-1)
	}
	return first + math.Log(-math.Expm1(-rate*count)) - math.Log(-math.Expm1(-rate))
}

// gaussian is the kernel P(n) ∝ exp(−n²/(2v)).
type gaussian struct {
	v, sigma, logTotal float64
	smooth             bool // replace sums by integrals: for searches only
}

const (
	// far is how many standard deviations away a sum is bounded instead of computed.
	far = 36
	// vanishing is where weights are nothing beside those nearer than far.
	vanishing = 40
	// short is the standard deviation up to which a second moment is summed term by
	// term, and from which on package gausssum does no sums.
	short = 512
	// smoothSigma is the standard deviation from which on the integral of a density
	// is close enough to a sum, to a percent, for a search.
	smoothSigma = 3
)

func newGaussian(v float64, smooth bool) gaussian {
	g := gaussian{v: v, sigma: math.Sqrt(v), smooth: smooth && v >= smoothSigma*smoothSigma}
	if v < 4 {
		g.logTotal = math.Log(gausssum.Total(v, 0))
	} else { // Poisson summation: the rest is below exp(−2π²v)
		g.logTotal = math.Log(2*math.Pi*v) / 2
	}
	return g
}

func (g gaussian) logMass(a, b float64) float64 { return g.logSum(0, a, b) - g.logTotal }

// slack adds the loss of a difference of two tails in ranges that are short beside
// a wide kernel, and the distance of the bound in logSum from the sum, 1/far².
func (g gaussian) slack(a, b float64) float64 {
	s := precision
	if width := b - a + 1; width >= termwise {
		s += 4e-15 * g.sigma / width
	}
	if max(a, -b) > far*g.sigma {
		s += 1.0 / (far * far)
	}
	return s
}

// logTilted uses that the exponent of k(n)^α·k(n−shift)^(1−α) is that of a
// Gaussian around h = (1−α)·shift, plus α(α−1)·shift²/(2v).
func (g gaussian) logTilted(alpha, shift, a, b float64) float64 {
	return alpha*(alpha-1)*(shift*shift/(2*g.v)) + g.logSum((1-alpha)*shift, a, b) - g.logTotal
}

// logSum returns ln Σ over a ≤ n ≤ b of exp(−(n−h)²/(2v)). More than far standard
// deviations from h, where doubles end, it returns the upper bound by the geometric
// series with the slope at the nearer end.
func (g gaussian) logSum(h, a, b float64) float64 {
	if b < h {
		h, a, b = -h, -b, -a
	}
	t := a - h
	if t > far*g.sigma {
		return geometric(-t*t/(2*g.v), t/g.v, b-a+1)
	}
	if t < -vanishing*g.sigma {
		a = math.Inf(-1)
	}
	if b-h > vanishing*g.sigma {
		b = math.Inf(1)
	}
	if g.smooth {
		unit := g.sigma * math.Sqrt2
		return math.Log(g.sigma * math.Sqrt(2*math.Pi) * gausssum.NormalBetween((a-0.5-h)/unit, (b+0.5-h)/unit))
	}
	whole := math.Floor(h)
	return math.Log(sumGaussian(g.v, h-whole, a-whole, b-whole))
}

func (gaussian) bends(float64) []float64 { return nil }

func (g gaussian) crossing(shift, x float64) float64 { return shift/2 - g.v*x/shift }

func (g gaussian) variance() float64 { return g.v }

// tailSquare sums narrow kernels term by term. For wide ones it integrates, by
// parts, from m − ½, which is right to a relative 1/v.
func (g gaussian) tailSquare(m float64) float64 {
	if g.sigma <= short {
		sum := 0.0
		for n := m + math.Ceil(vanishing*g.sigma); n >= m; n-- {
			sum += n * n * math.Exp(-n*n/(2*g.v)-g.logTotal)
		}
		return sum
	}
	x := m - 0.5
	return g.v * (math.Exp(g.logMass(m, math.Inf(1))) + x*math.Exp(-x*x/(2*g.v)-g.logTotal))
}
