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

// QualifiedIdent returns a name with its schema, if it has one, as quoted identifiers.
func QualifiedIdent(schema, name string) string {
	if schema == "" {
		return QuoteIdent(name)
	}
	return QuoteIdent(schema) + "." + QuoteIdent(name)
}

// Clamp writes an expression that has the values of x within two bounds, and stays NULL where x is: LEAST and GREATEST alone leave
// NULL out, and have a bound in its place.
func Clamp(x, low, high string) string {
	return "CASE WHEN " + x + " IS NOT NULL THEN least(greatest(" + x + ", " + low + "), " + high + ") END"
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
