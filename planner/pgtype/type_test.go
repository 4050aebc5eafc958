package pgtype_test

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// TestOfColumn looks below domains and names enums.
func TestOfColumn(t *testing.T) {
	mood := catalog.Name{Schema: "public", Name: "mood"}
	domain := catalog.TypeRef{Name: mood, OID: 20001, Mod: -1, BaseOID: 1700, BaseMod: (12<<16 | 2) + 4, Kind: 'd'}
	enum := catalog.TypeRef{Name: mood, OID: 20002, Mod: -1, Kind: 'e'}
	composite := catalog.TypeRef{Name: mood, OID: 20003, Mod: -1, Kind: 'c', Display: "mood"}
	if got := pgtype.OfColumn(domain, catalog.Name{}, true); got.OID != 1700 || got.Mod != domain.BaseMod ||
		got.SQL() != "pg_catalog.numeric" {
		t.Errorf("domain: %+v", got)
	}
	if got := pgtype.OfColumn(enum, catalog.Name{}, true); got.Family() != pgtype.EnumFamily || got.SQL() != `"public"."mood"` {
		t.Errorf("enum: %+v", got)
	}
	if got := pgtype.OfColumn(composite, catalog.Name{}, true); got.Family() != pgtype.NoFamily || got.String() != "mood" {
		t.Errorf("composite: %+v", got)
	}
}

// TestModifiers compares modifiers with those that Postgres packs, and how it writes the types.
func TestModifiers(t *testing.T) {
	type packed struct {
		Mod  int32
		Text string
	}
	for _, c := range []struct {
		name                     string
		mods                     []int32
		length, precision, scale int
	}{
		{"numeric", nil, -1, -1, -1},
		{"numeric", []int32{12}, -1, 12, 0},
		{"numeric", []int32{12, 2}, -1, 12, 2},
		{"numeric", []int32{1000, 1000}, -1, 1000, 1000},
		{"varchar", []int32{10}, 10, -1, -1},
		{"varchar", nil, -1, -1, -1},
		{"bpchar", []int32{5}, 5, -1, -1},
		{"timestamp", []int32{3}, -1, -1, -1},
		{"int4", nil, -1, -1, -1},
		{"text", nil, -1, -1, -1},
	} {
		typ, ok := pgtype.OfName(ast.TypeName{Schema: "pg_catalog", Name: c.name, Mods: c.mods})
		if !ok || typ.Length() != c.length || typ.Precision() != c.precision || typ.Scale() != c.scale || typ.RoundsWhole() {
			t.Errorf("%s%v: %+v: length %d, precision %d, scale %d", c.name, c.mods, typ, typ.Length(), typ.Precision(), typ.Scale())
		}
		if _, err := open(t).Exec(t.Context(), "CREATE TEMP TABLE modified (x "+typ.Modified()+")"); err != nil {
			t.Fatal(err)
		}
		got := query[packed](t, "SELECT atttypmod, pg_catalog.format_type(atttypid, atttypmod) FROM pg_attribute "+
			"WHERE attrelid = 'modified'::regclass AND attname = 'x'")
		if len(got) != 1 || got[0].Mod != typ.Mod {
			t.Errorf("%s%v: modifier %d, in Postgres %+v", c.name, c.mods, typ.Mod, got)
		}
		if _, err := open(t).Exec(t.Context(), "DROP TABLE modified"); err != nil {
			t.Fatal(err)
		}
	}
	negative, _ := pgtype.OfName(ast.TypeName{Name: "numeric", Mods: []int32{3, -2}})
	if !negative.RoundsWhole() || negative.Scale() != 0 || negative.Modified() != "pg_catalog.numeric(3, -2)" {
		t.Errorf("a negative scale: %s", negative.Modified())
	}
}

// TestOfName knows built-in types, and takes other names for types of users.
func TestOfName(t *testing.T) {
	for _, c := range []struct {
		name ast.TypeName
		sql  string
		ok   bool
	}{
		{ast.TypeName{Schema: "pg_catalog", Name: "int4"}, "pg_catalog.int4", true},
		{ast.TypeName{Name: "text", Array: true}, "pg_catalog.text[]", true},
		{ast.TypeName{Schema: "pg_catalog", Name: "jsonb"}, "", false},
		{ast.TypeName{Schema: "public", Name: "mood"}, `"public"."mood"`, true},
		{ast.TypeName{Name: "mood"}, `"mood"`, true},
		{ast.TypeName{Name: "mood", Mods: []int32{1}}, `"mood"`, false},
	} {
		typ, ok := pgtype.OfName(c.name)
		if ok != c.ok || typ.SQL() != c.sql || typ.Named() != (typ.Enum.Name != "") {
			t.Errorf("%+v: %+v, %t", c.name, typ, ok)
		}
	}
}

// TestOfParameter knows built-in types and their arrays, and takes large OIDs for types of users.
func TestOfParameter(t *testing.T) {
	mood := pgtype.Type{Enum: catalog.Name{Schema: "public", Name: "mood"}}
	for oid, want := range map[uint32]string{
		pgtype.Int4: "int4", 1007: "int4[]", pgtype.UUID: "uuid",
		pgtype.FirstUser + 5: "(user-defined)",
	} {
		typ, ok := pgtype.OfParameter(oid)
		if !ok || typ.String() != want || typ.MayBe(mood) != typ.Named() {
			t.Errorf("%d: %s, %t", oid, typ, ok)
		}
	}
	for _, oid := range []uint32{0, 3802, pgtype.Unknown} {
		if typ, ok := pgtype.OfParameter(oid); ok {
			t.Errorf("%d: %s", oid, typ)
		}
	}
}
