package planner

import (
	"math"
	"math/big"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// Shares are counted in millionths: an aggregate has oneShare for each of its statistics, multiplied by its weight.
const oneShare = 1_000_000

// The range of the weights of aggregates.
const leastWeight, mostWeight = 0.001, 1000

// A split divides a budget among releases by their shares. Parts are rounded down, so that their sum never exceeds the whole: the prices of
// releases add up.
type split struct {
	all    share
	shares int64 // of all releases together
}

// part returns what a release with a number of shares may spend.
func (d split) part(shares int64) share {
	s := d.all
	s.epsilonPico, s.rhoPico = proportion(s.epsilonPico, shares, d.shares), proportion(s.rhoPico, shares, d.shares)
	return s
}

// forChoices returns the split as choices are paid.
func (d split) forChoices() split {
	d.all = d.all.forChoices()
	return d
}

// proportion returns ⌊pico·part/whole⌋.
func proportion(pico, part, whole int64) int64 {
	n := big.NewInt(pico)
	n.Mul(n, big.NewInt(part))
	return n.Quo(n, big.NewInt(whole)).Int64()
}

// sharesOf reads a weight, which is a literal, and rounds it to millionths.
func sharesOf(weight ast.Expr) (int64, error) {
	c, _ := weight.(*ast.Const)
	if c != nil && c.Kind != ast.Null {
		if x, err := strconv.ParseFloat(c.Text, 64); err == nil && x >= leastWeight && x <= mostWeight {
			return int64(math.Round(x * oneShare)), nil
		}
	}
	return 0, pgerr.New(pgerr.InvalidParameterValue, "the weight of dp.weight is a constant from %v to %v", leastWeight, mostWeight).
		At(weight.Pos()).
		WithHint("Write a number: dp.weight(count(*), 3).")
}

// weighedTarget refuses a weight if an error is asked for.
func weighedTarget(o *output) error {
	return pgerr.New(pgerr.FeatureNotSupported, "dp.weight cannot be used where an error is asked for").At(o.at).
		WithDetail("Each number gets what its error needs: nothing is divided.").
		WithHint("Leave out dp.weight, or SET dp.error = off, dp.relative_error = off.")
}
