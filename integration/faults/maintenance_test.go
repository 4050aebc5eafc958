package faults_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dpproxy/internal/await"
	"dpproxy/internal/needs"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

var wholeLife = flag.Bool("life", false, "play also the maintenance and restores of a site, which takes minutes")

// A maintenance is work on a site while clients ask.
type maintenance struct {
	name string
	// do is over when the work is.
	do func(*maintained)
	// want are the SQLSTATEs that clients may see; none means that nobody may notice.
	want []string
	// restored says that the ledger's entries are others behind it: its balances are compared instead.
	restored bool
	// lost says that charges have no answer, and why.
	lost string
}

// maintained is a site that is maintained. Its role is not a superuser, its password is asked for, and its ledger is marked in a file too.
type maintained struct {
	*life
	older    string // copies of the ledger and of the mirror, from before the first question
	password string // the file
	saw      *tally // while work is done
}

// A tally counts replies by their SQLSTATE.
type tally struct {
	mu    sync.Mutex
	codes map[string]int
}

func (a *tally) add(code string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.codes[code]++
}

func (a *tally) count(code string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.codes[code]
}

const moodsSchema = `CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE events (patient_id int NOT NULL REFERENCES patients, at date NOT NULL, mood mood, n int NOT NULL, code varchar(4))
  PARTITION BY RANGE (at);
CREATE TABLE events_2020 PARTITION OF events FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
INSERT INTO events SELECT g, date '2020-01-01' + g % 300, 'ok', g % 10, 'a' FROM generate_series(1, 1000) g;
CREATE ROLE reader LOGIN PASSWORD 'first'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;`

// TestMaintenance plays maintenance and restores while 20 clients ask without a pause: nobody is blamed or locked out,
// and no charge is without an answer but where the table says why.
func TestMaintenance(t *testing.T) {
	needs.Asked(t, *wholeLife, "life")
	m := newMaintained(t)
	for _, work := range []maintenance{
		{name: "columns, indexes, constraints, comments and options that no proof uses", do: (*maintained).harmless},
		{name: "a wider type, and dpproxy sync", do: altered("ALTER TABLE events ALTER code TYPE varchar(8)"), want: []string{"PB013"}},
		{
			name: "a partition more, and dpproxy sync", want: []string{"PB013"},
			do: altered("CREATE TABLE events_2021 PARTITION OF events FOR VALUES FROM ('2021-01-01') TO ('2022-01-01')"),
		},
		{name: "a label more, and dpproxy sync", do: altered("ALTER TYPE mood ADD VALUE 'well'"), want: []string{"PB013"}},
		{
			name: "a column is renamed, and has its name again", want: []string{"PB013"},
			do: undone("ALTER TABLE events RENAME n TO m", "ALTER TABLE events RENAME m TO n", "PB013"),
		},
		{
			name: "NOT NULL is dropped, and set again", want: []string{"PB013"},
			do: undone("ALTER TABLE events ALTER patient_id DROP NOT NULL", "ALTER TABLE events ALTER patient_id SET NOT NULL", "PB013"),
		},
		{
			name: "REVOKE, and GRANT", want: []string{"PB015"},
			do: undone("REVOKE SELECT ON events FROM reader", "GRANT SELECT ON events TO reader", "PB015"),
		},
		{name: "the password of dpproxy's role is another", do: (*maintained).rotate, want: []string{"PB015", "PB017"}},
		{name: "a standby is promoted, and the policy names it", do: (*maintained).promote, want: []string{"PB015", "PB017"}},
		{
			name: "the ledger's disk is full; room, and a restart", do: (*maintained).fill, want: []string{"PB014", "57P01", "cut"},
			lost: "the entry was written, and could not be acknowledged",
		},
		{name: "an older copy of the ledger is refused; the latest is put back", do: (*maintained).putBack, want: []string{"57P01", "cut"}},
		{
			name: "an older copy of the mirror", do: (*maintained).restoreMirror, lost: "the session on the mirror ended",
			want: []string{"57P01", "57P02", "57P03", "PB013", "cut"}, // it is of the schema from before
		},
		{
			name: "older copies of all are refused, and accepted", do: (*maintained).acceptOlder, restored: true,
			want: []string{"57P01", "57P02", "57P03", "cut"},
		},
	} {
		m.play(work)
	}
	m.print()
}

