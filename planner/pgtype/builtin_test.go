package pgtype_test

import (
	"slices"
	"testing"

	"dpproxy/planner/pgtype"
)

// names are the known types, in a fixed order.
func names() []string {
	var list []string
	for _, r := range pgtype.Rows() {
		list = append(list, r.Name)
	}
	slices.Sort(list)
	return list
}

// oid is that of a known type; "" is an untyped literal.
func oid(name string) uint32 {
	if name == "" {
		return pgtype.Unknown
	}
	oid, _ := pgtype.ByName(name)
	return oid
}

// TestBuiltins compares the table of types with pg_type.
func TestBuiltins(t *testing.T) {
	type row struct {
		Name, Category string
		Preferred      bool
		Array          uint32
		Send           string
		Size           int
	}
	for _, r := range pgtype.Rows() {
		list := query[row](t, `SELECT typname::text, typcategory::text, typispreferred, typarray, typsend::text, typlen::int
			FROM pg_catalog.pg_type WHERE oid = $1 AND typnamespace = 'pg_catalog'::regnamespace`, r.OID)
		if len(list) != 1 {
			t.Errorf("%d: no such type", r.OID)
			continue
		}
		want := list[0]
		if r.Name != want.Name || string(r.Category) != want.Category || r.Preferred != want.Preferred {
			t.Errorf("%d: %+v, in Postgres %+v", r.OID, r, want)
		}
		if r.Array != 0 && r.Array != want.Array || r.Send != "" && r.Send != want.Send {
			t.Errorf("%s: %+v, in Postgres %+v", r.Name, r, want)
		}
		if r.Name != "name" && r.Size != max(want.Size, 0) { // a name is as long as it is
			t.Errorf("%s: %d bytes, in Postgres %d", r.Name, r.Size, want.Size)
		}
	}
}

// TestImplicitCasts compares the implicit casts between the known types with pg_cast.
func TestImplicitCasts(t *testing.T) {
	type cast struct{ From, To uint32 }
	known := map[cast]bool{}
	for _, c := range query[cast](t, "SELECT castsource, casttarget FROM pg_catalog.pg_cast WHERE castcontext = 'i' "+
		"AND castsource <> casttarget") {
		known[c] = true
	}
	for _, a := range pgtype.Rows() {
		for _, b := range pgtype.Rows() {
			if got := pgtype.Implicit(a.OID, b.OID); got != (known[cast{a.OID, b.OID}] || a.OID == b.OID) {
				t.Errorf("implicit from %s to %s: %t", a.Name, b.Name, got)
			}
		}
	}
}
