package mirror_test

import (
	"fmt"
	"strconv"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// manyAnalysts is large enough that what is done for each pair of analysts would be seen.
const manyAnalysts = 60

// TestSyncOfManyAnalysts holds that each of many analysts has the rights of the plan and no other, also where some are lost or
// withdrawn, and that a second sync writes nothing.
func TestSyncOfManyAnalysts(t *testing.T) {
	p := twoServers(t)
	many := plan()
	many.Analysts = nil
	for i := range manyAnalysts {
		a := mirror.Analyst{Name: "analyst " + strconv.Itoa(i), Password: "secret", Tables: []catalog.Name{name("patients")}}
		if i%2 == 0 {
			a.Tables = append(a.Tables, name("visits"))
		}
		many.Analysts = append(many.Analysts, a)
	}
	readers := func(table string) string {
		t.Helper()
		return value(t, p.mirror, fmt.Sprintf("SELECT count(*)::text FROM pg_class, aclexplode(relacl) x "+
			"JOIN pg_roles r ON r.oid = x.grantee WHERE pg_class.oid = '%s'::regclass AND rolname LIKE 'analyst %%'", table))
	}
	holds := func(analysts, visits string) {
		t.Helper()
		for table, want := range map[string]string{
			"public.patients": analysts, "public.visits": visits, "public.hospitals": analysts, "dp.budget": analysts,
		} {
			if got := readers(table); got != want {
				t.Errorf("%s analysts may read %s, want %s", got, table, want)
			}
		}
		if again := p.sync(t, many); len(again) > 0 {
			t.Errorf("a second sync says %q", again)
		}
	}
	p.sync(t, many)
	holds("60", "30")
	run(t, p.mirror, `REVOKE SELECT ON visits FROM "analyst 4", "analyst 8"; REVOKE USAGE ON SCHEMA dp FROM "analyst 5"`)
	if changes := p.sync(t, many); len(changes) != 3 {
		t.Errorf("it mends %q", changes)
	}
	holds("60", "30")
	many.Analysts = many.Analysts[1:]
	many.Analysts[1].Tables = many.Analysts[1].Tables[:1] // analyst 2 loses visits
	p.sync(t, many)
	holds("59", "28")
}
