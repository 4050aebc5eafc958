package scalar

import "dpproxy/planner/pgtype"

// plainCollation reports whether a collation is of code points, without a language.
func plainCollation(t pgtype.Type) bool {
	return t.Collation.Schema == "pg_catalog" && (t.Collation.Name == "C" || t.Collation.Name == "POSIX")
}

// searchedFunction is what makes a text of a type one in which a regular expression is searched. It has no name in Postgres.
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

// searchedText writes a text with all of its characters: a cast of character(n) takes the blanks away. Only of UTF8 it is known
// which characters there are.
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
