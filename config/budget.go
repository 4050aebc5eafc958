package config

import (
	"fmt"
	"strings"

	"dpproxy/accountant"
)

// ParseBudget reads the amounts of a budget as a policy writes them, with the same
// limits and rounding. Delta and selectionDelta may be empty, as a policy may leave
// them out.
func ParseBudget(epsilon, delta, selectionDelta string) (accountant.Budget, error) {
	var text strings.Builder
	for _, a := range []struct {
		key, amount string
		optional    bool
	}{{"epsilon", epsilon, false}, {"delta", delta, true}, {"selection_delta", selectionDelta, true}} {
		if a.amount == "" && a.optional {
			continue
		}
		if _, ok := parseDecimal(a.amount); !ok {
			return accountant.Budget{}, fmt.Errorf("%s: %q is no decimal number of at most %d characters", a.key, a.amount, maxDigits)
		}
		fmt.Fprintf(&text, "%s: %s\n", a.key, a.amount)
	}
	src := []byte(text.String())
	d := &decoder{src: newSource("budget", src)}
	root, err := d.parse(src)
	if err != nil {
		return accountant.Budget{}, err
	}
	b := readBudget(value{d: d, node: root, pos: position{1, 1}})
	if len(d.faults) > 0 {
		return accountant.Budget{}, fmt.Errorf("the budget cannot be used: %s", d.faults[0].Text)
	}
	return b, nil
}
