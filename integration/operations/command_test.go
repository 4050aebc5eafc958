package operations_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
	"dpproxy/wire"
)

// TestIncidents lets a read fail, and follows the incident through a restart to
// the administrator's clearing it.
func TestIncidents(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy).Gated(t)
	shared := s.OnRedis(t, redistemp.Start(t, redistemp.Durable...), "")
	shared.InitAgain(t)
	for name, s := range map[string]*sitetest.Site{"embedded": s, "Redis": shared} {
		t.Run(name, func(t *testing.T) { testIncidents(t, s) })
	}
}

func testIncidents(t *testing.T, s *sitetest.Site) {
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	s.Gate.Fail("53200")
	if _, err := ana.Exec(t.Context(), "SELECT count(*) FROM patients"); sitetest.SQLState(err) != "PB009" {
		t.Fatalf("a read that runs out of memory: %v", err)
	}
	s.Gate.Open()
	r.Stop()

	var listed []struct {
		Charge                                   uint64
		Time                                     time.Time
		Analyst, Shape, Tables, Class, Statement string
	}
	if s.JSON(t, &listed, "incidents", "list", s.Policy); len(listed) != 1 || listed[0].Analyst != "ana" ||
		listed[0].Charge == 0 || listed[0].Shape == "" || time.Since(listed[0].Time) > time.Hour || listed[0].Class != "53" ||
		listed[0].Tables != "public.patients" || listed[0].Statement != "SELECT count(*) FROM patients" {
		t.Errorf("list says %+v", listed)
	}
	row := regexp.MustCompile(`^CHARGE  TIME +ANALYST  TABLES +CLASS  STATEMENT\n` +
		`\d+ +\d{4}-\S+  ana      public\.patients  53     SELECT count\(\*\) FROM patients\n$`)
	if out := s.Command(t, "incidents", "list", s.Policy); !row.MatchString(out) {
		t.Errorf("list says %s", out)
	}
	r = s.Run(t)
	if _, err := sitetest.Dial(t, r.URL("ana")).Exec(t.Context(), "SELECT count(*) FROM patients"); sitetest.SQLState(err) != "PB011" {
		t.Errorf("a quarantined statement after a restart: %v", err)
	}
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT count(*) FROM visits")
	r.Stop()

	out := s.Command(t, "incidents", "clear", s.Policy, "--reason", "the network failed")
	if !strings.HasPrefix(out, "cleared 1 incidents\n") {
		t.Errorf("clear says %s", out)
	}
	r = s.Run(t)
	sitetest.Exec(t, sitetest.Dial(t, r.URL("ana")), "SELECT count(*) FROM patients")
}

// TestUnknownCommand holds that a slip of the fingers costs one line, and that no command at all shows them all.
func TestUnknownCommand(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), sitetest.Program(t), "budgets").CombinedOutput()
	if err == nil || strings.Count(string(out), "\n") != 1 || !strings.Contains(string(out), "budgets") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), sitetest.Program(t)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "budget raise") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = exec.CommandContext(t.Context(), sitetest.Program(t), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "dpproxy ") || !strings.Contains(string(out), "\ngrammar of Postgres 1") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestVerifier makes a verifier that the wire accepts.
func TestVerifier(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), sitetest.Program(t), "verifier")
	cmd.Stdin = strings.NewReader("correct horse\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.CheckVerifier(strings.TrimSpace(string(out))); err != nil {
		t.Errorf("%s: %v", out, err)
	}
}

// TestDocumentedCommands checks that every dpproxy command and make target that
// the documents show exists; the commands themselves run in the other tests.
func TestDocumentedCommands(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`(?m)^    (?:bin/)?(dpproxy|make) ([a-z-]+)(?: ([a-z]+)\b)?`)
	grouped := []string{"budget", "ledger", "incidents"}
	for _, doc := range append(docs, "../../README.md", "../../CONTRIBUTING.md") {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
			if m[1] == "make" {
				if !strings.Contains(string(makefile), "\n"+m[2]+":") {
					t.Errorf("%s: make %s does not exist", doc, m[2])
				}
				continue
			}
			args := []string{m[2], "--help"}
			if slices.Contains(grouped, m[2]) {
				args = []string{m[2], m[3], "--help"}
			}
			if out, err := exec.CommandContext(t.Context(), sitetest.Program(t), args...).CombinedOutput(); err != nil {
				t.Errorf("%s: dpproxy %s: %v\n%s", doc, args, err, out)
			}
		}
	}
}

