package population

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dpproxy/accountant/realized"
	"dpproxy/mechanisms"
)

// linear estimates the shares of very many objects or categories from how often each was named, question
// by question: estimates of each question alone, weighed by their precision. It is for columns that only
// questions about categories are about: there, all categories lose alike, and those who are still asked
// are a sample of all, but for what answers about other columns decide.
func (p *Population) linear(column int, z float64) ([]Estimate, error) {
	own, _ := p.own([]int{column})
	if len(own.columns) > 1 {
		return nil, fmt.Errorf("%w: questions join column %d with others", ErrTooLarge, column)
	}
	for _, q := range own.questions {
		if p.questions[q].Kind() == realized.Score {
			return nil, fmt.Errorf("%w: scores about column %d", ErrTooLarge, column)
		}
	}
	estimates, raw := make([]Estimate, p.columns[column].Values), make([]float64, p.columns[column].Values)
	for v := range estimates {
		sum, weight := 0.0, 0.0
		for _, q := range own.questions {
			if t := p.tallies[q]; t.objects > 0 {
				share, variance, err := p.share(q, t.named[v], t.objects)
				if err != nil {
					return nil, err
				}
				sum, weight = sum+share/variance, weight+1/variance
			}
		}
		if weight == 0 {
			return nil, fmt.Errorf("%w: about column %d", ErrNoAnswers, column)
		}
		raw[v] = sum / weight
		inside := min(max(raw[v], 0), 1)
		off := z * math.Sqrt(1/weight+inside*(1-inside)/float64(p.objects))
		estimates[v] = Estimate{
			Low: min(max(raw[v]-off, 0), 1), High: min(max(raw[v]+off, 0), 1),
			Partial: len(p.parts) > 1 && p.mode == realized.Never,
		}
	}
	for v, share := range ontoSimplex(raw) {
		e := &estimates[v]
		e.Value, e.Low, e.High = share, min(e.Low, share), max(e.High, share)
	}
	return estimates, nil
}

// ontoSimplex returns the shares, at least 0 and of sum 1, with the least sum of squared differences from some numbers x: they are
// max(0, x − τ) with the one τ that makes their sum 1 [Duchi-Shalev-Shwartz-Singer-Chandra 2008]. No shares that x estimates are farther
// from these than from x.
func ontoSimplex(x []float64) []float64 {
	largest := slices.Clone(x)
	slices.SortFunc(largest, func(a, b float64) int { return cmp.Compare(b, a) })
	sum, tau := 0.0, 0.0
	for i, v := range largest {
		sum += v
		if t := (sum - 1) / float64(i+1); t < v {
			tau = t
		}
	}
	shares := make([]float64, len(x))
	for i, v := range x {
		shares[i] = max(0, v-tau)
	}
	return shares
}

// share estimates a share from how often a category was named, and returns the variance that answers add.
func (p *Population) share(question int, named, objects int64) (share, variance float64, err error) {
	q := p.questions[question]
	k := int64(p.columns[q.Columns()[0]].Values)
	var m interface {
		Frequency(count, n int64) (share, stdErr float64, err error)
	}
	if q.Kind() == realized.Response {
		m, err = mechanisms.NewRandomizedResponse(k, q.EpsilonPico())
	} else {
		m, err = mechanisms.NewUnaryEncoding(k, q.EpsilonPico())
	}
	if err != nil {
		return 0, 0, err
	}
	share, stdErr, err := m.Frequency(named, objects)
	return share, stdErr * stdErr, err
}
