package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// besidePeople are tables with other rows that can come into the place of people.
const besidePeople = `CREATE TABLE strangers (LIKE people INCLUDING ALL);
INSERT INTO strangers (id, region, age, note) SELECT g, 'hush', 20, 'x' FROM generate_series(4001, 4100) g;
CREATE TABLE heirs (LIKE people INCLUDING ALL); INSERT INTO heirs (id, region) SELECT g, 'hush' FROM generate_series(5001, 5100) g`

// movedPeople are changes of the schema that a survey must not see half of, each with what undoes it.
var movedPeople = []struct{ name, do, undo string }{
	{
		"columns swap names",
		"ALTER TABLE people RENAME region TO x; ALTER TABLE people RENAME note TO region; ALTER TABLE people RENAME x TO note",
		"ALTER TABLE people RENAME region TO x; ALTER TABLE people RENAME note TO region; ALTER TABLE people RENAME x TO note",
	},
	{
		"tables swap names", "ALTER TABLE people RENAME TO x; ALTER TABLE strangers RENAME TO people; ALTER TABLE x RENAME TO strangers",
		"ALTER TABLE people RENAME TO x; ALTER TABLE strangers RENAME TO people; ALTER TABLE x RENAME TO strangers",
	},
	{"a table inherits", "ALTER TABLE heirs INHERIT people", "ALTER TABLE heirs NO INHERIT people"},
	{"a type changes", "ALTER TABLE people ALTER age TYPE bigint USING 50 - age", "ALTER TABLE people ALTER age TYPE int USING 50 - age"},
}

// testOneCatalogue asks while a change of the schema is open, which is committed when the survey waits for it, or has ended: the survey
// is refused, or it is of the objects as they were, and shows nothing else.
func testOneCatalogue(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	super := sitetest.Dial(t, s.Data.URL(s.Database, pgtemp.Superuser))
	watch := sitetest.Dial(t, s.Data.URL(s.Database, pgtemp.Superuser))
	if _, err := super.Exec(t.Context(), besidePeople, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	const shown = "SELECT count(*)::text, string_agg(DISTINCT region, ' ') FROM local.people"
	mirror := sitetest.Dial(t, s.Mirror.URL(s.Database, pgtemp.Superuser))
	before := sitetest.Rows(t, mirror, shown)
	for i, c := range movedPeople {
		ana := sitetest.Dial(t, r.URL("ana"))
		if _, err := super.Exec(t.Context(), "BEGIN; "+c.do, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		asked, changed := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := pgtemp.Blocks(context.Background(), watch, super.PgConn().PID(), asked)
			_, failed := super.Exec(context.Background(), "COMMIT")
			changed <- errors.Join(err, failed)
		}()
		_, refused := ana.Exec(t.Context(), fmt.Sprintf("SELECT * FROM dp.survey('people', 'age * %d', 0.01)", 100+i),
			pgx.QueryExecModeSimpleProtocol)
		close(asked)
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
		if refused != nil && !ana.IsClosed() { // it is closed where a look has found that the mirror shows something else by now
			sitetest.Fails(t, refused, "PB013", "the schema of people has changed")
		}
		if now := sitetest.Rows(t, mirror, shown); now != before {
			t.Errorf("%s: %v, and the mirror shows %s, and %s before", c.name, refused, now, before)
		}
		if _, err := super.Exec(t.Context(), "BEGIN; "+c.undo+"; COMMIT", pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		r.HangUp(t, "the policy was reloaded")
	}
}
