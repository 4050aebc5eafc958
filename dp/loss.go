package dp

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// A Measure says how a privacy loss is measured. The zero Measure is invalid,
// so that a loss nobody priced cannot be spent.
type Measure uint8

const (
	// PureDP measures ε of pure differential privacy. It admits no δ.
	PureDP Measure = iota + 1
	// ZCDP measures ρ of zero-concentrated differential privacy, with the δ of
	// approximate zCDP beside it [Bun-Steinke 2016].
	ZCDP
	// ApproximateDP measures ε and δ of a limit. No event is priced in it: the objects of a local table, of which
	// each has such a limit, have losses of their own.
	ApproximateDP
)

// String returns the measure's name as the ledger writes it.
func (m Measure) String() string {
	switch m {
	case PureDP:
		return "pure"
	case ZCDP:
		return "zcdp"
	case ApproximateDP:
		return "approximate"
	}
	return "invalid"
}

// Symbol returns the Greek letter of the measure's main parameter.
func (m Measure) Symbol() string {
	switch m {
	case PureDP, ApproximateDP:
		return "ε"
	case ZCDP:
		return "ρ"
	}
	return "?"
}

// ParseMeasure is the inverse of [Measure.String].
func ParseMeasure(s string) (Measure, error) {
	switch s {
	case "pure":
		return PureDP, nil
	case "zcdp":
		return ZCDP, nil
	case "approximate":
		return ApproximateDP, nil
	}
	return 0, fmt.Errorf("unknown privacy measure %q", s)
}

// Units of the integers in a [Loss].
const (
	// PicoPerUnit is how many picos make ε = 1 or ρ = 1.
	PicoPerUnit = 1_000_000_000_000
	// AttoPerUnit is how many attos make δ = 1.
	AttoPerUnit = 1_000_000_000_000_000_000
	// MaxPico is the largest pico amount a ledger may hold: the largest integer
	// below which every integer is also exact as a double, 2⁵³ (about 9007 units).
	MaxPico = 1 << 53
)

// A Loss is an exact, non-negative privacy loss under one measure.
// The zero Loss has no measure and cannot be added or compared.
type Loss struct {
	measure Measure
	pico    int64 // ε or ρ, in 10⁻¹²
	atto    int64 // δ, in 10⁻¹⁸
}

// ErrMeasure is returned where losses of two measures, or of none, meet.
var ErrMeasure = errors.New("dp: losses are in different measures")

// ErrOverflow is returned when a sum does not fit a ledger.
var ErrOverflow = errors.New("dp: loss overflows")

// NewLoss returns a loss of pico·10⁻¹² (ε or ρ, by the measure) and atto·10⁻¹⁸ of δ.
// Under [PureDP] atto must be zero.
func NewLoss(m Measure, pico, atto int64) (Loss, error) {
	switch {
	case m != PureDP && m != ZCDP && m != ApproximateDP:
		return Loss{}, ErrMeasure
	case pico < 0 || atto < 0:
		return Loss{}, fmt.Errorf("dp: negative loss (%d, %d)", pico, atto)
	case pico > MaxPico || atto > AttoPerUnit:
		return Loss{}, ErrOverflow
	case m == PureDP && atto != 0:
		return Loss{}, fmt.Errorf("dp: a pure loss has no delta")
	}
	return Loss{m, pico, atto}, nil
}

// Zero returns the loss of releasing nothing.
func Zero(m Measure) Loss { return Loss{measure: m} }

// Measure returns the measure of l, or the invalid zero Measure.
func (l Loss) Measure() Measure { return l.measure }

// Pico returns ε or ρ in units of 10⁻¹².
func (l Loss) Pico() int64 { return l.pico }

// Atto returns δ in units of 10⁻¹⁸.
func (l Loss) Atto() int64 { return l.atto }

// IsZero reports whether l costs nothing.
func (l Loss) IsZero() bool { return l.pico == 0 && l.atto == 0 }

// Plus returns l + m, exactly. It refuses two measures, and a sum that a ledger
// cannot hold.
func (l Loss) Plus(m Loss) (Loss, error) {
	if l.measure != m.measure || l.measure == 0 {
		return Loss{}, ErrMeasure
	}
	if l.pico > MaxPico-m.pico || l.atto > math.MaxInt64-m.atto {
		return Loss{}, ErrOverflow
	}
	return Loss{l.measure, l.pico + m.pico, l.atto + m.atto}, nil
}

// Minus returns l − m, for showing the remainder. It refuses a negative result.
func (l Loss) Minus(m Loss) (Loss, error) {
	if l.measure != m.measure || l.measure == 0 {
		return Loss{}, ErrMeasure
	}
	if m.pico > l.pico || m.atto > l.atto {
		return Loss{}, fmt.Errorf("dp: %v is less than %v", l, m)
	}
	return Loss{l.measure, l.pico - m.pico, l.atto - m.atto}, nil
}

// Fits reports whether l ≤ limit in both parameters. Losses that are not comparable never fit.
func (l Loss) Fits(limit Loss) bool {
	return l.Comparable(limit) && l.pico <= limit.pico && l.atto <= limit.atto
}

// Comparable reports whether two losses are in the same measure, or one in ε and the other in ε and δ.
func (l Loss) Comparable(m Loss) bool {
	ofEpsilon := func(m Measure) bool { return m == PureDP || m == ApproximateDP }
	return l.measure != 0 && (l.measure == m.measure || ofEpsilon(l.measure) && ofEpsilon(m.measure))
}

// String writes the loss with all its digits, as "ρ=0.005" or "ρ=0.005 δ=1e-07".
func (l Loss) String() string {
	s := l.measure.Symbol() + "=" + Decimal(l.pico, 12)
	if l.atto != 0 {
		s += " δ=" + Scientific(l.atto, 18)
	}
	return s
}

// Decimal writes n·10⁻ˢᶜᵃˡᵉ exactly, without trailing zeros.
func Decimal(n int64, scale int) string {
	s := new(big.Rat).SetFrac(big.NewInt(n), pow10(scale)).FloatString(scale)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Scientific writes n·10⁻ˢᶜᵃˡᵉ rounded to six digits, for people.
func Scientific(n int64, scale int) string {
	f, _ := new(big.Rat).SetFrac(big.NewInt(n), pow10(scale)).Float64()
	return strconv.FormatFloat(f, 'g', 6, 64)
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }
