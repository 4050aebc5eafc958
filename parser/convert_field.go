package parser

import (
	"regexp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/ast"
	"dpproxy/parser/pgtree"
)

// A step leads into a document of JSON.
type step struct {
	text bool // it has a text
	path bool // it takes an array of keys
}

// steps are the operators that lead into documents.
var steps = map[string]*step{"->": {}, "->>": {text: true}, "#>": {path: true}, "#>>": {text: true, path: true}}

// extracts are the functions that do.
var extracts = map[string]bool{
	"jsonb_extract_path": true, "jsonb_extract_path_text": true, "json_extract_path": true, "json_extract_path_text": true,
}

const (
	keysAreLiterals = "Write each key as a text in quotes, as in data ->> 'key': the policy says what it leads to."
	askForFields    = "Ask for the values: data ->> 'key' = 'value', or data ->> 'key' IS NOT NULL."
)

// stepInto converts an operator.
func stepInto(v exprConverter, e *pg.A_Expr) ast.Expr {
	s := steps[pgtree.OperatorName(e)]
	keys, ok := []string(nil), false
	if s.path {
		keys, ok = pathKeys(e.Rexpr)
	} else if key, text := literalKey(e.Rexpr); text {
		keys, ok = []string{key}, true
	}
	if e.Lexpr == nil || !ok {
		v.forbid(pgtree.FirstLocation(e.Rexpr), "an element of an array of JSON, or a key that is no literal,", keysAreLiterals)
		return nil
	}
	return fieldAt(v, e.Lexpr, keys, s.text, !s.path, e.Location)
}

// subscripts converts data['a']['b'], which is data -> 'a' -> 'b' but for arrays.
func subscripts(v exprConverter, n *pg.Node, x *pg.A_Indirection) ast.Expr {
	at, keys := pgtree.FirstLocation(n), []string(nil)
	for _, i := range x.Indirection {
		key, ok := literalKey(i.GetAIndices().GetUidx())
		if !ok || i.GetAIndices().IsSlice {
			return v.notAllowed(at, "a subscript or field selection")
		}
		keys = append(keys, key)
	}
	return fieldAt(v, x.Arg, keys, false, false, at)
}

// extract converts jsonb_extract_path and its kin.
func extract(v exprConverter, name string, f *pg.FuncCall) ast.Expr {
	var keys []string
	for _, n := range f.Args[min(1, len(f.Args)):] {
		key, ok := literalKey(n)
		if !ok {
			v.forbid(pgtree.FirstLocation(n), "a key that is no literal", keysAreLiterals)
			return nil
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return v.notAllowed(f.Location, "function "+name+" without keys")
	}
	return fieldAt(v, f.Args[0], keys, strings.HasSuffix(name, "_text"), false, f.Location)
}

// fieldAt makes the field that keys lead to. Unless they are keys of objects alone, one that reads as a number could be the place of an
// element of an array.
func fieldAt(v exprConverter, of *pg.Node, keys []string, text, objects bool, location int32) ast.Expr {
	if !objects && slices.ContainsFunc(keys, elementPlace.MatchString) {
		v.forbid(location, "a key that could be the place of an element of an array",
			"Write data -> 'key' ->> '1', which leads into objects alone.")
		return nil
	}
	out := &ast.Field{X: v.expr(of), Keys: keys, Text: text, At: v.a.pos(location)}
	if below, ok := out.X.(*ast.Field); ok && !below.Text {
		out.X, out.Keys = below.X, slices.Concat(below.Keys, keys)
	}
	v.fields = append(v.fields, out.Keys)
	return out
}

// elementPlace is the place of an element of an array, as Postgres reads it.
var elementPlace = regexp.MustCompile(`^\s*[+-]?[0-9]+$`)

// literalKey returns a key that is a literal.
func literalKey(n *pg.Node) (key string, ok bool) {
	if c := n.GetTypeCast(); c != nil {
		if t, known := typeName(c.TypeName); known && !t.Array && t.Name == "text" {
			n = c.Arg
		}
	}
	s, ok := n.GetAConst().GetVal().(*pg.A_Const_Sval)
	if !ok {
		return "", false
	}
	return s.Sval.GetSval(), true
}

// pathKeys returns the keys of an array of literals, of one at least.
func pathKeys(n *pg.Node) (keys []string, ok bool) {
	if c := n.GetTypeCast(); c != nil {
		if t, known := typeName(c.TypeName); known && t.Array && t.Name == "text" {
			n = c.Arg
		}
	}
	if list := n.GetAArrayExpr(); list != nil {
		for _, e := range list.Elements {
			key, ok := literalKey(e)
			if !ok {
				return nil, false
			}
			keys = append(keys, key)
		}
		return keys, len(keys) > 0
	}
	text, ok := literalKey(n)
	if !ok {
		return nil, false
	}
	return arrayOfKeys(text)
}

// bareKey is an element of the text of an array that needs no quotes.
var bareKey = regexp.MustCompile(`^[^\s{}",\\]+$`)

// arrayOfKeys reads the text of an array of keys, of one at least.
func arrayOfKeys(text string) (keys []string, ok bool) {
	rest, ok := strings.CutPrefix(text, "{")
	for ok {
		var key string
		if strings.HasPrefix(rest, `"`) {
			if key, rest, ok = quotedElement(rest); !ok {
				return nil, false
			}
		} else {
			end := strings.IndexAny(rest, ",}")
			if end < 0 || !bareKey.MatchString(rest[:end]) || strings.EqualFold(rest[:end], "NULL") {
				return nil, false
			}
			key, rest = rest[:end], rest[end:]
		}
		if keys = append(keys, key); rest == "}" {
			return keys, true
		}
		rest, ok = strings.CutPrefix(rest, ",")
	}
	return nil, false
}
