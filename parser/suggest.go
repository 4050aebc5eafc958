package parser

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v5"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// A call of dp.suggest_bounds in FROM stands for a query over a protected table, as the name of a view does: its query
// takes its place in the text. Nothing else in the statement tells it from one that the client wrote.

const suggestBounds = "suggest_bounds"

// suggestHint says how the call is written.
const suggestHint = "Write SELECT * FROM dp.suggest_bounds('table.column', epsilon => 0.1)."

// suggestionCall returns the call of dp.suggest_bounds that an item of FROM is, or nil.
func suggestionCall(f *pg.RangeFunction) *pg.FuncCall {
	if len(f.Functions) != 1 || len(f.Functions[0].GetList().GetItems()) == 0 {
		return nil
	}
	call := f.Functions[0].GetList().Items[0].GetFuncCall()
	if call == nil {
		return nil
	}
	if schema, name := pgtree.Callee(call); schema != "dp" || name != suggestBounds {
		return nil
	}
	return call
}

// suggestionOf reads the arguments: the parts of a name, and what the statement may spend, nil if that is not given.
func suggestionOf(f *pg.FuncCall) (path []string, epsilon *pg.Node, ok bool) {
	if len(f.Args) < 1 || len(f.Args) > 2 || f.AggDistinct || f.AggStar || len(f.AggOrder) > 0 || f.FuncVariadic {
		return nil, nil, false
	}
	text, constant := f.Args[0].GetAConst().GetVal().(*pg.A_Const_Sval)
	if !constant {
		return nil, nil, false
	}
	path, ok = dottedNames(text.Sval.GetSval())
	if !ok || len(path) < 2 || len(path) > 3 {
		return nil, nil, false
	}
	if len(f.Args) == 1 {
		return path, nil, true
	}
	epsilon = f.Args[1]
	if named := epsilon.GetNamedArgExpr(); named != nil {
		if named.Name != "epsilon" {
			return nil, nil, false
		}
		epsilon = named.Arg
	}
	return path, epsilon, epsilon.GetAConst().GetVal() != nil
}

// dottedNames reads names with dots between them, as Postgres folds and quotes them.
func dottedNames(s string) ([]string, bool) {
	var names []string
	for {
		var name, rest string
		if strings.HasPrefix(s, `"`) {
			end := 1
			for ; end < len(s); end++ {
				if s[end] != '"' {
					continue
				}
				if end+1 == len(s) || s[end+1] != '"' {
					break
				}
				end++
			}
			if end >= len(s) {
				return nil, false
			}
			name, rest = strings.ReplaceAll(s[1:end], `""`, `"`), s[end+1:]
		} else {
			end := strings.IndexByte(s, '.')
			if end < 0 {
				end = len(s)
			}
			name, rest = lex.Lower(s[:end]), s[end:]
			if strings.ContainsAny(name, "\" '()\t\r\n") {
				return nil, false
			}
		}
		if name == "" {
			return nil, false
		}
		names = append(names, name)
		if rest == "" {
			return names, true
		}
		if rest[0] != '.' {
			return nil, false
		}
		s = rest[1:]
	}
}
