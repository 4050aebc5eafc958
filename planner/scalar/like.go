package scalar

import (
	"strings"

	"dpproxy/pgerr"
)

// like resolves LIKE and ILIKE with a constant pattern. A pattern of type character(n)
// loses its trailing spaces on the way to text, so that it could end with an escape
// character that checkPattern does not see.
func (r *Resolver) like(op string, ops []operand, at int) (operand, error) {
	x, pattern := ops[0], ops[1]
	if !pattern.free() || !pattern.unknown() && pattern.typ.OID != oidText && pattern.typ.OID != oidVarchar {
		return operand{}, notAllowed("LIKE with a pattern that is no constant text", at)
	}
	if !x.unknown() && x.typ.Family() != TextFamily {
		return operand{}, notAllowed("LIKE on a value of type "+x.typ.String(), at)
	}
	if !x.free() && !x.typ.Deterministic {
		return operand{}, notAllowed("LIKE on a text with a non-deterministic collation", at)
	}
	pattern, err := r.coerce(pattern, typ(oidText))
	if err != nil {
		return operand{}, err
	}
	if x.typ.OID != oidBpchar { // character(n) has a LIKE of its own, which sees the padding
		if x, err = r.coerce(x, typ(oidText)); err != nil {
			return operand{}, err
		}
	}
	if x.free() {
		return condition("("+x.sql+" OPERATOR(pg_catalog."+op+") "+pattern.sql+")", at), nil
	}
	p, err := r.expr(pattern)
	if err != nil {
		return operand{}, err
	}
	return over(&like{boolean(at), op, x.x, p}), nil
}

// checkPattern refuses a LIKE pattern that Postgres would raise on for some rows
// only, and patterns long enough to aim at the clock.
func checkPattern(pattern string, at int) error {
	const longest, wildcards = 256, 8
	if len(pattern) > longest || strings.Count(pattern, "%") > wildcards {
		return pgerr.New(pgerr.NotAllowed, "a LIKE pattern on protected data has at most %d bytes and %d %% signs", longest, wildcards).At(at).
			WithHint("Use a simpler pattern.")
	}
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i++; i == len(pattern) {
			return pgerr.New(pgerr.NotAllowed, "a LIKE pattern must not end with the escape character").At(at).
				WithHint(`Write \\ for a backslash.`)
		}
	}
	return nil
}

func (w *Writer) like(e *like) (fragment, error) {
	pattern, err := w.Env.text(e.pattern)
	if err != nil {
		return fragment{}, err
	}
	if pattern != nil {
		if err := checkPattern(*pattern, e.at); err != nil {
			return fragment{}, err
		}
	}
	if strings.Contains(e.op, "*") && !w.Env.UTF8 { // turns all of the text into lower case
		return fragment{}, notUTF8("ILIKE", e.at)
	}
	x, err := w.write(e.x, bounded)
	if err != nil {
		return fragment{}, err
	}
	p, err := w.write(e.pattern, exact)
	return operatorSQL(e.op, unestimated(e.x, x).sql, p.sql, typ(oidBool)), err
}

func notUTF8(what string, at int) error {
	return pgerr.New(pgerr.NotAllowed, "%s is not allowed on protected data that is not encoded in UTF8", what).At(at).
		WithHint("A text that is not valid in the database's locale would make it fail.")
}