func newMaintained(t *testing.T) *maintained {
	t.Helper()
	policy := strings.NewReplacer(
		"privacy_unit:", fmt.Sprintf("limits: {data_connections: %d, reply_grid: 0}\nprivacy_unit:", lifeClients),
		"  hospitals: {public: true}\n", "  hospitals: {public: true}\n  events:\n    unit: patient_id\n    max_rows: 3\n"+
			"    max_partitions: 3\n    columns: {mood: {values: enum}, n: {bounds: [0, 10]}}\n",
		"tables: [patients, visits, labs]", "tables: [patients, visits, events]",
		"tables: [patients, visits]", "tables: [patients, visits, events]",
	).Replace(analysts("bob", "eve"))
	l := &life{Site: sitetest.New(t, sitetest.ClinicSchema+moodsSchema, policy), t: t}
	m := &maintained{life: l, older: t.TempDir(), password: filepath.Join(l.Dir, "password")}
	m.setPassword("first")
	super := l.super()
	var hba string
	if err := super.QueryRow(t.Context(), "SHOW hba_file").Scan(&hba); err != nil {
		t.Fatal(err)
	}
	sitetest.Exec(t, super, "COPY (VALUES ('local all reader scram-sha-256'), ('local all all trust'), "+
		"('local replication all trust')) TO '"+hba+"'")
	sitetest.Exec(t, super, "SELECT pg_reload_conf()")
	l.address = l.Data.URL(l.Database, "reader")
	l.Edit(t, l.Data.URL(l.Database, pgtemp.Superuser), l.address)
	l.Edit(t, "mirror:", "data_password_file: "+m.password+"\nmirror:")
	l.Edit(t, "ledger: {", "ledger: {witness: "+filepath.Join(l.Dir, "mark")+", ")
	m.stopMirror()
	m.copy(filepath.Join(l.Dir, "ledger"), filepath.Join(m.older, "ledger"))
	m.copy(l.Mirror.SocketDir+"/data", filepath.Join(m.older, "mirror"))
	l.Mirror = sitetest.Restart(t, l.Mirror)
	l.begin(m.asked())
	return m
}

// asked are the questions of the clients: half of them are about the table that is altered.
func (m *maintained) asked() (all []string) {
	for i := range lifeClients {
		sql := fmt.Sprint("SELECT count(*) FROM visits WHERE cost > ", i)
		if i%2 == 0 {
			sql = fmt.Sprint("SELECT sum(n) FROM events WHERE n > ", i%9)
		}
		all = append(all, sql)
	}
	return all
}

