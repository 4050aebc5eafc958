package repair

import "slices"

// RuleNames are the names of all rules.
func RuleNames() (names []string) {
	for _, r := range slices.Concat(rules, utilityRules) {
		names = append(names, r.name)
	}
	return names
}

// Without does something without the rule of a name.
func Without(name string, do func()) {
	all, utility := rules, utilityRules
	defer func() { rules, utilityRules = all, utility }()
	named := func(r rule) bool { return r.name == name }
	rules, utilityRules = slices.DeleteFunc(slices.Clone(all), named), slices.DeleteFunc(slices.Clone(utility), named)
	do()
}

// Ruled are the statements of [Instead], each with the name of its rule.
func Ruled(sql string, at int, schema Schema) (all []string) {
	for _, c := range Instead(sql, at, schema) {
		all = append(all, c.rule+": "+c.String())
	}
	return all
}
