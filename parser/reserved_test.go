package parser_test

import (
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
	"dpproxy/pgerr"
)

// withView knows one more view.
type withView struct {
	ast.Names

	query string
}

func (n withView) Relation(schema, name string) (ast.Relation, bool) {
	if name == "v" {
		return ast.Relation{Schema: "public", Name: name, View: n.query}, true
	}
	return n.Names.Relation(schema, name)
}

// A name of dpproxy's own in the query of a view is refused where the client names the view.
func TestReservedInView(t *testing.T) {
	const sql = "SELECT count(*) FROM v"
	for query, class := range map[string]parser.Class{
		`SELECT id AS "dp$own$row", patient_id FROM visits`: parser.Refused,
		`SELECT id, patient_id FROM visits "dp$own$1"`:      parser.Refused,
		`SELECT 'dp$own$' AS own, patient_id FROM visits`:   parser.Release,
	} {
		script, err := parser.Parse(sql, withView{parsertest.Clinic, query})
		if err != nil {
			t.Fatal(err)
		}
		st := script.Statements[0]
		if st.Class != class || class == parser.Refused && (st.Refusal.Code != pgerr.ReservedName || st.Refusal.Position != len(sql)) {
			t.Errorf("%s: class %d, %v", query, st.Class, st.Refusal)
		}
	}
}