func (m *maintained) setPassword(p string) {
	if err := os.WriteFile(m.password, []byte(p+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// copy replaces a folder by a copy of another, with its owners.
func (m *maintained) copy(from, to string) {
	m.t.Helper()
	if err := os.RemoveAll(to); err != nil {
		m.t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

// play has all clients ask without a pause while the work is done, and until each has been answered behind it.
func (m *maintained) play(work maintenance) {
	t := m.t
	t.Helper()
	charges, _ := sitetest.Charges(t, m.Site)
	spent := m.UnitSpent(t)
	start, stop := time.Now(), make(chan struct{})
	var all sync.WaitGroup
	m.saw = &tally{codes: map[string]int{}}
	for _, c := range m.clients {
		all.Go(func() {
			pause := time.NewTicker(20 * time.Millisecond)
			defer pause.Stop()
			for {
				m.saw.add(c.ask())
				select {
				case <-stop:
					return
				case <-pause.C:
				}
			}
		})
	}
	work.do(m)
	close(stop)
	all.Wait()
	for _, c := range m.clients {
		await.Within(t, 30*time.Second, work.name+": "+c.sql+" is answered", func() bool {
			code := c.ask()
			m.saw.add(code)
			return code == ""
		})
	}
	m.compare(work, m.saw.codes, charges, spent, time.Since(start))
}

// compare compares charges with answers, and adds the row of the table.
func (m *maintained) compare(work maintenance, saw map[string]int, before int, spent string, well time.Duration) {
	t := m.t
	t.Helper()
	now, _ := sitetest.Charges(t, m.Site)
	charged, noticed := now-before, false
	for code := range saw {
		noticed = noticed || code != ""
		if code != "" && !slices.Contains(work.want, code) {
			t.Errorf("%s: clients saw %v, want %v", work.name, saw, work.want)
		}
	}
	if noticed != (len(work.want) > 0) {
		t.Errorf("%s: clients saw %v", work.name, saw)
	}
	without, counted := "0", fmt.Sprint(charged)
	switch {
	case work.restored:
		counted = "-"
		without = fmt.Sprintf("ρ spent was %s, and is %s", spent, m.UnitSpent(t))
		if was, _ := strconv.ParseFloat(spent, 64); was > parse(t, m.UnitSpent(t)) {
			t.Errorf("%s: charges are forgotten: %s", work.name, without)
		}
	case charged < saw[""], charged > saw[""] && work.lost == "":
		t.Errorf("%s: %d charges for %d answers", work.name, charged, saw[""])
	case charged > saw[""]:
		without = fmt.Sprintf("%d: %s", charged-saw[""], work.lost)
	}
	m.row(work.name, saw, counted, saw[""], well, without)
}

func parse(t *testing.T, text string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (m *maintained) harmless() {
	for _, sql := range []string{
		"ALTER TABLE events ADD weight int DEFAULT 1", "CREATE INDEX ON events (weight)", "ALTER TABLE events ADD CHECK (weight > 0)",
		"COMMENT ON TABLE events IS 'events'", "ALTER TABLE visits SET (fillfactor = 90)",
		"CREATE TABLE stranger (id int REFERENCES patients)",
		"ANALYZE", "VACUUM visits", "REINDEX TABLE visits", "ALTER TABLE events DROP weight", "DROP TABLE stranger",
	} {
		sitetest.Exec(m.t, m.super(), sql)
	}
}

// awaitSeen waits until a client has seen a code.
func (m *maintained) awaitSeen(code string) {
	m.t.Helper()
	await.Within(m.t, 40*time.Second, "clients see "+code, func() bool { return m.saw.count(code) > 0 })
}

// altered alters the schema, and syncs once clients have noticed.
func altered(sql string) func(*maintained) {
	return func(m *maintained) {
		sitetest.Exec(m.t, m.super(), sql)
		m.awaitSeen("PB013")
		m.Command(m.t, "sync", m.Policy)
	}
}

// undone does something, and undoes it once clients have noticed.
func undone(do, undo, code string) func(*maintained) {
	return func(m *maintained) {
		sitetest.Exec(m.t, m.super(), do)
		m.awaitSeen(code)
		sitetest.Exec(m.t, m.super(), undo)
	}
}

const endSessions = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'"

// rotate gives dpproxy's role another password, ends its sessions, and tells dpproxy after a while.
func (m *maintained) rotate() {
	sitetest.Exec(m.t, m.super(), "ALTER ROLE reader PASSWORD 'second'")
	sitetest.Exec(m.t, m.super(), endSessions)
	m.awaitSeen("PB015")
	m.setPassword("second")
	m.running().HangUp(m.t, "the policy was reloaded")
}

// fill leaves the ledger no room.
func (m *maintained) fill() {
	pid := strconv.Itoa(m.running().Cmd.Process.Pid)
	if out, err := exec.Command("prlimit", "--fsize=10", "--pid", pid).CombinedOutput(); err != nil {
		m.t.Fatalf("prlimit: %v\n%s", err, out)
	}
	m.awaitSeen("PB014")
	m.running().Stop()
	m.serve(m.Run(m.t))
}

// refused starts dpproxy in vain.
func (m *maintained) refused() {
	m.t.Helper()
	r := m.Start(m.t)
	<-r.Exited
	if r.Addr != "" || !strings.Contains(r.Log.String(), "is an older copy") {
		m.t.Fatalf("a start with an older ledger says:\n%s", r.Log)
	}
}

func (m *maintained) putBack() {
	m.running().Stop()
	ledger, latest := filepath.Join(m.Dir, "ledger"), filepath.Join(m.t.TempDir(), "ledger")
	m.copy(ledger, latest)
	m.copy(filepath.Join(m.older, "ledger"), ledger)
	m.refused()
	m.copy(latest, ledger)
	m.serve(m.Run(m.t))
}

func (m *maintained) stopMirror() { m.Mirror.End(syscall.SIGINT) }

// restoreMirror puts an older mirror back while dpproxy serves.
func (m *maintained) restoreMirror() {
	m.stopMirror()
	m.copy(filepath.Join(m.older, "mirror"), m.Mirror.SocketDir+"/data")
	m.Mirror = sitetest.Restart(m.t, m.Mirror)
	m.Command(m.t, "sync", m.Policy)
}

// acceptOlder restores the whole site, and accepts the loss.
func (m *maintained) acceptOlder() {
	m.running().Stop()
	m.stopMirror()
	m.copy(filepath.Join(m.older, "mirror"), m.Mirror.SocketDir+"/data")
	m.copy(filepath.Join(m.older, "ledger"), filepath.Join(m.Dir, "ledger"))
	m.Mirror = sitetest.Restart(m.t, m.Mirror)
	m.refused()
	m.Command(m.t, "ledger", "repair", m.Policy, "--accept-loss", "--reason", "all was restored")
	m.Command(m.t, "sync", m.Policy)
	m.serve(m.Run(m.t))
}
