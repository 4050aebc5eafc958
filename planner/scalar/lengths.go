package scalar

import (
	"strconv"
	"unicode/utf8"

	"dpproxy/planner/pgtype"
)

// A unit of the length of a text: as many of it as a character can have.
type unit int

const (
	characters unit = 1
	octets     unit = 4
)

// cut limits the length of a text.
func cut(f fragment) fragment {
	switch {
	case f.typ.Mod >= 4 && f.typ.Mod-4 <= cutLength:
		return f
	case f.typ.OID == pgtype.Bpchar:
		text := cut(fragment{sql: castSQL(f.sql, typ(pgtype.Text)), typ: typ(pgtype.Text)})
		return fragment{sql: castSQL(text.sql, typ(pgtype.Bpchar)), typ: typ(pgtype.Bpchar)}
	}
	return fragment{sql: "pg_catalog.left(" + f.sql + ", " + strconv.Itoa(cutLength) + ")", typ: typ(pgtype.Text)}
}

// textLength bounds the characters or octets of a text that is written clamped.
func (env *Env) textLength(e Expr, u unit) int {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // of the others, the longest operand
	case *Ref:
		if m := int(e.Column.Type.Mod); m >= 4 {
			return min(m-4, cutLength) * int(u)
		}
		return cutLength * int(u)
	case *constant:
		d, err := env.datum(e)
		if err != nil || e.typ.Family() != TextFamily {
			return longestText
		}
		if u == octets {
			return len(d.text)
		}
		return utf8.RuneCountInString(d.text)
	case *call:
		if e.fn.over.length != nil {
			return e.fn.over.length(env, e, u)
		}
	case *cast:
		return env.castLength(e, u)
	case *aggregate:
		return env.textLength(e.x, u)
	case *choice:
		if e.kind == caseWhen {
			list = e.results
		}
	}
	n := 0
	for _, o := range list {
		n = max(n, env.textLength(o, u))
	}
	return n
}

func (env *Env) castLength(e *cast, u unit) int {
	n := 64
	switch from := e.x.Type(); {
	case from.Family() == TextFamily:
		n = env.textLength(e.x, u)
	case from.decimal(): // 131072 digits before the point and 16383 behind it
		n = 1 << 18
		if ref, ok := e.x.(*Ref); ok && len(ref.Column.Of) == 0 && ref.Column.Type.Mod >= 4 {
			n = 1 << 11 // a precision and a scale of 1000 at most
		}
	}
	if m := int(e.typ.Mod); m >= 4 {
		if e.typ.OID == pgtype.Bpchar {
			return (m - 4) * int(u)
		}
		n = min(n, (m-4)*int(u))
	}
	return n
}
