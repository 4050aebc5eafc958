package scalar

import (
	"strconv"
	"unicode/utf8"

	"dpproxy/planner/pgtype"
)

// A unit of the length of a text, as the largest number of them per character.
type unit int

const (
	characters unit = 1
	octets     unit = 4
)

// cut limits the length of a text.
func cut(f fragment) fragment {
	switch {
	case f.typ.Length() >= 0 && f.typ.Length() <= cutLength:
		return f
	case f.typ.OID == pgtype.Bpchar:
		text := cut(fragment{sql: castSQL(f.sql, pgtype.Of(pgtype.Text)), typ: pgtype.Of(pgtype.Text)})
		return fragment{sql: castSQL(text.sql, pgtype.Of(pgtype.Bpchar)), typ: pgtype.Of(pgtype.Bpchar)}
	}
	return fragment{sql: "pg_catalog.left(" + f.sql + ", " + strconv.Itoa(cutLength) + ")", typ: pgtype.Of(pgtype.Text)}
}

// textLength bounds the characters or octets of a text that is written clamped.
func (env *Env) textLength(e Expr, u unit) int {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // the longest operand of the others
	case *Ref:
		if e.Column.Reach == Piece {
			return pieceLength * int(u)
		}
		if n, ok := env.Values.longest(e.Column); ok {
			return min(n, cutLength*int(u))
		}
		if n := e.Column.Type.Length(); n >= 0 {
			return min(n, cutLength) * int(u)
		}
		return cutLength * int(u)
	case *constant:
		d, err := env.datum(e)
		if err != nil || e.typ.Family() != pgtype.TextFamily {
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
	case from.Family() == pgtype.TextFamily:
		n = env.textLength(e.x, u)
	case from.Decimal(): // 131072 digits before the decimal point and 16383 after it
		n = 1 << 18
		if ref, ok := e.x.(*Ref); ok && len(ref.Column.Of) == 0 && ref.Column.Type.Precision() >= 0 {
			n = 1 << 11 // precision and scale are at most 1000
		}
	}
	if m := e.typ.Length(); m >= 0 {
		if e.typ.OID == pgtype.Bpchar {
			return m * int(u)
		}
		n = min(n, m*int(u))
	}
	return n
}
