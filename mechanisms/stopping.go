package mechanisms

import (
	"encoding/json"
	"fmt"
	"math"
)

const (
	// maxLooks bounds the number of looks of a [Looks].
	maxLooks = 1 << 20
	// ruleSlack is more than the relative error of a few operations on doubles.
	ruleSlack = 1e-12
)

// A Boundary bounds the errors of the estimates at which a chain may stop. All of
// it is computed from releases. The promise of one that is not of this package is
// up to its author.
type Boundary interface {
	// HalfWidth returns c such that, with the probability that the boundary
	// promises, |error| ≤ c at every look, if look is counted from 1 and sigma is
	// the estimate's there. It increases with sigma. It is +Inf where nothing can
	// be said.
	HalfWidth(look int, sigma float64) float64
}

// Looks is the boundary for a number of looks that was fixed in advance, at
// precisions that were fixed in advance too: only whether there is another look
// may depend on releases. The union of the looks' errors has probability β at
// most if each has β/K.
//
// The bound of a look is the lesser of z·σ + ½, z = Φ⁻¹(1 − β/(2K)), and
// σ·√(2·ln(2K/β)). The second holds for every sub-Gaussian error. The first is the
// normal quantile, and half a lattice unit, which is needed: P(|N(0, v)| ≥ m) of
// discrete noise is up to the P(|x| ≥ m − ½) of continuous noise, and no more (for
// v ≥ 1, by the convexity of the density beyond √v and its concavity within; z is
// taken as 1 at least). For a mean of several measurements, whose lattice is
// finer, that is conservative.
type Looks struct {
	beta  float64
	looks int
	z     float64
}

var _ Boundary = Looks{}

// NewLooks returns the boundary that holds at all of the looks at once with
// probability 1 − beta.
func NewLooks(beta float64, looks int) (Looks, error) {
	z, err := LooksQuantile(beta, looks)
	if err != nil {
		return Looks{}, err
	}
	return Looks{beta, looks, z}, nil
}

// LooksQuantile returns z = Φ⁻¹(1 − beta/(2·looks)), rounded up: that many standard
// deviations hold a normal error at each of the looks with probability 1 − beta.
func LooksQuantile(beta float64, looks int) (float64, error) {
	switch {
	case !(beta >= leastAlpha && beta < 1):
		return 0, fmt.Errorf("%w: an error probability of %v", ErrParameter, beta)
	case looks < 1 || looks > maxLooks:
		return 0, fmt.Errorf("%w: %d looks", ErrParameter, looks)
	}
	return normalQuantile(beta / float64(looks)), nil
}

