package local_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestComeAndGo has an object disappear and come back with other values, and another one appear. Answers stay those of the key, and what it
// lost stays lost: nobody is asked the same twice by leaving, and under values_change: never the values of then are still those that count.
func TestComeAndGo(t *testing.T) {
	never := strings.Replace(policy, "local_budget: 4", "local_budget: 4\n    values_change: never", 1)
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: few, Policy: never})
	conn := sitetest.Dial(t, s.Run(t).URL("ana"))
	data := sitetest.Dial(t, s.Data.URL(s.Database, pgtemp.Superuser))
	says := func(sql, want string) {
		t.Helper()
		if got := sitetest.Rows(t, conn, sql); got != want {
			t.Errorf("%s\n%s\nwant %s", sql, got, want)
		}
	}
	const (
		ask  = "SELECT concat_ws(' ', asked, answered) FROM dp.survey('people', 'smoker', 1)"
		of3  = "SELECT concat_ws(' ', smoker, region, loss) FROM local.people WHERE id = 3"
		rows = "SELECT concat_ws(' ', count(*), count(smoker), count(sex)) FROM local.people"
	)
	says(ask, "9 9")
	was := sitetest.Rows(t, conn, of3)
	sitetest.Exec(t, data, "DELETE FROM people WHERE id = 3; INSERT INTO people (id, region, smoker) VALUES (10, 'east', true)")
	says(ask, "9 9") // the answers of then
	says(of3, was)
	says("SELECT concat_ws(' ', asked, answered) FROM dp.survey('people', 'sex', 1)", "9 9")
	says(rows, "10 9 9")
	says("SELECT concat_ws(' ', smoker IS NULL, sex IS NULL, region, loss) FROM local.people WHERE id = 10", "t f east 1")
	sitetest.Exec(t, data, "INSERT INTO people (id, region, smoker) VALUES (3, 'west', false); UPDATE people SET smoker = NOT smoker")
	says(ask, "9 9")
	says(of3, was)
	says("SELECT concat_ws(' ', asked, answered) FROM dp.survey('people', 'age', 2.5)", "10 2") // the others have answered both
	says("SELECT concat_ws(' ', region, loss) FROM local.people WHERE id = 3", "west 3.5")
	_, err := conn.Exec(t.Context(), "SELECT * FROM dp.survey('people', 'bmi', 0.6, \"where\" => 'id IN (3, 10)')",
		pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "PB001", "none of the 2 objects has so much of its budget left")
}
