package proxy

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// shop has tables and views over views.
type shop struct{ ast.Strangers }

func (shop) Relation(_, name string) (ast.Relation, bool) {
	r := ast.Relation{Schema: "public", Name: name, Columns: []string{"id", "n"}}
	switch name {
	case "buyers", "sales":
		r.Protected = true
	case "big":
		r.View = "SELECT s.id, s.n FROM public.sales s WHERE s.n > 3"
	case "pairs":
		r.View = "SELECT b.id, b.n FROM public.buyers b JOIN public.big g ON g.id = b.id"
	default:
		return ast.Relation{}, false
	}
	return r, true
}

// SuggestBounds implements parser.Suggester.
func (shop) SuggestBounds(_, table, column string) (string, *pgerr.Error) {
	return "SELECT max(" + column + ") AS lower FROM public." + table, nil
}

func TestGrants(t *testing.T) {
	for _, c := range []struct {
		sql, granted string
		position     int // of the refusal, from one; 0 is none
	}{
		{"SELECT count(*) FROM sales", "sales", 0},
		{"SELECT count(*) FROM sales", "buyers", 22},
		{"SELECT count(*) FROM big", "big", 0},
		{"SELECT count(*) FROM public.big x", "sales", 22},
		{"SELECT count(*) FROM pairs", "pairs", 0},
		{"SELECT count(*) FROM pairs", "big", 22}, // though pairs reads it
		{"SELECT count(*) FROM pairs", "buyers sales", 22},
		{"SELECT count(*) FROM big JOIN sales USING (id)", "big", 31},
		{"SELECT count(*) FROM sales JOIN big USING (id)", "big", 22},
		{"SELECT count(*) FROM sales JOIN pairs USING (id)", "pairs sales", 0},
		{"SELECT lower FROM dp.suggest_bounds('sales.n')", "sales", 0},
		{"SELECT lower FROM dp.suggest_bounds('sales.n', epsilon => 1)", "buyers", 19}, // a call gives no right, as a view does
		{"SELECT x.n, b.lower FROM (SELECT count(*) AS n FROM big) x, dp.suggest_bounds('sales.n') b", "big", 61},
		{"SELECT x.n, b.lower FROM (SELECT count(*) AS n FROM big) x, dp.suggest_bounds('sales.n') b", "big sales", 0},
	} {
		script, err := parser.Parse(c.sql, shop{})
		if err != nil {
			t.Fatal(err)
		}
		granted := map[catalog.Name]bool{}
		for name := range strings.FieldsSeq(c.granted) {
			granted[catalog.Name{Schema: "public", Name: name}] = true
		}
		at := 0
		if refused, ok := errors.AsType[*pgerr.Error](checkGrants(script.Statements[0].Protected, granted)); ok {
			at = refused.Position
		}
		if at != c.position {
			t.Errorf("%s with %s: refused at %d, want %d", c.sql, c.granted, at, c.position)
		}
	}
}
