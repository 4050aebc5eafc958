package local_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
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
	otherPeople(t, s, r, answers, was)

	begin, end := strings.Index(policy, "  people:\n"), strings.Index(policy, "analysts:\n")
	s.Edit(t, strings.Replace(policy[begin:end], "    public: [region]\n", "", 1), "  people: {unit: id}\n")
	s.Command(t, "budget", "retire", s.Policy, "--scope", "local:people", "--reason", "it is asked as a whole from now on")
	s.Refuses(t, `column "id" of objects in local.people, which the policy does not show`, "run", s.Policy)
	s.Says(t, "drop the answers local.people", "sync", s.Policy)
	_, err = sitetest.Dial(t, s.Run(t).URL("ana")).Exec(t.Context(), "TABLE local.people")
	sitetest.Fails(t, err, "42P01", "does not exist")
}

// otherPeople puts another table in the place of people, while the policy protects the former one: nobody sees its objects, before and
// after a sync and a restart, and nobody is asked in their place. When it is back its answers are.
func otherPeople(t *testing.T, s *sitetest.Site, r *sitetest.Running, answers, was string) {
	t.Helper()
	data := sitetest.Dial(t, s.Data.URL(s.Database, pgtemp.Superuser))
	sitetest.Exec(t, data, "ALTER TABLE people RENAME TO former; CREATE TABLE people (LIKE former INCLUDING ALL); "+
		"INSERT INTO people (id, smoker) VALUES (1, true), (7, true)")
	s.Edit(t, "  people:\n", "  former: {unit: id}\n  people:\n")
	const found = "objects in local.people of public.people, which is public.former in the real database by now"
	said := len(r.Log.String())
	r.HangUp(t, "nobody is served")
	if log := r.Log.String()[said:]; !strings.Contains(log, found) {
		t.Errorf("the log says %s", log)
	}
	_, err := pgx.Connect(t.Context(), r.URL("ana"))
	sitetest.Fails(t, err, "PB013", "from other relations than there are by now")
	r.Stop()
	s.Refuses(t, found, "run", s.Policy)
	const others = "objects of public.former have answered, which was public.people then"
	s.Refuses(t, others, "check", s.Policy)
	s.Says(t, "drop the answers local.people", "sync", s.Policy)
	s.Says(t, "local.people is not shown: "+others, "sync", s.Policy)
	r = s.Run(t)
	if log := r.Log.String(); !strings.Contains(log, "a local table is frozen") || !strings.Contains(log, others) {
		t.Errorf("the log says %s", log)
	}
	ana := sitetest.Dial(t, r.URL("ana"))
	_, err = ana.Exec(t.Context(), "TABLE local.people")
	sitetest.Fails(t, err, "42P01", "does not exist")
	_, err = ana.Exec(t.Context(), "SELECT * FROM dp.survey('people', 'age', 1)", pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "PB001", "surveys of people are frozen")
	r.Stop()
	sitetest.Exec(t, data, "DROP TABLE people; ALTER TABLE former RENAME TO people")
	s.Edit(t, "  former: {unit: id}\n", "")
	s.Says(t, "local.people: made from the answers to 1 surveys", "sync", s.Policy)
	r = s.Run(t)
	if got := sitetest.Rows(t, sitetest.Dial(t, r.URL("ana")), answers); got != was {
		t.Errorf("the answers are\n%s\nand were\n%s", got, was)
	}
	r.Stop()
	otherParts(t, s, data)
}

// otherParts has a partition of a local table detached, renamed and protected.
func otherParts(t *testing.T, s *sitetest.Site, data *pgx.Conn) {
	t.Helper()
	sitetest.Exec(t, data, "CREATE TABLE crowd (id int PRIMARY KEY, own boolean) PARTITION BY RANGE (id); "+
		"CREATE TABLE crowd_1 PARTITION OF crowd FOR VALUES FROM (0) TO (9); "+
		"CREATE TABLE crowd_2 PARTITION OF crowd FOR VALUES FROM (9) TO (20); "+
		"INSERT INTO crowd SELECT g, true FROM generate_series(0, 19) g")
	const crowd = "  crowd: {model: local, key: id, local_budget: 4, columns: {own: {values: [false, true]}}}\n"
	s.Edit(t, "  people:\n", crowd+"  people:\n")
	s.Edit(t, "tables: [visits, people]", "tables: [visits, people, crowd]")
	s.Command(t, "sync", s.Policy)
	r := s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT * FROM dp.survey('crowd', 'own', 1)")
	r.Stop()
	sitetest.Exec(t, data, "ALTER TABLE crowd DETACH PARTITION crowd_1; ALTER TABLE crowd_1 RENAME TO aside")
	s.Command(t, "sync", s.Policy)
	s.Edit(t, crowd, crowd+"  aside: {unit: id}\n")
	const others = "objects of public.aside have answered, which was public.crowd_1 then"
	s.Refuses(t, others, "check", s.Policy)
	s.Refuses(t, "objects in local.crowd of public.aside, which the policy protects", "run", s.Policy)
	s.Says(t, "drop the answers local.crowd", "sync", s.Policy)
	r = s.Run(t)
	if log := r.Log.String(); !strings.Contains(log, others) {
		t.Errorf("the log says %s", log)
	}
	_, err := sitetest.Dial(t, r.URL("ana")).Exec(t.Context(), "TABLE local.crowd")
	sitetest.Fails(t, err, "42P01", "does not exist")
	r.Stop()
	s.Command(t, "budget", "retire", s.Policy, "--scope", "local:crowd", "--reason", "it is asked as a whole from now on")
	s.Edit(t, crowd+"  aside: {unit: id}\n", "")
	s.Edit(t, "tables: [visits, people, crowd]", "tables: [visits, people]")
	s.Command(t, "sync", s.Policy)
}
