package replay

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"dpproxy/parser"
	"dpproxy/parser/ast"
)

// WithErrors puts errors into the places that columns of the answer keep for them: the distance of each value from the farther end of its
// interval, and NULL where that is not known. SQL is the text of the answer, and names are those of its columns. Of rows that nothing tells
// apart each has the largest error.
func (s *Statement) WithErrors(sql string, names []string, places []parser.ErrorPlace, a Account) string {
	answer, row := s.prefix+"answer", s.prefix+"row"
	var list []string
	for i, name := range s.names() {
		value := answer + "." + name
		for _, p := range places {
			if errors := a.halves(p.Of); p.FromEnd == len(names)-1-i && errors != "" {
				value = "CAST(CAST(" + ast.Quote(errors) + " AS pg_catalog.jsonb) OPERATOR(pg_catalog.->>) " +
					s.key(answer, answer+"."+row) + " AS pg_catalog.float8)"
			}
		}
		list = append(list, value+" AS "+ast.QuoteIdent(names[i]))
	}
	return "SELECT " + strings.Join(list, ", ") + " FROM (SELECT " + s.prefix + "text.*, pg_catalog.row_number() OVER () FROM (" + sql +
		"\n) AS " + s.prefix + "text) AS " + answer + "(" + strings.Join(s.names(), ", ") + ", " + row + ")"
}

// halves writes the errors of a column of which both ends are known as an object in JSON, by the keys of rows; "" if there are none.
func (a Account) halves(column string) string {
	at := slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == column })
	if at < 0 {
		return ""
	}
	all := map[string]float64{}
	for i, c := range a.Columns[at].Cells {
		key := a.Columns[at].Keys[i]
		all[key] = max(all[key], c.Half())
	}
	maps.DeleteFunc(all, func(_ string, half float64) bool { return math.IsInf(half, 0) })
	text, err := json.Marshal(all)
	if err != nil || len(all) == 0 {
		return ""
	}
	return string(text)
}
