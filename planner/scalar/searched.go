package scalar

import "dpproxy/planner/pgtype"

// plainCollation reports whether a collation is of code points, without a language.
func plainCollation(t pgtype.Type) bool {
	return t.Collation.Schema == "pg_catalog" && (t.Collation.Name == "C" || t.Collation.Name == "POSIX")
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
			f.sql = "pg_catalog.textin(pg_catalog.bpcharout(" + f.sql + "))"
		}
		return fragment{sql: f.sql, typ: pgtype.Of(pgtype.Text)}, nil
	},
}
