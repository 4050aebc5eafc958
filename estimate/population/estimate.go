package population

import (
	"errors"
	"fmt"

	"dpproxy/accountant/realized"
)

// Histogram estimates the share of each category of a column.
func (p *Population) Histogram(column int, confidence float64) ([]Estimate, error) {
	if column < 0 || column >= len(p.columns) || p.columns[column].Values == 0 {
		return nil, fmt.Errorf("%w: column %d is no category", realized.ErrParameter, column)
	}
	z, err := quantile(confidence)
	if err != nil {
		return nil, err
	}
	g, partial, err := p.grid([]int{column}, p.columns[column].Values)
	if errors.Is(err, ErrTooLarge) {
		return p.linear(column, z)
	}
	if err != nil {
		return nil, err
	}
	estimates := make([]Estimate, p.columns[column].Values)
	m, err := g.mixture()
	if err != nil {
		return nil, err
	}
	best := m.fit(nil, 0, nil)
	for v := range estimates {
		estimates[v] = m.estimate(best, g.indicator(column, v), z)
		estimates[v].Partial = partial
	}
	return estimates, nil
}

// Mean estimates the mean of an expression about columns.
func (p *Population) Mean(e realized.Expr, confidence float64) (Estimate, error) {
	z, err := quantile(confidence)
	if err != nil {
		return Estimate{}, err
	}
	if _, _, err := p.domain.Range(e); err != nil {
		return Estimate{}, err
	}
	columns, err := p.domain.Mentioned(e)
	if err != nil {
		return Estimate{}, err
	}
	g, partial, err := p.grid(columns, 1)
	if err != nil {
		return Estimate{}, err
	}
	scorer, err := p.domain.Scorer(e)
	if err != nil {
		return Estimate{}, err
	}
	h, err := g.values(scorer)
	if err != nil {
		return Estimate{}, err
	}
	m, err := g.mixture()
	if err != nil {
		return Estimate{}, err
	}
	estimate := m.estimate(m.fit(nil, 0, nil), h, z)
	estimate.Partial = partial
	return estimate, nil
}
