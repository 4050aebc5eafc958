package realized

import "math"

// A sheaf is ln P of the answers to scores that are affine over the whole box: a sum of logarithms of
// affine functions, which is concave. Coordinates are shares of the box, in [0, 1].
type sheaf struct {
	dims int
	at   []float64 // of each answer: P where all shares are 0
	by   []float64 // of each answer: how P grows with each share
	p    []float64 // of each answer: P at the point
	u    []float64 // the point
}

// maxConcaveColumns bounds the corners that the minimum of a sheaf is looked for in.
const maxConcaveColumns = 12

// add adds an answer that has P = at + Σ by[j]·u[j].
func (s *sheaf) add(at float64, by []float64) {
	s.at = append(s.at, at)
	s.by = append(s.by, by...)
}

// least returns the minimum, which is at a corner.
func (s *sheaf) least() float64 {
	corners := 1 << s.dims
	products, sums, values := make([]float64, corners), make([]float64, corners), make([]float64, corners)
	for i := range products {
		products[i] = 1
	}
	for i, at := range s.at {
		values[0] = at
		for j, by := range s.by[i*s.dims:][:s.dims] {
			for c := range 1 << j {
				values[c|1<<j] = values[c] + by
			}
		}
		for c, v := range values {
			// Logarithms of products, of which there are fewer: a P is at least exp(−101).
			if products[c] *= v; products[c] < 1e-200 {
				sums[c] += math.Log(products[c])
				products[c] = 1
			}
		}
	}
	least := math.Inf(1)
	for c, product := range products {
		least = min(least, sums[c]+math.Log(product))
	}
	return least
}

const (
	// gapAlone and gapJoined are how far the bound of the maximum may be from a value that is attained: of
	// one column, and of several.
	gapAlone, gapJoined = 1e-10, 1e-5
	// maxSweeps bounds how often all coordinates are improved. The bound holds after any number.
	maxSweeps = 200
	// maxSteps bounds how often one coordinate is.
	maxSteps = 60
)

// most returns the maximum: a value that is attained, and a bound, as f is concave:
//
//	f(v) ≤ f(u) + Σ over j of max(g[j]·(0−u[j]), g[j]·(1−u[j])),  g the gradient at u.
func (s *sheaf) most() (attained, bound float64) {
	s.u, s.p = make([]float64, s.dims), make([]float64, len(s.at))
	for j := range s.u {
		s.u[j] = 0.5
	}
	wanted := gapJoined
	if s.dims == 1 {
		wanted = gapAlone
	}
	for sweep := 0; ; sweep++ {
		s.evaluate()
		gap := s.gap()
		if gap <= wanted || sweep == maxSweeps {
			attained = s.value()
			return attained, attained + gap
		}
		for j := range s.u {
			s.climb(j)
		}
	}
}

// evaluate computes P of each answer at the point.
func (s *sheaf) evaluate() {
	for i, p := range s.at {
		for j, by := range s.by[i*s.dims:][:s.dims] {
			p += by * s.u[j]
		}
		s.p[i] = p
	}
}

func (s *sheaf) value() float64 {
	sum := 0.0
	for _, p := range s.p {
		sum += math.Log(p)
	}
	return sum
}

// gap returns by how much any point may be above this one.
func (s *sheaf) gap() float64 {
	gap := 0.0
	for j, u := range s.u {
		g, _ := s.slope(j, 0)
		gap += max(-g*u, g*(1-u))
	}
	return gap
}

// slope returns the first two derivatives by u[j], at u[j] + step.
func (s *sheaf) slope(j int, step float64) (first, second float64) {
	for i, p := range s.p {
		by := s.by[i*s.dims+j]
		r := by / (p + by*step)
		first += r
		second -= r * r
	}
	return first, second
}

// climb moves u[j] to the best place.
func (s *sheaf) climb(j int) {
	step := s.best(j)
	s.u[j] = min(max(s.u[j]+step, 0), 1)
	for i := range s.p {
		s.p[i] += s.by[i*s.dims+j] * step
	}
}

// best returns the step of u[j] after which the derivative is 0, or the end of [0, 1] that it points
// to: by Newton's steps, and by halves where they leave the interval that holds it.
func (s *sheaf) best(j int) float64 {
	first, second := s.slope(j, 0)
	low, high, step := 0.0, 1-s.u[j], 0.0
	if first < 0 {
		low, high = -s.u[j], 0
	}
	end := low + high
	if g, _ := s.slope(j, end); g*first >= 0 {
		return end
	}
	for range maxSteps {
		next := step - first/second
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-step) <= 1e-16 {
			break
		}
		step = next
		if first, second = s.slope(j, step); first > 0 {
			low = step
		} else {
			high = step
		}
	}
	return step
}
