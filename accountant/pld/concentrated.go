package pld

import "math"

// concentrated is a pair that dominates everything that is ρ-zCDP: its δ(ε) is
// the largest curve that can be that of a pair, below
//
//	min over α > 1 of exp((α−1)(αρ−ε) + α·ln(1−1/α)) / (α−1)
//
// [CKS 2020, Proposition 12] at ε ≥ 0, and below its mirror image at ε < 0, at
// the points of the grid.
type concentrated struct{ rho float64 }

// bounds implements source: the curve is below exp(−(ε−ρ)²/4ρ).
func (c concentrated) bounds() (low, high float64) {
	high = c.rho + tailReach*math.Sqrt(2*c.rho)
	return -high, high
}

// fill implements source. A pair's δ as a function of γ = exp(ε) is convex, and
// so is at most the convex hull of bounds at points γ_j. Between the points the
// hull is linear, like the δ of a pair whose losses are ln γ_j: there Q has the
// change of the slope as its mass, and P has γ_j times that. The hull is its own
// mirror image, which exchanges P and Q.
func (c concentrated) fill(b *builder) {
	_, high := c.bounds()
	if high > farLoss {
		b.infinite = 1
		return
	}
	n := int(math.Ceil(high / b.step))
	gamma, bound := make([]float64, 2*n+1), make([]float64, 2*n+1)
	for j := 0; j <= n; j++ {
		gamma[n+j] = math.Exp(float64(j) * b.step)
		gamma[n-j] = 1 / gamma[n+j]
		bound[n+j] = math.Min(1, c.delta(float64(j)*b.step)*(1+10*floatSlack))
		bound[n-j] = 1 - gamma[n-j] + gamma[n-j]*bound[n+j]
	}
	hull := lowerHull(gamma, bound)
	rest := 1 - bound[2*n]
	b.infinite = bound[2*n]
	slope := 0.0
	for k := len(hull) - 1; hull[k] > n; k-- {
		j, i := hull[k], hull[k-1]
		left := (bound[j] - bound[i]) / (gamma[j] - gamma[i])
		q := math.Max(0, slope-left)
		slope = left
		p := gamma[j] * q
		b.add(int64(j-n), p*(1+floatSlack))
		b.add(int64(n-j), q*(1+floatSlack))
		rest -= p + q
	}
	b.add(0, math.Max(0, rest)+2*floatSlack)
}

// lowerHull returns the indices of the corners of the convex hull of the points
// (x, y), seen from below.
func lowerHull(x, y []float64) []int {
	var hull []int
	for i := range x {
		for len(hull) >= 2 {
			a, b := hull[len(hull)-2], hull[len(hull)-1]
			if (y[b]-y[a])*(x[i]-x[b]) <= (y[i]-y[b])*(x[b]-x[a]) {
				break
			}
			hull = hull[:len(hull)-1]
		}
		hull = append(hull, i)
	}
	return hull
}

// delta returns the bound at ε, at an order near the best one; it holds at every
// order. With a = α − 1 its logarithm is a(1+a)ρ − aε − a·ln(1+1/a) − ln(1+a).
func (c concentrated) delta(epsilon float64) float64 {
	low, high := 1e-12, (epsilon+1)/(2*c.rho)+1
	for range 60 { // the derivative (2a+1)ρ − ε − ln(1+1/a) increases
		mid := math.Sqrt(low * high)
		if (2*mid+1)*c.rho < epsilon+math.Log1p(1/mid) {
			low = mid
		} else {
			high = mid
		}
	}
	a := high
	return math.Exp(a*(1+a)*c.rho - a*epsilon - a*math.Log1p(1/a) - math.Log1p(a))
}
