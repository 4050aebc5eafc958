package source

import "slices"

// RuleNames are the names of all rules.
func RuleNames() (names []string) {
	for _, r := range applyRules {
		names = append(names, r.name)
	}
	for _, r := range joinRules {
		names = append(names, r.name)
	}
	return names
}

// Without does something without the rule of a name.
func Without(name string, do func()) {
	applies, joins := applyRules, joinRules
	defer func() { applyRules, joinRules = applies, joins }()
	applyRules = slices.DeleteFunc(slices.Clone(applies), func(r applyRule) bool { return r.name == name })
	joinRules = slices.DeleteFunc(slices.Clone(joins), func(r joinRule) bool { return r.name == name })
	do()
}
