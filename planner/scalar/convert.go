package scalar

import (
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// mirrorTerm is a term of known type.
func mirrorTerm(sql string, t pgtype.Type, at int) *term {
	return &term{node: node{t, at, true}, sql: sql}
}

// mirrorCast is a cast on the mirror.
func mirrorCast(x Expr, t pgtype.Type, at int, mods []int32) *cast {
	return &cast{node: node{t, at, true}, x: x, mods: mods, zone: -1}
}

// convert casts an expression to a type that the client named.
func (b *builder) convert(x Expr, to ast.TypeName, at int) (Expr, error) {
	t, ok := pgtype.OfName(to)
	from := x.Type()
	switch {
	case !ok:
		return nil, notAllowed("a cast to this type", at)
	case x.free():
		return mirrorCast(x, t, at, to.Mods), nil
	case from.Same(t) && t.Mod < 0 && from.Domain.Name == "":
		return x, nil
	case from.Same(t) && t.Mod < 0:
		t.Mod, t.Undeclared = from.Mod, true
	case from.OID == pgtype.Date && (t.OID == pgtype.Text || t.OID == pgtype.Varchar):
		return b.dateText(x, t, at, to.Mods)
	}
	return b.cast(x, t, at, to.Mods)
}

// dateFormat is the format of dates as texts by the session's DateStyle.
const dateFormat = "(SELECT CASE WHEN pg_catalog.starts_with(s, 'ISO') THEN 'YYYY-MM-DD' " +
	"WHEN pg_catalog.starts_with(s, 'German') THEN 'DD.MM.YYYY' " +
	"WHEN pg_catalog.starts_with(s, 'SQL, DMY') THEN 'DD/MM/YYYY' WHEN pg_catalog.starts_with(s, 'SQL') THEN 'MM/DD/YYYY' " +
	"WHEN pg_catalog.starts_with(s, 'Postgres, DMY') THEN 'DD-MM-YYYY' " +
	"ELSE 'MM-DD-YYYY' END FROM pg_catalog.current_setting('DateStyle') AS s)"

// dateText casts a date to a text type.
func (b *builder) dateText(x Expr, t pgtype.Type, at int, mods []int32) (Expr, error) {
	text, err := b.toChar(x, mirrorTerm(dateFormat, pgtype.Of(pgtype.Text), at), at)
	if err != nil || t.OID == pgtype.Text {
		return text, err
	}
	return b.cast(text, t, at, mods)
}

// toChar writes a date as a text in a format.
func (b *builder) toChar(x, format Expr, at int) (Expr, error) {
	local, err := b.cast(x, pgtype.Of(pgtype.Timestamp), at, nil)
	if err != nil {
		return nil, err
	}
	args := []Expr{local, format}
	toChar, _ := pgtype.Pick(functions["to_char"], oids(args))
	return b.apply(toChar, args, at)
}

// arrayOf makes an array whose elements have one type.
func (b *builder) arrayOf(list []Expr, t pgtype.Type, at int) (Expr, error) {
	list, err := b.coerceAll(list, func(Expr) pgtype.Type { return t })
	t.Array = true
	return &call{node: node{t, at, true}, fn: &function{name: "ARRAY", syntax: arraySQL}, args: list, zone: -1}, err
}
