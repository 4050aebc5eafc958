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
	for _, r := range fromRules {
		names = append(names, r.name)
	}
	for _, r := range blockRules {
		names = append(names, r.name)
	}
	return names
}

// Without does something without the rule of a name.
func Without(name string, do func()) {
	applies, joins, blocks, froms := applyRules, joinRules, blockRules, fromRules
	defer func() { applyRules, joinRules, blockRules, fromRules = applies, joins, blocks, froms }()
	fromRules = slices.DeleteFunc(slices.Clone(froms), func(r fromRule) bool { return r.name == name })
	applyRules = slices.DeleteFunc(slices.Clone(applies), func(r applyRule) bool { return r.name == name })
	joinRules = slices.DeleteFunc(slices.Clone(joins), func(r joinRule) bool { return r.name == name })
	blockRules = slices.DeleteFunc(slices.Clone(blocks), func(r blockRule) bool { return r.name == name })
	do()
}
