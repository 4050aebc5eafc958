package local_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/sitetest"
)

// TestNarrowed has the policy make a public column of objects private, and then the table one of the central model, with their answers on
// the mirror: nobody is served while these show more than the policy, a sync drops them, and what the policy permits is shown anew.
func TestNarrowed(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: few, Policy: policy})
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SELECT * FROM dp.survey('people', 'smoker', 1)")
	const answers = "SELECT concat_ws(' ', smoker, loss) FROM local.people ORDER BY id"
	was := sitetest.Rows(t, ana, answers)
	sitetest.Exec(t, ana, "SELECT region FROM local.people")
	shut := func(why string) {
		t.Helper()
		await.That(t, why, func() bool { return strings.Contains(r.Log.String(), why) })
		_, err := pgx.Connect(t.Context(), r.URL("ana"))
		sitetest.Fails(t, err, "PB013", "the mirror was made for another policy")
	}

	s.Edit(t, "    public: [region]\n", "")
	const region = `column \"region\" of objects in local.people, which the policy does not show`
	r.HangUp(t, "nobody is served")
	shut(region)
	if _, err := ana.Exec(t.Context(), "SELECT 1"); err == nil {
		t.Error("a session goes on that can read the column")
	}
	s.Refuses(t, strings.ReplaceAll(region, `\`, ""), "check", s.Policy)
	s.Says(t, "drop the answers local.people", "sync", s.Policy)
	shut("that needs a restart: the tables of the local model are others")
	r.Stop()
	r = s.Run(t)
	ana = sitetest.Dial(t, r.URL("ana"))
	if got := sitetest.Rows(t, ana, answers); got != was {
		t.Errorf("the answers are\n%s\nand were\n%s", got, was)
	}
	_, err := ana.Exec(t.Context(), "SELECT region FROM local.people")
	sitetest.Fails(t, err, "42703", "region")
	s.Says(t, "the mirror is in order", "sync", s.Policy)
	r.Stop()

	begin, end := strings.Index(policy, "  people:\n"), strings.Index(policy, "analysts:\n")
	s.Edit(t, strings.Replace(policy[begin:end], "    public: [region]\n", "", 1), "  people: {unit: id}\n")
	s.Command(t, "budget", "retire", s.Policy, "--scope", "local:people", "--reason", "it is asked as a whole from now on")
	s.Refuses(t, `column "id" of objects in local.people, which the policy does not show`, "run", s.Policy)
	s.Says(t, "drop the answers local.people", "sync", s.Policy)
	_, err = sitetest.Dial(t, s.Run(t).URL("ana")).Exec(t.Context(), "TABLE local.people")
	sitetest.Fails(t, err, "42P01", "does not exist")
}
