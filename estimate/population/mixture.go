package population

import (
	"math"
	"slices"
)

// A mixture is objects of which each has one of several kinds of values, and of which a transcript is
// known: rows has, for each transcript, its probability for each kind.
type mixture struct {
	size    int
	objects float64
	counts  []float64
	rows    []float64
}

// A state is shares of the kinds, above 0, with the multipliers of that bound.
type state struct {
	shares, slack []float64
	level         float64 // the multiplier of the sum of shares
}

const (
	// maxIterations bounds the steps of a fit. It takes 15 to 30.
	maxIterations = 200
	// closeEnough is how far the logarithm of the likelihood of a fit may be from the largest.
	closeEnough = 1e-4
)

// fit returns the shares that maximise F = ln likelihood + λ·h·shares: by the primal-dual method of
// interior points, from a state to begin with, or nil.
func (m *mixture) fit(h []float64, lambda float64, from *state) *state {
	s := m.begin(from)
	for range maxIterations {
		gradient, curvature := m.derivatives(s.shares, h, lambda)
		if m.gap(s.shares, gradient) <= closeEnough {
			return s
		}
		m.step(s, gradient, curvature)
	}
	return s
}

// begin returns a state inside the simplex.
func (m *mixture) begin(from *state) *state {
	s := &state{shares: make([]float64, m.size), slack: make([]float64, m.size), level: m.objects}
	total := 0.0
	for x := range s.shares {
		s.shares[x], s.slack[x] = 1/float64(m.size), m.objects
		if from != nil {
			s.shares[x] = from.shares[x] + 1e-4/float64(m.size)
			s.slack[x] = max(from.slack[x], 1e-4*m.objects)
			s.level = from.level
		}
		total += s.shares[x]
	}
	for x := range s.shares {
		s.shares[x] /= total
	}
	return s
}

// logLikelihood returns the logarithm of the likelihood of shares.
func (m *mixture) logLikelihood(shares []float64) float64 {
	sum := 0.0
	for i, n := range m.counts {
		sum += n * math.Log(dot(m.rows[i*m.size:][:m.size], shares))
	}
	return sum
}

// derivatives returns the gradient of F, and the negative second derivatives, row by row.
func (m *mixture) derivatives(shares, h []float64, lambda float64) (gradient, curvature []float64) {
	gradient, curvature = make([]float64, m.size), make([]float64, m.size*m.size)
	for i, n := range m.counts {
		row := m.rows[i*m.size:][:m.size]
		p := dot(row, shares)
		for x, a := range row {
			gradient[x] += n * a / p
			b := n * a / (p * p)
			line := curvature[x*m.size:][:x+1]
			for y := range line {
				line[y] += b * row[y]
			}
		}
	}
	for x := range h {
		gradient[x] += lambda * h[x]
	}
	return gradient, curvature
}

// gap returns by how much F of any shares may be above that of these: F is concave.
func (m *mixture) gap(shares, gradient []float64) float64 {
	return slices.Max(gradient) - dot(gradient, shares)
}

// step solves for gradient + slack = level, shares·slack = μ and a sum of shares of 1, and goes there as
// far as shares and slack remain above 0.
func (m *mixture) step(s *state, gradient, curvature []float64) {
	mu := 0.1 * dot(s.shares, s.slack) / float64(m.size)
	right, ones := make([]float64, m.size), make([]float64, m.size)
	for x := range right {
		curvature[x*m.size+x] += s.slack[x] / s.shares[x]
		right[x], ones[x] = gradient[x]-s.level+mu/s.shares[x], 1
	}
	if !cholesky(curvature, m.size) {
		return
	}
	solve(curvature, right)
	solve(curvature, ones)
	total := 0.0
	for _, x := range s.shares {
		total += x
	}
	// Moving along right − level·ones must bring the sum to 1.
	level := (sumOf(right) - (1 - total)) / sumOf(ones)
	far, farSlack := 1.0, 1.0
	change, changeSlack := make([]float64, m.size), make([]float64, m.size)
	for x := range change {
		change[x] = right[x] - level*ones[x]
		changeSlack[x] = (mu-s.slack[x]*change[x])/s.shares[x] - s.slack[x]
		if change[x] < 0 {
			far = min(far, -0.99*s.shares[x]/change[x])
		}
		if changeSlack[x] < 0 {
			farSlack = min(farSlack, -0.99*s.slack[x]/changeSlack[x])
		}
	}
	for x := range change {
		s.shares[x] += far * change[x]
		s.slack[x] += farSlack * changeSlack[x]
	}
	s.level += farSlack * level
}

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func sumOf(a []float64) float64 {
	sum := 0.0
	for _, x := range a {
		sum += x
	}
	return sum
}

// cholesky replaces the lower half of a positive definite matrix by its root.
func cholesky(a []float64, n int) bool {
	for i := range n {
		for j := range i + 1 {
			rest := a[i*n+j] - dot(a[i*n:][:j], a[j*n:][:j])
			if i != j {
				a[i*n+j] = rest / a[j*n+j]
				continue
			}
			if !(rest > 0) {
				return false
			}
			a[i*n+i] = math.Sqrt(rest)
		}
	}
	return true
}

// solve replaces b by the solution for a root.
func solve(root, b []float64) {
	n := len(b)
	for i := range n {
		b[i] = (b[i] - dot(root[i*n:][:i], b[:i])) / root[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		rest := b[i]
		for j := i + 1; j < n; j++ {
			rest -= root[j*n+i] * b[j]
		}
		b[i] = rest / root[i*n+i]
	}
}
