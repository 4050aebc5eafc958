package protocol_test

import (
	"testing"

	"dpproxy/internal/sitetest"
)

// TestSkippedTableIsFree makes a table that is there: Postgres runs no query for it. One of
// the same name elsewhere on the path does not stand in its way.
func TestSkippedTableIsFree(t *testing.T) {
	r := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Run(t)
	defer r.Stop()
	ana := sitetest.Dial(t, r.URL("ana"))
	spent := func() string {
		t.Helper()
		var sum string
		if err := ana.QueryRow(t.Context(), "SELECT max(spent)::text FROM dp.tables").Scan(&sum); err != nil {
			t.Fatal(err)
		}
		return sum
	}
	sitetest.Exec(t, ana, `CREATE TEMP TABLE "X y" AS SELECT 1 AS a`)
	sitetest.Exec(t, ana, "PREPARE q AS SELECT count(*) FROM patients")
	for _, sql := range []string{
		`CREATE TABLE IF NOT EXISTS pg_temp."X y" AS EXECUTE q`,
		`CREATE TEMP TABLE IF NOT EXISTS "X y" AS EXECUTE q`,
		`CREATE TEMP TABLE IF NOT EXISTS "X y" AS SELECT count(*) FROM patients`,
		`SET search_path = pg_temp, public; CREATE TABLE IF NOT EXISTS "X y" AS SELECT count(*) FROM patients; RESET search_path`,
	} {
		if _, err := ana.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		if s := spent(); s != "0" {
			t.Fatalf("%s: spent %s", sql, s)
		}
	}
	tag, err := ana.Exec(t.Context(), `CREATE TEMP TABLE IF NOT EXISTS "X y" AS SELECT count(*) FROM patients`)
	if err != nil || tag.String() != "CREATE TABLE AS" || spent() != "0" {
		t.Errorf("extended: %s, %v, spent %s", tag, err, spent())
	}
	sitetest.Exec(t, ana, "CREATE TEMP TABLE IF NOT EXISTS new AS SELECT count(*) FROM patients")
	if spent() == "0" {
		t.Error("a table that is made is free")
	}
}
