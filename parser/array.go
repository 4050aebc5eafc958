package parser

import (
	"strings"

	"dpproxy/parser/ast"
)

// arrayElement writes a value as an element in the text of an array.
func arrayElement(cell []byte) string {
	if cell == nil {
		return "NULL"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(string(cell)) + `"`
}

// literalElements returns the elements of a literal array as literals of its type, if it is written as [arrayElement] writes; nil of
// anything else.
func literalElements(x ast.Expr) (list []ast.Expr) {
	cast, ok := x.(*ast.Cast)
	if !ok || !cast.Type.Array {
		return nil
	}
	c, ok := cast.X.(*ast.Const)
	if !ok || c.Kind != ast.String {
		return nil
	}
	of := cast.Type
	of.Array = false
	rest, ok := strings.CutPrefix(c.Text, "{")
	for ok {
		element := &ast.Const{Kind: ast.Null, At: c.At}
		after, null := strings.CutPrefix(rest, "NULL")
		if rest = after; !null {
			element.Kind = ast.String
			element.Text, rest, ok = quotedElement(rest)
		}
		list = append(list, &ast.Cast{X: element, Type: of, At: c.At})
		if rest == "}" {
			return list
		}
		if ok {
			rest, ok = strings.CutPrefix(rest, ",")
		}
	}
	return nil
}

// quotedElement reads a quoted element that a text begins with.
func quotedElement(text string) (element, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}
