package local_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// TestWanted holds that nothing is asked that the session does not want to pay for, and that a survey without an answer is none:
// it takes no name, and may be asked again.
func TestWanted(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
	conn := sitetest.Dial(t, s.Run(t).URL("ana"))
	refused := func(sql, code, text string) {
		t.Helper()
		_, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		sitetest.Fails(t, err, code, text)
	}
	const survey = "SELECT answered::text FROM dp.survey('people', 'sex', 1)"
	sitetest.Exec(t, conn, "SET dp.spend = never")
	refused(survey, "PB018", "dp.spend = never answers only what is free")
	sitetest.Exec(t, conn, "SET dp.spend = confirmed")
	refused(survey, "PB018", "run it again to ask")
	if got := sitetest.Rows(t, conn, survey); !strings.Contains(got, "3001") {
		t.Errorf("confirmed, it has %s answers", got)
	}
	sitetest.Rows(t, conn, "EXPLAIN SELECT answered::text FROM dp.survey('people', 'age', 0.5)")
	if got := sitetest.Rows(t, conn, "SELECT answered::text FROM dp.survey('people', 'age', 0.5)"); !strings.Contains(got, "3001") {
		t.Errorf("once its price was shown, it has %s answers", got)
	}
	sitetest.Exec(t, conn, "SET dp.spend = never")
	if got := sitetest.Rows(t, conn, survey); !strings.Contains(got, "3001") {
		t.Errorf("asked again for nothing, it has %s answers", got)
	}
	sitetest.Rows(t, conn, "/* dp: spend=always */ SELECT answered::text FROM dp.survey('people', 'smoker', 1)")
	sitetest.Exec(t, conn, "SET dp.spend = always")
	refused(`SELECT * FROM dp.survey('people', 'bmi', 1, "where" => 'region = ''nowhere''')`, "PB004", "no object meets the condition")
	refused("SELECT * FROM dp.survey('people', 'bmi', 3)", "PB001", "none of the 3001 objects has so much of its budget left")
	if got := sitetest.Rows(t, conn, "SELECT answered::text FROM dp.survey('people', 'bmi', 1)"); !strings.Contains(got, "3001") {
		t.Errorf("after surveys without answers, it has %s answers", got)
	}
	const ofNobody = "SELECT count(*)::text FROM dp.share(0, 0, 1) AS s WHERE s.stderr IS NULL"
	if got := sitetest.Rows(t, conn, ofNobody); !strings.Contains(got, "1") {
		t.Errorf("of nobody the shares are %s", got)
	}
}
