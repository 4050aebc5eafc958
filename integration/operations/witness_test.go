package operations_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// copyFolder replaces a folder by a copy of another, as a restore does. Sockets are left out.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSocket != 0 {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// spend asks questions until dpproxy is stopped, and returns what the unit has spent then.
func spend(t *testing.T, s *sitetest.Site, questions int) string {
	t.Helper()
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	for range questions {
		sitetest.Exec(t, ana, sitetest.CountPatients)
	}
	r.Stop()
	return s.UnitSpent(t)
}

// refusesOlder holds that dpproxy does not start, and says by how much the ledger is older.
func refusesOlder(t *testing.T, s *sitetest.Site, where string) {
	t.Helper()
	r := s.Start(t)
	<-r.Exited
	said := r.Log.String()
	want := regexp.MustCompile(`is an older copy: it ends with entry \d+, and ` + where + ` has the mark of entry \d+, [1-9]\d* later\. ` +
		`To be charged again: .*unit:patient`)
	if r.Addr != "" || !want.MatchString(said) || !strings.Contains(said, "ledger repair --accept-loss") {
		t.Fatalf("a start with an older ledger says:\n%s", said)
	}
}

// TestRestoredLedger puts an older copy of the whole ledger folder back: dpproxy does not start and says by how much it is
// older; accepted, the ledger counts what was spent.
func TestRestoredLedger(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	ledger, older := filepath.Join(s.Dir, "ledger"), filepath.Join(t.TempDir(), "older")
	early := spend(t, s, 2)
	copyFolder(t, ledger, older)
	late := spend(t, s, 3)
	copyFolder(t, older, ledger)
	if got := s.UnitSpent(t); got != early || got == late {
		t.Fatalf("%s was spent, and %s of it is in the copy, which has %s", late, early, got)
	}
	refusesOlder(t, s, "the mirror")
	s.Refuses(t, "is an older copy: it ends with entry", "ledger", "verify", s.Policy)
	s.Refuses(t, "--accept-loss", "ledger", "repair", s.Policy, "--reason", "x")
	s.Says(t, "to unit:patient", "ledger", "repair", s.Policy, "--accept-loss", "--reason", "the disk was lost")
	if got := s.UnitSpent(t); got != late {
		t.Errorf("%s is charged, want %s", got, late)
	}
	if got := spend(t, s, 0); got != late {
		t.Errorf("%s is charged after a start, want %s", got, late)
	}
	s.Refuses(t, "nothing is lost", "ledger", "repair", s.Policy, "--accept-loss", "--reason", "x")
	s.Says(t, "that of the mirror agrees, entry ", "ledger", "verify", s.Policy)

	// A copy of a time at which dpproxy ran, put back after a crash.
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	copyFolder(t, ledger, older)
	sitetest.Exec(t, ana, sitetest.CountPatients)
	awaitMark(t, s)
	r.Kill()
	late = s.UnitSpent(t)
	copyFolder(t, ledger, filepath.Join(t.TempDir(), "latest"))
	if got := spend(t, s, 0); got != late {
		t.Errorf("after a crash %s is charged, want %s", got, late)
	}
	copyFolder(t, older, ledger)
	refusesOlder(t, s, "the mirror")
	// A decision about a copy does not make it the latest.
	s.Command(t, "budget", "lower", s.Policy, "--scope", "unit:patient", "--epsilon", "8000", "--reason", "x")
	r = s.Start(t)
	<-r.Exited
	if r.Addr != "" || !strings.Contains(r.Log.String(), "older copy") {
		t.Errorf("a start with an older ledger that went on says:\n%s", r.Log)
	}
}

// awaitMark waits until marks were written that were made by now.
func awaitMark(t *testing.T, s *sitetest.Site) {
	t.Helper()
	was := ""
	for range 3 {
		await.That(t, "the ledger is marked", func() bool {
			now := string(mirrorMarks(t, s)[0])
			defer func() { was = now }()
			return now != was
		})
	}
}

