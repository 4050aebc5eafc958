package mechanisms

import (
	"fmt"
	"math"
)

// RelativeStop is the rule that an estimate, rounded to an integer, is within r of the truth,
// relatively: |Y − f| ≤ r·|f|. It is met at standard deviation σ where
//
//	(z·σ + ½)·(1 + r) ≤ r·|Y|.
//
// With probability 1 − β the claim holds at all looks at once at which the rule is met, whatever
// decides how many looks there are, when, and at which precisions. [MeetsRelative] makes the same
// claim with an [Anytime] boundary, whose interval holds at all looks; here only the claim does,
// so that z is smaller: 2.5 for β = 0.05 and r = 10 %, where Anytime has 3.0, for two thirds of
// the price.
//
// The proof. Let s = 1/σ² and M = s·(y − f), where y is the estimate before it is rounded,
// |Y − y| ≤ ½. M is a sum of terms (Z − f)/v, each of which is sub-Gaussian with variance 1/v, given
// all before; s is the sum of 1/v. So exp(λ·M − λ²·s/2) is a supermartingale for each λ, and by Ville's
// inequality, with λ = 2b,
//
//	(1)  P(M ≥ a + b·s at any look) ≤ exp(−2ab)    for a, b > 0.
//
// Let f ≥ 0; the other case is its mirror image. Write A = z·(1 + r)/r and g = f − 1/(2r), so that
// r·g = r·f − ½. Suppose that the rule is met, |Y| ≥ A/√s + (1 + r)/(2r), and the claim fails.
//
// Too high, Y > (1 + r)·f: from Y − ½ ≤ y and both bounds of Y follows M ≥ s·(Y − ½ − f) ≥
// max(r·g·s, A·√s − g·s). If g > 0, let s₁ = (z/(r·g))², where the two are equal, and t = s/s₁. The
// line M = √s₁·z·(1 + t)/2 meets r·g·s = √s₁·z·t at t = 1 and is below it beyond; and it is below
// A·√s − g·s = √s₁·z·(√t·(1 + r) − t)/r for r/(2 + r) ≤ √t ≤ 1, since the difference of the two, as a
// polynomial in √t, is concave and has these two roots. By (1) M reaches that line with probability
// exp(−z²/2) at most. For smaller t, M ≥ (A − √s·g)·√s, and √s·g < z/(2 + r) there, so that
// M ≥ (z/r)·√s; and likewise for all t if g ≤ 0.
//
// Too low, 0 < Y < (1 − r)·f: −M ≥ s·(f − Y − ½) > r·g·s, while A/√s < (1 − r)·g, so that
// t > κ² with κ = (1 + r)/(1 − r). The line √s₁·z·(κ² + t)/2 is below √s₁·z·t there, and by (1) −M
// reaches it with probability exp(−z²·κ²/2) at most.
//
// Of the wrong sign, Y < 0 ≤ f, or any Y where f = 0: |M| ≥ s·(|Y| − ½) ≥ A·√s ≥ (z/r)·√s.
//
// It remains to bound |M| ≥ c·√s with c = z/r, at any s. Between s and 4s, c·√s is concave and
// above its chord, a + b·s with 2ab = 4/9·c². The rule is met at no σ outside of 2⁻¹⁰⁰ and 2¹⁰⁰,
// which leaves two hundred such spans, and two signs. So the claim fails with probability
//
//	β ≤ exp(−z²/2) + exp(−z²·κ²/2) + 400·exp(−4/9·z²/r²)
//
// at most. The last term is nothing for small r, and too much for r near 1: r is at most ½.
//
// The caller must ensure that f is the same integer at all measurements of the estimate, and that r
// and β do not follow from the measurements: each target that is asked for by itself has its β, and
// one that is chosen by the answers to others may be wrong more often.
type RelativeStop struct{ r, z float64 }

const (
	// MostRelativeStop is the largest relative error that RelativeStop knows.
	MostRelativeStop = 0.5
	// stopSpan is the logarithm, to base 2, of the largest sigma of a RelativeStop, and of the
	// inverse of the least.
	stopSpan = 100
)

// NewRelativeStop returns the rule for a relative error r, from above 0 to [MostRelativeStop],
// whose claim fails with probability beta at most.
func NewRelativeStop(beta, r float64) (RelativeStop, error) {
	switch {
	case !(beta >= leastAlpha && beta < 1):
		return RelativeStop{}, fmt.Errorf("%w: an error probability of %v", ErrParameter, beta)
	case !(r > 0 && r <= MostRelativeStop):
		return RelativeStop{}, fmt.Errorf("%w: a relative error of %v", ErrParameter, r)
	}
	low, high := 0.0, 100.0
	for range 64 {
		z := (low + high) / 2
		if stopFails(z, r) <= beta*(1-tailSlack) {
			high = z
		} else {
			low = z
		}
	}
	return RelativeStop{r, high}, nil
}

// stopFails bounds the probability that the claim fails.
func stopFails(z, r float64) float64 {
	kappa := (1 + r) / (1 - r)
	return math.Exp(-z*z/2) + math.Exp(-z*z*kappa*kappa/2) + 4*stopSpan*math.Exp(-4.0/9*z*z/(r*r))
}

// Met reports whether an integer that was rounded from an estimate meets the target.
func (s RelativeStop) Met(rounded, sigma float64) bool {
	return sigma >= math.Ldexp(1, -stopSpan) && sigma <= math.Ldexp(1, stopSpan) && MeetsRelative(s.z*sigma+0.5, s.r, rounded)
}

// Need returns the sigma at which this integer would meet the target, or nothing above 0 if it
// is too small for that.
func (s RelativeStop) Need(rounded float64) float64 {
	return (s.r*math.Abs(rounded)/(1+s.r)/(1+2*ruleSlack) - 0.5) / s.z
}

// HalfWidth returns how far the truth may be from an integer that meets the target.
func (s RelativeStop) HalfWidth(rounded float64) float64 {
	return s.r * math.Abs(rounded) / (1 - s.r) * (1 + ruleSlack)
}

// MeetsRelative reports whether an error of at most c = halfWidth is at most r of the truth f,
// relatively, when the estimate is y: c·(1 + r)/r ≤ |y|. As |y| ≤ |f| + c, that implies c ≤ r·|f|.
func MeetsRelative(halfWidth, r, y float64) bool {
	return halfWidth*(1+r)*(1+ruleSlack) <= r*math.Abs(y)
}
