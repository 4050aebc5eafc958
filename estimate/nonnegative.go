package estimate

import (
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Nonnegative returns the integers t ≥ 0 of the sum total that are nearest to noisy parts,
//
//	Σ (tᵢ − partsᵢ)²/variancesᵢ → least,
//
// which are tᵢ = max(partsᵢ − γ·variancesᵢ, 0), with γ such that they add up [Abowd et al. 2022, section
// 9.1 of Das's survey]. They are rounded down, and what is missing goes to the largest remainders, of equal ones
// to the first. Parts that are such integers already stay as they are.
//
// It is post-processing of released numbers. Parts that are empty in truth come nearer to zero; the others
// pay for it, so that sums of many small parts keep no error bar of theirs.
func Nonnegative(parts []*big.Int, variances []float64, total *big.Int) ([]*big.Int, error) {
	if len(parts) == 0 || len(variances) != len(parts) || total.Sign() < 0 {
		return nil, fmt.Errorf("%w: a total of %v for %d parts with %d variances", ErrParameter, total, len(parts), len(variances))
	}
	for _, v := range variances {
		if !(v > 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%w: variance %g", ErrParameter, v)
		}
	}
	p := projection{parts: make([]*big.Rat, len(parts)), variances: make([]*big.Rat, len(parts))}
	for i, n := range parts {
		p.parts[i], p.variances[i] = new(big.Rat).SetInt(n), new(big.Rat).SetFloat64(variances[i])
	}
	return apportioned(p.onto(new(big.Rat).SetInt(total)), total), nil
}

// A projection has the parts and their variances, exactly.
type projection struct{ parts, variances []*big.Rat }

// onto returns the nearest numbers that are not negative and have this sum. The parts that stay above zero are
// those of the largest quotients by their variances.
func (p projection) onto(total *big.Rat) []*big.Rat {
	order, quotients := make([]int, len(p.parts)), make([]*big.Rat, len(p.parts))
	for i := range order {
		order[i], quotients[i] = i, new(big.Rat).Quo(p.parts[i], p.variances[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return quotients[j].Cmp(quotients[i]) })
	gamma, sum, variance := new(big.Rat), new(big.Rat).Neg(total), new(big.Rat)
	for n, i := range order {
		if n > 0 && quotients[i].Cmp(gamma) <= 0 {
			break
		}
		sum.Add(sum, p.parts[i])
		variance.Add(variance, p.variances[i])
		gamma.Quo(sum, variance)
	}
	out := make([]*big.Rat, len(p.parts))
	for i, part := range p.parts {
		out[i] = new(big.Rat).Mul(gamma, p.variances[i])
		if out[i].Sub(part, out[i]); out[i].Sign() < 0 {
			out[i].SetInt64(0)
		}
	}
	return out
}

// apportioned rounds numbers of an integer sum to integers of that sum.
func apportioned(exact []*big.Rat, total *big.Int) []*big.Int {
	out, order := make([]*big.Int, len(exact)), make([]int, len(exact))
	rest, missing := make([]*big.Rat, len(exact)), new(big.Int).Set(total)
	for i, x := range exact {
		order[i], out[i] = i, new(big.Int).Quo(x.Num(), x.Denom())
		rest[i] = new(big.Rat).Sub(x, new(big.Rat).SetInt(out[i]))
		missing.Sub(missing, out[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return rest[j].Cmp(rest[i]) })
	for _, i := range order[:missing.Int64()] {
		out[i].Add(out[i], big.NewInt(1))
	}
	return out
}