// mirrorMarks returns the two files of the mark on the mirror.
func mirrorMarks(t *testing.T, s *sitetest.Site) (texts [2][]byte) {
	t.Helper()
	for i, name := range markNames(t, s) {
		var err error
		if texts[i], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

func markNames(t *testing.T, s *sitetest.Site) []string {
	t.Helper()
	names, err := filepath.Glob(s.Mirror.SocketDir + "/data/dpproxy_mark_*")
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	return names
}

// putMarks restores the files of the mark.
func putMarks(t *testing.T, s *sitetest.Site, texts [2][]byte) {
	t.Helper()
	for i, name := range markNames(t, s) {
		if err := os.WriteFile(name, texts[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRestoredMirror restores the mirror alone, which dpproxy notices and goes on, and the mirror with the ledger, which a mark
// elsewhere proves: a file, and another server.
func TestRestoredMirror(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "CREATE ROLE witness LOGIN")
	sitetest.Exec(t, super, "CREATE DATABASE witness OWNER witness")
	ledger, older := filepath.Join(s.Dir, "ledger"), filepath.Join(t.TempDir(), "older")
	for name, witness := range map[string]string{
		"the file .*": filepath.Join(t.TempDir(), "mark"), "the server of ledger.witness": s.Data.URL("witness", "witness"),
	} {
		w := s.Variant(t, `ledger: {dir: "`, `ledger: {witness: "`+witness+`", dir: "`)
		spend(t, w, 1)
		copyFolder(t, ledger, older)
		before := mirrorMarks(t, s)
		late := spend(t, w, 2)
		putMarks(t, s, before)
		if got := spend(t, w, 0); got != late {
			t.Errorf("with an older mirror %s is charged, want %s", got, late)
		}
		putMarks(t, s, [2][]byte{nil, []byte("00000000000000000007 a mark that is cut o")})
		r := w.Run(t)
		if !strings.Contains(r.Log.String(), "there is no mark of the ledger") {
			t.Errorf("the log does not say that the mirror has no mark:\n%s", r.Log)
		}
		r.Stop()
		copyFolder(t, older, ledger)
		putMarks(t, s, before)
		refusesOlder(t, w, name)
		w.Command(t, "ledger", "repair", w.Policy, "--accept-loss", "--reason", "all was restored")
		if got := spend(t, w, 0); got != late {
			t.Errorf("%s: accepted, %s is charged, want %s", name, got, late)
		}
	}
}

// TestTwoOnOneLedger runs dpproxy on a copy of the ledger beside the first one: the first charges nothing more once the other
// is ahead, and says why.
func TestTwoOnOneLedger(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	sitetest.Exec(t, ana, sitetest.CountPatients)
	copied := filepath.Join(t.TempDir(), "ledger")
	copyFolder(t, filepath.Join(s.Dir, "ledger"), copied)
	other := s.Variant(t, filepath.Join(s.Dir, "ledger"), copied).Run(t)
	eve := sitetest.Dial(t, other.URL("ana"))
	for range 3 {
		sitetest.Exec(t, eve, sitetest.CountPatients)
	}
	await.That(t, "the first one notices", func() bool {
		_, err := ana.Exec(t.Context(), sitetest.CountPatients)
		return sitetest.SQLState(err) == "PB014"
	})
	if !strings.Contains(r.Log.String(), "goes on with a copy of this ledger") {
		t.Errorf("the log does not say why:\n%s", r.Log)
	}
}

// TestSecondLedger copies the secret of a dpproxy that runs: there is no second ledger beside it, neither by init nor by a start, and
// if two come to be charged nevertheless, the one that sees the other charges nothing more.
func TestSecondLedger(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	folder := t.TempDir()
	second := s.Variant(t, filepath.Join(s.Dir, "ledger"), folder)
	text, err := os.ReadFile(filepath.Join(s.Dir, "ledger", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "secret"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	again := []string{"init", second.Policy, "--again", "--reason", "the first one is gone"}
	r := s.Run(t)
	ana := sitetest.Dial(t, r.URL("ana"))
	second.Refuses(t, "exists already, so that there was a ledger", "init", second.Policy)
	second.Refuses(t, "--again and --reason belong together", "init", second.Policy, "--again")
	second.Refuses(t, "a second ledger is charged under the same secret", again...)
	if kept, err := filepath.Glob(folder + "/ledger*"); err != nil || len(kept) > 0 {
		t.Errorf("a refused init made %v, %v", kept, err)
	}
	sitetest.Exec(t, ana, sitetest.CountPatients) // which another's attempts do not disturb
	r.Stop()

	// The dead one is replaced: the new ledger says so, and its marks are gone.
	dead := mirrorMarks(t, s)
	names := markNames(t, s)
	second.Command(t, again...)
	lines, _ := export(t, second)
	if !strings.Contains(string(bytes.Join(lines, nil)), "the first one is gone; it replaces the ledger ") {
		t.Errorf("the new ledger says nothing of the old one: %s", lines)
	}
	if gone := mirrorMarks(t, s); bytes.Contains(gone[0], []byte("end")) || bytes.Contains(gone[1], []byte("end")) {
		t.Errorf("the marks of the dead ledger are kept: %q", gone)
	}
	heir := second.Run(t)
	eve := sitetest.Dial(t, heir.URL("ana"))
	sitetest.Exec(t, eve, sitetest.CountPatients)

	// The first one is no more. It does not start beside its heir.
	first := s.Start(t)
	<-first.Exited
	if first.Addr != "" || !strings.Contains(first.Log.String(), "a second ledger is charged under the same secret") {
		t.Errorf("the first one starts beside its heir:\n%s", first.Log)
	}
	sitetest.Exec(t, eve, sitetest.CountPatients)

	// It goes on all the same, as one does that does not look.
	for i, name := range names {
		if err := os.WriteFile(name, dead[i], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	await.That(t, "the heir charges nothing more", func() bool {
		_, err := eve.Exec(t.Context(), sitetest.CountPatients)
		return sitetest.SQLState(err) == "PB014"
	})
	if !strings.Contains(heir.Log.String(), "a second ledger is charged under the same secret") {
		t.Errorf("the log does not say why:\n%s", heir.Log)
	}
}

// TestMarksAreOutOfReach holds that analysts can neither read nor change the mark.
func TestMarksAreOutOfReach(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	ana := sitetest.Dial(t, s.Run(t).URL("ana"))
	names, err := filepath.Glob(s.Mirror.SocketDir + "/data/dpproxy_mark_*.a")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	name := filepath.Base(names[0])
	for _, sql := range []string{
		"SELECT pg_read_file('NAME')", "SELECT pg_read_binary_file('NAME')", "SELECT pg_stat_file('NAME')", "SELECT pg_ls_dir('.')",
		"COPY (SELECT 1) TO '/tmp/NAME'", "CREATE TEMP TABLE t (x text); COPY t FROM 'NAME'", "SELECT lo_import('NAME')",
	} {
		sql = strings.ReplaceAll(sql, "NAME", name)
		if _, err := ana.Exec(t.Context(), sql); sitetest.SQLState(err) == "" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestRestoredRedis loses the journal and restores an old Redis: the mark tells.
func TestRestoredRedis(t *testing.T) {
	t.Parallel()
	redis := redistemp.Start(t, redistemp.Durable...)
	base := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy)
	s := base.OnRedis(t, redis, "")
	s.InitAgain(t)
	spend(t, s, 1)
	redis.Kill()
	older := filepath.Join(t.TempDir(), "older")
	copyFolder(t, redis.Dir, older)
	redis.Start(t)
	late := spend(t, s, 2)
	journal := filepath.Join(t.TempDir(), "journal")
	copyFolder(t, s.Journal(), journal)
	redis.Kill()
	copyFolder(t, older, redis.Dir)
	redis.Start(t)
	if err := os.RemoveAll(s.Journal()); err != nil {
		t.Fatal(err)
	}
	refusesOlder(t, s, "the mirror")
	s.Says(t, "charged again", "ledger", "repair", s.Policy, "--accept-loss", "--reason", "all was lost")
	if got := spend(t, s, 0); got != late {
		t.Errorf("%s is charged, want %s", got, late)
	}
	// The journal that was found after all is of a history that Redis does not continue.
	out := s.Command(t, "ledger", "repair", s.Policy, "--journal", journal, "--reason", "found")
	if !strings.Contains(out, "does not continue") || less(t, s.UnitSpent(t), late) {
		t.Errorf("the repair says %s, and %s is charged of %s", out, s.UnitSpent(t), late)
	}
	spend(t, s, 1)
}

func less(t *testing.T, a, b string) bool {
	t.Helper()
	x, ok := new(big.Rat).SetString(json.Number(a).String())
	y, ok2 := new(big.Rat).SetString(b)
	if !ok || !ok2 {
		t.Fatalf("%s, %s", a, b)
	}
	return x.Cmp(y) < 0
}
