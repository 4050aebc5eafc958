package pattern

import "strings"

// A Kind is the operator that an expression is for.
type Kind struct {
	Folded  bool // case does not matter: ~*
	Similar bool // SIMILAR TO
}

const longest = 256 // bytes of an expression

// Compile returns lists of tests. A text matches the expression if and only if it meets all tests of one list.
func Compile(expression string, k Kind) ([][]Test, error) {
	if len(expression) > longest {
		return nil, refuse("a regular expression of more than 256 bytes", "Write several that OR joins.")
	}
	if k.Similar {
		var err error
		if expression, err = advanced(expression); err != nil {
			return nil, err
		}
	}
	p := &parser{rest: expression, folded: k.Folded}
	sequences, err := p.alternatives()
	if err == nil && p.rest != "" {
		err = errUnknown
	}
	if err != nil {
		return nil, err
	}
	var all []sequence
	for _, s := range sequences {
		if s, err = s.ends(); err != nil {
			return nil, err
		}
		more, err := s.lengths()
		if err != nil {
			return nil, err
		}
		if all = append(all, more...); len(all) > maxBranches {
			return nil, errTooMany
		}
	}
	out := make([][]Test, 0, len(all))
	for _, s := range all {
		c := &compiler{items: s}
		if err := c.compile(); err != nil {
			return nil, err
		}
		out = append(out, c.tests)
	}
	return out, nil
}

// advanced turns a pattern of SIMILAR TO into the expression that Postgres makes of it. It refuses sets that end in different places in
// different versions of Postgres.
func advanced(similar string) (string, error) {
	var out strings.Builder
	inSet := false
	for i := 0; i < len(similar); i++ {
		c := similar[i]
		switch {
		case c == '\\':
			if i++; i == len(similar) || similar[i] == '"' || inSet {
				return "", errUnknown
			}
			out.WriteString(similar[i-1 : i+1])
		case inSet:
			if c == '[' {
				return "", errUnknown
			}
			inSet = c != ']'
			out.WriteByte(c)
		case c == '[':
			if strings.HasPrefix(similar[i+1:], "]") || strings.HasPrefix(similar[i+1:], "^]") {
				return "", errUnknown
			}
			inSet = true
			out.WriteByte(c)
		case c == '%':
			out.WriteString(".*")
		case c == '_':
			out.WriteByte('.')
		case c == '(':
			out.WriteString("(?:")
		case c == '.' || c == '^' || c == '$':
			out.WriteString(`\` + string(c))
		default:
			out.WriteByte(c)
		}
	}
	return "^(?:" + out.String() + ")$", nil
}
