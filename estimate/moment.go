package estimate

import "math"

const (
	// leastTail is the probability beyond which a tail is not looked at.
	leastTail = 1e-30
	// bulk is the tail probability above which the steps are fine.
	bulk = 1e-3
)

// A dominator is a law on finitely many values that |noise| exceeds nowhere: for
// U uniform on (0, 1), |noise| is stochastically at most Quantile(U), as
// P(|noise| > Quantile(u)) ≤ u; and for U in (b, a] that is at most Quantile(b).
// Only with probability leastTail is |noise| larger than its last value.
type dominator struct{ size, mass []float64 }

func dominate(t Tail) dominator {
	var d dominator
	for a := 1.0; a > leastTail; {
		b := max(a*0.7, leastTail)
		if a > bulk {
			b = a * 0.9
		}
		c := t.Quantile(b)
		if n := len(d.size); n > 0 && d.size[n-1] == c {
			d.mass[n-1] += a - b
		} else {
			d.size, d.mass = append(d.size, c), append(d.mass, a-b)
		}
		a = b
	}
	d.mass[len(d.mass)-1] += leastTail
	return d
}

// logMoment bounds ln E exp(λ·noise), of noise that is symmetric about zero and
// set to zero where it is larger than the last value: cosh grows with its
// argument, so that E exp(λ·noise) = E cosh(λ·|noise|) ≤ Σ mass·cosh(λ·size).
func (d dominator) logMoment(lambda float64) float64 {
	moment := 0.0 // of cosh − 1, which loses no digits
	for i, c := range d.size {
		half := math.Sinh(lambda * c / 2)
		moment += d.mass[i] * 2 * half * half
	}
	return math.Log1p(moment)
}

// variance bounds the variance of the noise, but for leastTail.
func (d dominator) variance() float64 {
	v := 0.0
	for i, c := range d.size {
		v += d.mass[i] * c * c
	}
	return v
}