// normalQuantile returns the least z ≥ 0 with P(|N(0, 1)| > z) ≤ alpha.
func normalQuantile(alpha float64) float64 {
	low, high := 0.0, 40.0
	for range 64 {
		mid := (low + high) / 2
		if math.Erfc(mid/math.Sqrt2) <= alpha*(1-tailSlack) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// HalfWidth implements Boundary. There is nothing to say beyond the last look.
func (l Looks) HalfWidth(look int, sigma float64) float64 {
	if look < 1 || look > l.looks || !(sigma >= 0) {
		return math.Inf(1)
	}
	normal := math.Max(l.z, 1)*sigma + 0.5
	return math.Min(normal, math.Sqrt(2*math.Log(2*float64(l.looks)/l.beta))*sigma)
}

// Anytime is the boundary for any number of looks at any precisions, each of which
// may depend on all that was released before. With s = 1/σ² and a parameter τ > 0,
// which is chosen before anything is measured, as β is, the error of an estimate
// stays, at all times at once with probability 1 − β, within
//
//	√((s + τ)·(ln((s + τ)/τ) + 2·ln(1/β)))/s,
//
// since s times the error is a sum of independent sub-Gaussian terms with the
// variances 1/v, whose mixture supermartingale this is [Robbins 1970; Howard et
// al. 2021]. That needs no lattice correction. In units of σ it is narrowest, and
// close to 3 for β = 0.05, at the precision for which it was made; tenfold more or
// less precision widens it by a tenth or a quarter.
//
// The times are those of all sessions together in which the same exact values are
// measured and the measurements remembered. A boundary that is tuned anew in each
// of them, to the precision that is wanted now, is left more and more often.
//
// It can be stored as JSON: {"beta": β, "sigma": σ}.
type Anytime struct {
	beta, sigma float64 // as chosen
	logBeta     float64 // 2·ln(1/β)
	tau         float64
}

var (
	_ Boundary       = Anytime{}
	_ json.Marshaler = Anytime{}
)

// NewAnytime returns the boundary that holds at all times at once with probability
// 1 − beta, and is narrowest at sigma, which must be chosen in advance.
func NewAnytime(beta, sigma float64) (Anytime, error) {
	switch {
	case !(beta >= leastAlpha && beta < 1):
		return Anytime{}, fmt.Errorf("%w: an error probability of %v", ErrParameter, beta)
	case !(sigma >= 1e-100 && sigma <= 1e100):
		return Anytime{}, fmt.Errorf("%w: a standard deviation of %v", ErrParameter, sigma)
	}
	logBeta := -2 * math.Log(beta)
	// The width in units of σ is √((1 + 1/x)·(ln(1 + x) + 2·ln(1/β))) with x = s/τ,
	// and least where x is the second factor.
	x := logBeta + 1
	for range 64 {
		x = math.Log1p(x) + logBeta
	}
	return Anytime{beta, sigma, logBeta, 1 / (sigma * sigma * x)}, nil
}

// anytimeJSON is an Anytime as it is stored.
type anytimeJSON struct {
	Beta  float64 `json:"beta"`
	Sigma float64 `json:"sigma"`
}

// MarshalJSON implements json.Marshaler.
func (a Anytime) MarshalJSON() ([]byte, error) { return json.Marshal(anytimeJSON{a.beta, a.sigma}) }

// UnmarshalJSON implements json.Unmarshaler. It wraps ErrParameter for a value
// that NewAnytime would not return.
func (a *Anytime) UnmarshalJSON(text []byte) error {
	var stored anytimeJSON
	if err := json.Unmarshal(text, &stored); err != nil {
		return err
	}
	read, err := NewAnytime(stored.Beta, stored.Sigma)
	if err != nil {
		return err
	}
	*a = read
	return nil
}

// valid reports whether a is from NewAnytime.
func (a Anytime) valid() bool { return a.tau > 0 }

// equal reports whether both were chosen alike.
func (a Anytime) equal(other Anytime) bool { return a.beta == other.beta && a.sigma == other.sigma }

// HalfWidth implements Boundary. It is the same at every look.
func (a Anytime) HalfWidth(_ int, sigma float64) float64 {
	if !(sigma > 0) || math.IsInf(sigma, 1) {
		return math.Inf(1)
	}
	x := 1 / (sigma * sigma * a.tau)
	return math.Sqrt((1+1/x)*(math.Log1p(x)+a.logBeta)) * sigma * (1 + ruleSlack)
}

// A Rule says when an estimate is good enough. It sees releases, and nothing
// else: a rule that saw the exact value would void every guarantee.
type Rule interface {
	// Met reports whether the estimate meets the target at this look.
	Met(look int, e Estimate) bool
	// HalfWidth returns half the width of the confidence interval around an
	// estimate at which the chain stopped at this look, whether it met its target
	// or not. The interval is as confident as the rule's boundary.
	HalfWidth(look int, e Estimate) float64
	// Need returns the largest sigma at which the estimate's value would meet the
	// target at this look, 0 if there is none.
	Need(look int, e Estimate) float64
	// Within returns the rule's boundary.
	Within() Boundary
}

// RelativeError is the rule |Y − f| ≤ r·|f|, in the probability of its boundary. It
// is met where the error's bound c has c·(1 + r)/r ≤ |Y|: as |Y| ≤ |f| + c, that
// implies c ≤ r·|f|.
//
// Stopping at a data-dependent look makes the last estimate biased away from zero,
// and the quantile of one look, such as 1.96, does not hold there.
type RelativeError struct {
	r      float64
	within Boundary
}

var _ Rule = RelativeError{}

// NewRelativeError returns the rule for a relative error r, from above 0 to 1.
func NewRelativeError(r float64, within Boundary) (RelativeError, error) {
	if !(r > 0 && r <= 1) || within == nil {
		return RelativeError{}, fmt.Errorf("%w: a relative error of %v", ErrParameter, r)
	}
	return RelativeError{r, within}, nil
}

// Met implements Rule.
func (rule RelativeError) Met(look int, e Estimate) bool {
	return MeetsRelative(rule.HalfWidth(look, e), rule.r, size(e))
}

// MeetsRelative reports whether an error of at most halfWidth is at most r of the
// truth, relatively, when the estimate is y: halfWidth·(1 + r)/r ≤ |y|.
func MeetsRelative(halfWidth, r, y float64) bool {
	return halfWidth*(1+r)*(1+ruleSlack) <= r*math.Abs(y)
}

// Within implements Rule.
func (rule RelativeError) Within() Boundary { return rule.within }

// HalfWidth implements Rule.
func (rule RelativeError) HalfWidth(look int, e Estimate) float64 {
	return rule.within.HalfWidth(look, e.Sigma)
}

// Need implements Rule.
func (rule RelativeError) Need(look int, e Estimate) float64 {
	return widest(rule.within, look, rule.r*math.Abs(size(e))/(1+rule.r))
}

// AbsoluteError is the rule |Y − f| ≤ c, in the probability of its boundary.
type AbsoluteError struct {
	c      float64
	within Boundary
}

var _ Rule = AbsoluteError{}

// NewAbsoluteError returns the rule for an error of c > 0 lattice units.
func NewAbsoluteError(c float64, within Boundary) (AbsoluteError, error) {
	if !(c > 0) || math.IsInf(c, 1) || within == nil {
		return AbsoluteError{}, fmt.Errorf("%w: an absolute error of %v", ErrParameter, c)
	}
	return AbsoluteError{c, within}, nil
}

// Met implements Rule.
func (rule AbsoluteError) Met(look int, e Estimate) bool { return rule.HalfWidth(look, e) <= rule.c }

// Within implements Rule.
func (rule AbsoluteError) Within() Boundary { return rule.within }

// HalfWidth implements Rule.
func (rule AbsoluteError) HalfWidth(look int, e Estimate) float64 {
	return rule.within.HalfWidth(look, e.Sigma)
}

// Need implements Rule.
func (rule AbsoluteError) Need(look int, _ Estimate) float64 {
	return widest(rule.within, look, rule.c)
}

// size returns the estimate as a double.
func size(e Estimate) float64 {
	if e.Value == nil {
		return 0
	}
	y, _ := e.Value.Float64()
	return y
}

// widest returns the largest sigma whose bound is at most c, or 0. It halves the
// exponents of doubles first.
func widest(within Boundary, look int, c float64) float64 {
	const least, most = -200, 200
	low, high := math.Ldexp(1, least), math.Ldexp(1, most)
	if !(within.HalfWidth(look, low) <= c) {
		return 0
	}
	for range 200 {
		mid := math.Sqrt(low) * math.Sqrt(high)
		if within.HalfWidth(look, mid) <= c {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}
