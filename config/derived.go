package config

import (
	"dpproxy/parser"
	"dpproxy/planner/policy"
)

// maxDerived is how many expressions of a table have bounds: each that a statement computes is compared with all of them.
const maxDerived = 100

// readDerived reads expressions with their bounds, in the order of the file.
func readDerived(v value) (list []policy.DerivedPolicy) {
	v.entries(func(name string, c value, place position) {
		checkIdentifier(c.placed(place), name)
		d := policy.DerivedPolicy{Name: name}
		decode(c, derivedKeys, &d)
		list = append(list, d)
	})
	if len(list) > maxDerived {
		v.fail("a table has bounds of at most %d expressions", maxDerived)
	}
	return list
}

// readExpression reads an expression over one row, as SQL has it.
func readExpression(v value) string {
	s := v.text()
	if s == "" {
		return ""
	}
	if _, refusal := parser.ParseDerived(s); refusal != nil {
		v.fail("%s", refusal.Message)
	}
	return s
}
