package ast

import "strings"

// Quote returns the literal as an SQL string, right under both settings of
// standard_conforming_strings.
func Quote(literal string) string {
	quoted := "'" + strings.ReplaceAll(literal, "'", "''") + "'"
	if strings.Contains(literal, `\`) {
		return "E" + strings.ReplaceAll(quoted, `\`, `\\`)
	}
	return quoted
}

// QuoteIdent returns the name as a quoted identifier.
func QuoteIdent(name string) string {
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// SQL returns the literal as SQL text.
func (x *Const) SQL() string {
	switch x.Kind {
	case Integer, Number:
		if strings.HasPrefix(x.Text, "-") {
			return "(" + x.Text + ")"
		}
		return x.Text
	case String:
		return Quote(x.Text)
	case Boolean:
		return strings.ToUpper(x.Text)
	case Null:
	}
	return "NULL"
}
