package scalar

import (
	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// mirrorTerm is a term of a known type.
func mirrorTerm(sql string, t Type, at int) *term { return &term{node: node{t, at, true}, sql: sql} }

// mirrorCast is a cast on the mirror.
func mirrorCast(x Expr, t Type, at int, mods []int32) *cast {
	return &cast{node: node{t, at, true}, x: x, mods: mods, zone: -1}
}

// convert casts an expression to a type that the client named.
func (b *builder) convert(x Expr, to ast.TypeName, at int) (Expr, error) {
	t, ok := typeNamed(to)
	from := x.Type()
	switch {
	case !ok:
		return nil, notAllowed("a cast to this type", at)
	case x.free():
		return mirrorCast(x, t, at, to.Mods), nil
	case from.same(t) && t.Mod < 0 && from.Domain.Name == "":
		return x, nil
	case from.same(t) && t.Mod < 0:
		t.Mod, t.Undeclared = from.Mod, true
	case from.OID == pgtype.Date && (t.OID == pgtype.Text || t.OID == pgtype.Varchar):
		return b.dateText(x, t, at, to.Mods)
	}
	return b.cast(x, t, at, to.Mods)
}

// dateFormat is that of dates as texts in the session's DateStyle.
const dateFormat = "(SELECT CASE WHEN pg_catalog.starts_with(s, 'ISO') THEN 'YYYY-MM-DD' " +
	"WHEN pg_catalog.starts_with(s, 'German') THEN 'DD.MM.YYYY' " +
	"WHEN pg_catalog.starts_with(s, 'SQL, DMY') THEN 'DD/MM/YYYY' WHEN pg_catalog.starts_with(s, 'SQL') THEN 'MM/DD/YYYY' " +
	"WHEN pg_catalog.starts_with(s, 'Postgres, DMY') THEN 'DD-MM-YYYY' " +
	"ELSE 'MM-DD-YYYY' END FROM pg_catalog.current_setting('DateStyle') AS s)"

// dateText casts a date to a text type.
func (b *builder) dateText(x Expr, t Type, at int, mods []int32) (Expr, error) {
	local, err := b.cast(x, typ(pgtype.Timestamp), at, nil)
	if err != nil {
		return nil, err
	}
	args := []Expr{local, mirrorTerm(dateFormat, typ(pgtype.Text), at)}
	text, err := b.apply(pick(functions["to_char"], types(args)), args, at)
	if err != nil || t.OID == pgtype.Text {
		return text, err
	}
	return b.cast(text, t, at, mods)
}

// arrayOf makes an array of elements that get one type.
func (b *builder) arrayOf(list []Expr, t Type, at int) (Expr, error) {
	list, err := b.coerceAll(list, func(Expr) Type { return t })
	t.Array = true
	return &call{node: node{t, at, true}, fn: &function{name: "ARRAY", syntax: arraySQL}, args: list, zone: -1}, err
}

// typeNamed returns the type that a cast names. A name that is not of pg_catalog
// is a user-defined type.
func typeNamed(n ast.TypeName) (Type, bool) {
	t := Type{Mod: -1, Deterministic: true, Array: n.Array}
	if n.Schema == "" || n.Schema == "pg_catalog" {
		for oid, info := range typeInfos {
			if info.name == n.Name {
				t.OID = oid
			}
		}
	}
	switch {
	case t.OID == 0 && n.Schema == "pg_catalog":
		return Type{}, false
	case t.OID == 0:
		t.OID, t.Enum = pgtype.FirstUser, catalog.Name{Schema: n.Schema, Name: n.Name}
		return t, len(n.Mods) == 0
	}
	t.Mod = modifier(t.OID, n.Mods)
	return t, true
}

// modifier packs a type's modifiers as Postgres does.
func modifier(oid uint32, mods []int32) int32 {
	switch {
	case len(mods) == 0:
	case oid == pgtype.Numeric && len(mods) == 1:
		return mods[0]<<16 + 4
	case oid == pgtype.Numeric:
		return (mods[0]<<16 | mods[1]&0x7ff) + 4
	case oid == pgtype.Varchar || oid == pgtype.Bpchar:
		return mods[0] + 4
	case len(mods) == 1:
		return mods[0]
	}
	return -1
}
