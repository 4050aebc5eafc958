package local_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// TestDocument plays the conversations of docs/local.md with psql: numbers aside, it prints what stands there.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/local.md")
	if err != nil {
		t.Fatal(err)
	}
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
	for _, want := range []string{
		"people is of the local model: the rows that it has, and their id, region, are public",
		"against a change of values by epsilon 3 + 4 = 7, and not against the fact of being listed",
	} {
		s.Says(t, want, "check", s.Policy)
	}
	r := s.Run(t)
	blocks := regexp.MustCompile("(?s)```psql\n(clinic=> .*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatal("there are no transcripts")
	}
	for _, block := range blocks {
		var typed, shown strings.Builder
		for line := range strings.Lines(block[1]) {
			if sql, ok := strings.CutPrefix(line, "clinic=> "); ok {
				typed.WriteString(sql)
			} else {
				shown.WriteString(line)
			}
		}
		sitetest.SameTranscript(t, psql(t, r, typed.String()), shown.String())
	}
	t.Run("stays", func(t *testing.T) { testStays(t, s, r) })
}

// psql runs a script as the analyst ana.
func psql(t *testing.T, r *sitetest.Running, script string) string {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "psql"), "-X", "--pset=pager=off", r.URL("ana"))
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(out)
}

// everything is all answers, digested on the mirror.
const everything = "SELECT count(*) || ' ' || coalesce(md5(string_agg(p::text, ',' ORDER BY id)), '') FROM local.people AS p"

// testStays restarts and kills dpproxy, makes the mirror anew, and rolls surveys back: answers stay as they were.
func testStays(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	before := sitetest.Rows(t, sitetest.Dial(t, r.URL("ana")), everything)
	r.Kill()
	mirror := sitetest.Dial(t, s.Mirror.URL(s.Database, pgtemp.Superuser))
	sitetest.Exec(t, mirror, "DROP SCHEMA local CASCADE")
	s.Says(t, "local.people: made from the answers to 4 surveys", "sync", s.Policy)
	if after := sitetest.Rows(t, mirror, everything); after != before {
		t.Fatalf("sync shows %s, and %s before", after, before)
	}
	s.Says(t, "", "sync", s.Policy)
	r = s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	if after := sitetest.Rows(t, conn, everything); after != before {
		t.Fatalf("the mirror shows %s, and %s before", after, before)
	}
	for _, sql := range []string{
		"DELETE FROM local.people", "UPDATE local.people SET loss = 0", "DROP TABLE local.people", "SELECT * FROM people",
		"CREATE TABLE local.x ()",
	} {
		if _, err := conn.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s: was allowed", sql)
		}
	}
	eve := sitetest.Dial(t, r.URL("eve"))
	for _, sql := range []string{"SELECT count(*) FROM local.people", "SELECT * FROM dp.survey('people', 'smoker', 1)"} {
		_, err := eve.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
		sitetest.Fails(t, err, "42501", "permission denied")
	}
	sitetest.Exec(t, conn, "BEGIN; SELECT * FROM dp.survey('people', 'sex', 0.5); ROLLBACK")
	if got := sitetest.Rows(t, conn, "SELECT count(sex)::text FROM local.people"); !strings.Contains(got, "3001") {
		t.Errorf("a survey that was rolled back has %s answers", got)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sitetest.Rows(t, conn, "SELECT count(*) FROM local.people")
	_, err = conn.Exec(t.Context(), "SELECT * FROM dp.survey('people', 'bmi', 0.25)", pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "0A000", "this transaction has read")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	decide := func(verb string) []string {
		return []string{"budget", verb, s.Policy, "--scope", "local:people", "--reason", "a test", "--who", "carol"}
	}
	s.Says(t, "people is frozen: no survey is taken", decide("freeze")...)
	_, err = conn.Exec(t.Context(), "SELECT * FROM dp.survey('people', 'bmi', 0.25)", pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "PB001", "surveys of people are frozen")
	s.Refuses(t, "people is frozen already", decide("freeze")...)
	s.Says(t, "people is asked again", decide("thaw")...)
	testOneCatalogue(t, s, r)
	testKilled(t, s, r)
}

// testKilled kills dpproxy while it asks. Whatever the ledger has then is shown, and is the answer to the same question.
func testKilled(t *testing.T, s *sitetest.Site, r *sitetest.Running) {
	for i, after := range []time.Duration{5 * time.Millisecond, 60 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		conn := sitetest.Dial(t, r.URL("ana"))
		sql := "SELECT answered FROM dp.survey('people', 'age * " + string(rune('2'+i)) + "', 0.05)"
		asked := sitetest.InBackground(t, conn, sql, pgx.QueryExecModeSimpleProtocol)
		sitetest.Pause(t, after)
		r.Kill()
		<-asked
		r = s.Run(t)
		conn = sitetest.Dial(t, r.URL("ana"))
		shown := sitetest.Rows(t, conn, everything)
		known := sitetest.Rows(t, conn, "SELECT count(*)::text FROM pg_attribute WHERE attrelid = 'local.people'::regclass AND attnum > 0")
		sitetest.Exec(t, conn, sql)
		again := sitetest.Rows(t, conn, "SELECT count(*)::text FROM pg_attribute WHERE attrelid = 'local.people'::regclass AND attnum > 0")
		if known == again && sitetest.Rows(t, conn, everything) != shown {
			t.Errorf("killed after %v: the answers to the same question are others", after)
		}
	}
	r.Kill()
	file := filepath.Join(s.Dir, "ledger", "local", "public.people", "1.survey")
	if err := os.Rename(file, file+".lost"); err != nil {
		t.Fatal(err)
	}
	r = s.Run(t)
	await.That(t, "the log says that the table is frozen", func() bool { return strings.Contains(r.Log.String(), "1.survey is missing") })
	conn := sitetest.Dial(t, r.URL("ana"))
	_, err := conn.Exec(t.Context(), "SELECT * FROM dp.survey('people', 'bmi', 0.25)", pgx.QueryExecModeSimpleProtocol)
	sitetest.Fails(t, err, "PB001", "surveys of people are frozen")
	r.Stop()
	s.Refuses(t, "1.survey is missing", "ledger", "verify", s.Policy)
	s.Refuses(t, "1.survey is missing", "check", s.Policy)
	s.Says(t, "1.survey is missing", "budget", "list", s.Policy)
	if err := os.Rename(file+".lost", file); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"ledger", "verify"}, {"budget", "list"}} {
		s.Says(t, "of each object: SPENT is the most that one has lost; of 3001, 0 have nothing left", append(command, s.Policy)...)
	}
	s.Says(t, "the file is well formed", "check", s.Policy)
}
