package proxy

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// settings are the values of the dp. settings in one session.
type settings struct {
	epsilonPico int64
	mechanism   string
	confidence  float64
	notices     bool
}

// The names of the settings, without the prefix, in the order in which the
// prelude asks for them.
var settingNames = []string{"epsilon", "mechanism", "confidence", "notice"}

// Limits of the settings. An epsilon above the largest could not be told from no
// privacy at all; the unit's budget refuses it long before.
const (
	maxEpsilonPico = 1000 * dp.PicoPerUnit
	minConfidence  = 0.5
	maxConfidence  = 0.999999
)

// parse reads a setting as text; an empty value is the default, since RESET and
// DISCARD leave an empty string behind.
func (s *settings) parse(name, value string) error {
	value = strings.TrimSpace(value)
	if value == "" {
		return nil
	}
	switch name {
	case "epsilon":
		e, ok := decimal(value)
		pico := new(big.Rat).Mul(e, big.NewRat(dp.PicoPerUnit, 1))
		if !ok || pico.Cmp(big.NewRat(1, 1)) < 0 || pico.Cmp(big.NewRat(maxEpsilonPico, 1)) > 0 {
			return badSetting(name, value, "a number from 1e-12 to 1000")
		}
		s.epsilonPico = new(big.Int).Quo(pico.Num(), pico.Denom()).Int64()
	case "mechanism":
		if !slices.Contains(planner.MechanismNames(), strings.ToLower(value)) {
			return badSetting(name, value, strings.Join(planner.MechanismNames(), ", "))
		}
		s.mechanism = strings.ToLower(value)
	case "confidence":
		c, ok := decimal(value)
		f, _ := c.Float64()
		if !ok || f < minConfidence || f > maxConfidence {
			return badSetting(name, value, "a number from 0.5 to 0.999999")
		}
		s.confidence = f
	case "notice":
		on, ok := map[string]bool{"on": true, "true": true, "yes": true, "1": true, "off": false, "false": false, "no": false, "0": false}[strings.ToLower(value)]
		if !ok {
			return badSetting(name, value, "on or off")
		}
		s.notices = on
	}
	return nil
}

// decimal reads a plain decimal number, exactly. Fractions, hexadecimal digits,
// infinities, and exponents that would make a number of many digits are refused.
func decimal(s string) (*big.Rat, bool) {
	const longest = 30
	if len(s) > longest || strings.Trim(s, "0123456789.eE+-") != "" {
		return new(big.Rat), false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(strings.Trim(s[i+1:], "+-")) > 2 {
		return new(big.Rat), false
	}
	if r, ok := new(big.Rat).SetString(s); ok {
		return r, true
	}
	return new(big.Rat), false
}

func badSetting(name, value, want string) error {
	return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", "dp."+name, clip(value)).
		WithHint("Use %s.", want)
}

// clip shortens a value of the analyst's own for an error message.
func clip(s string) string {
	const longest = 60
	if len(s) > longest {
		return strings.ToValidUTF8(s[:longest], "") + "..."
	}
	return s
}

// checkSetting refuses an assignment to a dp. setting that does not exist, or a
// value that it cannot have; Postgres itself accepts any name with a dot.
func checkSetting(set *parser.Setting) error {
	name, _ := strings.CutPrefix(set.Name, "dp.")
	if !slices.Contains(settingNames, name) {
		return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter %q", clip(set.Name)).At(set.At).
			WithHint("The settings are dp.%s.", strings.Join(settingNames, ", dp."))
	}
	if set.Reset {
		return nil
	}
	var s settings
	return s.parse(name, set.Value)
}
