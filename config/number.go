package config

import (
	"math/big"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"dpproxy/dp"
)

var decimal = regexp.MustCompile(`^[+-]?((?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?$`)

// Limits on the text of numbers, wide enough for the bounds of any column: to compute with longer
// ones would be work for nothing.
const (
	maxDigits   = 100
	maxExponent = 300
)

// parseDecimal reads a decimal number exactly.
func parseDecimal(s string) (*big.Rat, bool) {
	m := decimal.FindStringSubmatch(s)
	if m == nil || len(s) > maxDigits {
		return nil, false
	}
	if m[2] != "" {
		if e, err := strconv.Atoi(m[2]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, false
		}
	}
	return new(big.Rat).SetString(s)
}

// plainDecimal reads an unquoted decimal number exactly, with its text.
func plainDecimal(n ast.Node) (string, *big.Rat, bool) {
	s, ok := scalarText(n)
	if !ok || n.GetToken().Type == token.SingleQuoteType || n.GetToken().Type == token.DoubleQuoteType {
		return "", nil, false
	}
	r, ok := parseDecimal(s)
	return s, r, ok
}

// number reads an exact decimal number.
func (v value) number() (*big.Rat, bool) {
	_, r, ok := plainDecimal(v.node)
	if !ok {
		v.fail("a finite decimal number is needed, of at most %d characters", maxDigits)
	}
	return r, ok
}

// The sums that a session can be limited to, and the digits that it can say that with.
const (
	minSum    = "1e-15"
	maxSum    = "1e30"
	sumDigits = 30
)

// sum checks a limit of sums.
func (v value) sum() {
	s, r, ok := plainDecimal(v.node)
	low, _ := parseDecimal(minSum)
	high, _ := parseDecimal(maxSum)
	if !ok || len(s) > sumDigits || r.Cmp(low) < 0 || r.Cmp(high) > 0 {
		v.fail("a number from %s to %s is needed, of at most %d characters", minSum, maxSum, sumDigits)
	}
}

// The least step that values are summed in.
const leastStep = "1e-12"

// step reads the step that values are summed in.
func (v value) step() *big.Rat {
	r, ok := v.number()
	low, _ := parseDecimal(leastStep)
	if ok && (r.Cmp(low) < 0 || r.Cmp(big.NewRat(1, 1)) > 0) {
		v.fail("must be from %s to 1", leastStep)
	}
	return r
}

// units reads a number as whole units, of which there are scale in one, rounded
// down. A number above zero that is less than a unit is a fault.
func (v value) units(scale int64) *big.Int {
	r, ok := v.number()
	if !ok {
		return new(big.Int)
	}
	r.Mul(r, new(big.Rat).SetInt64(scale))
	n := new(big.Int).Div(r.Num(), r.Denom())
	switch {
	case r.Sign() < 0:
		v.fail("is negative")
	case r.Sign() > 0 && n.Sign() == 0:
		v.fail("is less than the smallest unit, 1e-%d", len(strconv.FormatInt(scale, 10))-1)
	}
	return n
}

// epsilon reads an ε above zero in picos.
func (v value) epsilon(limit int64) int64 {
	faults := len(v.d.faults)
	n := v.units(dp.PicoPerUnit)
	switch {
	case len(v.d.faults) > faults:
		return 0
	case n.Sign() == 0:
		v.fail("must be above 0")
	case n.Cmp(big.NewInt(limit)) > 0:
		v.fail("is above %s", dp.Decimal(limit, 12))
	}
	return n.Int64()
}

// delta reads a δ from zero to below one in attos.
func (v value) delta() int64 {
	n := v.units(dp.AttoPerUnit)
	if n.Cmp(big.NewInt(dp.AttoPerUnit)) >= 0 {
		v.fail("must be below 1")
	}
	return n.Int64()
}

// between reads a number in a range. It sets accuracy and no loss, so that it may be
// rounded.
func (v value) between(least, most float64) float64 {
	r, ok := v.number()
	if !ok {
		return 0
	}
	f, _ := r.Float64()
	if f < least || f > most {
		v.fail("must be from %v to %v", least, most)
	}
	return f
}

// targetOr reads a number in a range, or off.
func (v value) targetOr(least, most float64) {
	if s, ok := scalarText(v.node); ok && s == "off" {
		return
	}
	v.between(least, most)
}

// maxSettingEpsilon is the largest ε of one statement that a session can ask for.
const maxSettingEpsilon = 1000 * dp.PicoPerUnit
