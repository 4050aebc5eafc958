package scalar

import "dpproxy/planner/pgtype"

// plainCollation reports whether a collation compares code points, without a language.
func plainCollation(t pgtype.Type) bool {
	return t.Collation.Schema == "pg_catalog" && (t.Collation.Name == "C" || t.Collation.Name == "POSIX")
}

// searchedFunction converts a text for the search of a regular expression. It has no name in Postgres.
func searchedFunction(of uint32) *function {
	return &function{
		name: "~", args: []uint32{of}, over: searchedText, strict: 1,
		syntax: func(_ string, args []string) string { return searchedSQL(of, args[0]) },
	}
}

func searchedSQL(of uint32, text string) string {
	if of == pgtype.Bpchar {
		return "pg_catalog.textin(pg_catalog.bpcharout(" + text + "))"
	}
	return "CAST(" + text + " AS pg_catalog.text)"
}

// searchedText writes a text with all of its characters: a cast of character(n) would remove blanks. Only for UTF8 is it known which
// characters exist.
var searchedText = &rule{
	bounds: textual, length: firstLength(1), write: func(w *Writer, c *call) (fragment, error) {
		if !w.Env.UTF8 {
			return fragment{}, notUTF8("a regular expression with characters beyond ASCII, or on character(n),", c.at)
		}
		f, err := w.write(c.args[0], clamped)
		if err != nil {
			return fragment{}, err
		}
		if c.fn.args[0] == pgtype.Bpchar {
			f.sql = searchedSQL(pgtype.Bpchar, f.sql)
		}
		return fragment{sql: f.sql, typ: pgtype.Of(pgtype.Text)}, nil
	},
}
