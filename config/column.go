package config

import (
	"strings"

	"dpproxy/planner/policy"
)

// The values of the key unlisted.
const (
	unlistedOpen   = "open"
	unlistedHidden = "hidden"
)

// hideUnlisted says of each table but public ones whether the columns that it does not list are hidden.
func hideUnlisted(p *Policy) {
	for i := range p.Tables.Tables {
		t := &p.Tables.Tables[i]
		t.HidesUnlisted = p.Unlisted == unlistedHidden && !t.Public
	}
}

func readColumns(v value) map[string]policy.ColumnPolicy {
	columns := map[string]policy.ColumnPolicy{}
	v.entries(func(name string, c value, place position) {
		checkColumnName(c.placed(place), name)
		columns[name] = readColumn(c)
	})
	return columns
}

// readColumn reads hidden, or a mapping of bounds, values, a step and fields, each optional.
func readColumn(v value) policy.ColumnPolicy {
	var c policy.ColumnPolicy
	if s, ok := scalarText(v.node); ok || kind(v.node) == "nothing" {
		c.Hidden = s == "hidden"
		if !c.Hidden {
			v.fail("a column is hidden, {bounds: [low, high]}, {bounds: none}, {values: [...]}, {values: enum}, {step: 0.01}, " +
				"{fields: {...}} or {}")
		}
		return c
	}
	decode(v, columnKeys, &c)
	return c
}

// maxValues is the longest list of values; a longer one is a public table.
const maxValues = 10_000

// readValues reads a list of scalars, each by its text in the file, or enum.
func readValues(v value) (values []string, enum bool) {
	if s, ok := scalarText(v.node); ok {
		if s != "enum" {
			v.fail("values are a list, or enum")
		}
		return nil, true
	}
	seen := map[string]bool{}
	faults := len(v.d.faults)
	v.list(func(c value) {
		s, ok := scalarText(c.node)
		switch {
		case !ok:
			c.fail("text, a number, true or false is needed, not %s", kind(c.node))
		case strings.ContainsRune(s, 0):
			c.fail("a zero byte cannot be used")
		case seen[s]:
			c.fail("the value %q is listed twice", s)
		}
		seen[s] = true
		values = append(values, s)
	})
	if n := len(values); len(v.d.faults) == faults && (n == 0 || n > maxValues) {
		v.fail("a list of 1 to %d values is needed", maxValues)
	}
	return values, false
}