// TestCheck tells a policy that fits from one that does not, and both from one
// whose database cannot be reached.
func TestCheck(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	text, err := os.ReadFile(s.Policy)
	if err != nil {
		t.Fatal(err)
	}
	check := func(policy string, args ...string) (string, error) {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), sitetest.Program(t), append([]string{"check", path}, args...)...).CombinedOutput()
		return string(out), err
	}
	if out, err := check(string(text)); err != nil || !strings.Contains(out, "it fits the database") {
		t.Errorf("a good policy: %v\n%s", err, out)
	}
	for what, c := range map[string]struct{ old, new, want string }{
		"an unknown table":  {"  hospitals:", "  clinics:", "does not exist"},
		"an unknown column": {"sex: {values", "gender: {values", `no such column`},
		"an unknown key":    {"max_rows", "max_row", "max_row"},
		"a wrong type":      {"cost: {bounds: [0, 100]}", "cost: {bounds: [2020-01-01, 2020-02-01]}", "dates as bounds"},
		"no path":           {"to: visits.id", "to: hospitals.id", "public"},
	} {
		out, err := check(strings.Replace(string(text), c.old, c.new, 1))
		if err == nil || !strings.Contains(out, c.want) || !regexp.MustCompile(`policy\.yaml:\d+`).MatchString(out) {
			t.Errorf("%s: %v\n%s", what, err, out)
		}
	}
	cert, _ := sitetest.NewAuthority(t).Server(t)
	_, key := sitetest.NewAuthority(t).Server(t)
	for _, files := range [][3]string{{"/nowhere", "/nowhere", "tls.cert /nowhere"}, {cert, key, "private key does not match"}} {
		text := strings.Replace(string(text), "privacy_unit:", "tls: {cert: "+files[0]+", key: "+files[1]+"}\nprivacy_unit:", 1)
		if out, err := check(text, "--offline"); err == nil || !strings.Contains(out, files[2]) {
			t.Errorf("%v: %v\n%s", files, err, out)
		}
	}
	elsewhere := regexp.MustCompile(`(?m)^data: .*`).ReplaceAllString(string(text), "data: postgres://dpproxy@db.example/clinic")
	if out, err := check(elsewhere, "--offline"); err != nil || !strings.Contains(out, "unencrypted") {
		t.Errorf("a database elsewhere: %v\n%s", err, out)
	}
	admin := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	checkDeclared(t, admin, string(text), check)
	sitetest.Exec(t, admin, "ALTER TABLE visits ALTER patient_id DROP NOT NULL, DROP COLUMN birth_date; ALTER TABLE labs DROP COLUMN mood")
	explained, err := check(string(text), "--explain")
	for _, want := range []string{
		"warning: rows that belong to no patient are left out of every answer: public.labs (visits.patient_id is NULL; " +
			"with nobody: rows under public.visits they count), public.visits (patient_id is NULL; with nobody: rows under public.visits " +
			"they count)\n",
		"without rows that belong to no patient: patient_id is NULL",
	} {
		if err != nil || !strings.Contains(explained, want) {
			t.Errorf("with rows of nobody %q is not said: %v\n%s", want, err, explained)
		}
	}
	sitetest.Exec(t, admin, "CREATE VIEW ill AS SELECT id FROM patients")
	public := strings.Replace(string(text), "  hospitals:", "  ill: {public: true}\n  hospitals:", 1)
	out, err := check(public)
	if err == nil || !strings.Contains(out, "public.ill references, inherits from or is a view over the protected public.patients") {
		t.Errorf("a public view of protected rows: %v\n%s", err, out)
	}
	if err := os.WriteFile(s.Policy, []byte(public), 0o600); err != nil {
		t.Fatal(err)
	}
	refused, err := exec.CommandContext(t.Context(), sitetest.Program(t), "sync", s.Policy).CombinedOutput()
	_, reason, found := strings.Cut(string(refused), "dpproxy: ")
	if err == nil || !found || !strings.HasSuffix(out, "\ndpproxy: "+reason) {
		t.Errorf("sync: %v\n%s\ncheck:\n%s", err, refused, out)
	}
	checkAway(t, s, string(text), check)
}

// checkDeclared has values in the policy that no row can have, and others missing there, and dates of birth under the default for dates.
func checkDeclared(t *testing.T, admin *pgx.Conn, text string, check func(policy string, args ...string) (string, error)) {
	t.Helper()
	sitetest.Exec(t, admin, `ALTER TABLE patients ADD CHECK (sex IN ('f', 'm', 'x'));
		ALTER TABLE labs ADD CHECK (test = 'chol' OR test = 'hdl');
		ALTER TABLE visits ADD CHECK (diagnosis <> 'flu') NOT VALID, ADD COLUMN birth_date date;
		CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy'); ALTER TABLE labs ADD COLUMN mood mood`)
	more := strings.NewReplacer("[chol, hdl]", "[chol, hdl, ldl]}, mood: {values: [sad, angry]",
		"analysts:", "defaults: {dates: [2020-01-01, 2025-12-31]}\nanalysts:")
	const excluded, admitted = "the type of the column or a CHECK excludes", "the type of the column or a CHECK admits"
	declared, err := check(more.Replace(text))
	for _, want := range []string{
		": warning: public.labs: declared values that " + excluded + " are shown as groups in which nobody is: test ldl\n",
		": warning: public.labs: declared values that are no labels of the enum, which dpproxy sync refuses: mood angry\n",
		"are in no group: public.labs (mood ok, happy), public.patients (sex x)\n",
		": warning: public.visits: dates of birth are clamped to days from 2020-01-01 to 2025-12-31, by defaults.dates: state their own " +
			"bounds, or {bounds: none}: birth_date\n",
	} {
		once := strings.Count(declared, excluded) == 1 && strings.Count(declared, admitted) == 1
		if err != nil || strings.Count(declared, want) != 1 || !once {
			t.Errorf("%q is not said: %v\n%s", want, err, declared)
		}
	}
}

// checkAway checks a policy while the mirror is away, and then the database as well.
func checkAway(t *testing.T, s *sitetest.Site, text string, check func(policy string, args ...string) (string, error)) {
	t.Helper()
	const nobody = `mirror: "postgres://dpproxy@127.0.0.1:1/mirror?connect_timeout=1"`
	away := regexp.MustCompile(`(?m)^mirror:.*$`).ReplaceAllString(text, nobody)
	if out, err := check(away); err != nil || !strings.Contains(out, "NOT checked against the mirror") {
		t.Errorf("without a mirror: %v\n%s", err, out)
	}
	s.Data.Crash()
	if out, err := check(text); err != nil || !strings.Contains(out, "NOT checked against the database") {
		t.Errorf("without a database: %v\n%s", err, out)
	}
	if out, err := check(text, "--online"); err == nil {
		t.Errorf("--online without a database: %s", out)
	}
}
