package proxy_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/internal/memledger"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

// world is a whole dpproxy in this process, between two throwaway servers. It is no site: its tests
// change the configuration of the proxy, hold back its messages, and read its ledger in memory.
type world struct {
	data, mirror *pgtemp.Server
	gate         *pgtemp.Gate // between dpproxy and the protected database
	ledger       accountant.Ledger
	addr         string
	proxy        *proxy.Proxy
	tap          *tap // to the mirror, if set
	catalog      *policy.Model
	started      *int // dpproxies
}

const schema = `
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE hospitals (id int PRIMARY KEY, name text NOT NULL);
CREATE TABLE patients (id int PRIMARY KEY, name text NOT NULL, sex text NOT NULL, birth_year int NOT NULL, smoker bool, mood mood);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int REFERENCES patients,
  hospital_id int NOT NULL REFERENCES hospitals, day date NOT NULL,
  diagnosis text COLLATE "C" NOT NULL, cost numeric(10,2), score float8);
CREATE INDEX visits_unit ON visits (patient_id);
CREATE TABLE labs (id int PRIMARY KEY, visit_id int NOT NULL REFERENCES visits, test varchar(10) NOT NULL, value float8);
INSERT INTO hospitals SELECT g, 'hospital ' || g FROM generate_series(1, 5) g;
INSERT INTO patients SELECT g, 'name ' || g, (ARRAY['f','m','x'])[g % 3 + 1], 1930 + g % 80, CASE WHEN g % 7 > 0 THEN g % 2 = 0 END,
  (ARRAY['sad','ok','happy'])[g % 3 + 1]::mood FROM generate_series(1, 1000) g;
INSERT INTO visits SELECT g, CASE WHEN g % 50 > 0 THEN g % 1000 + 1 END, g % 5 + 1, date '2020-01-01' + g % 900,
  (ARRAY['flu','cold','asthma'])[g % 3 + 1],
  (g * 7 % 1000) / 3.0, CASE g % 5 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'infinity' ELSE (g * 0.001)::float8 END
  FROM generate_series(1, 5000) g;
INSERT INTO labs SELECT g, g % 5000 + 1, (ARRAY['chol','hdl'])[g % 2 + 1], g % 300 FROM generate_series(1, 10000) g;
ANALYZE;`

func public(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }

func bounds(low, high int64) policy.ColumnPolicy {
	return policy.ColumnPolicy{Bounds: &policy.Bounds{
		Low: big.NewRat(low, 1), High: big.NewRat(high, 1), LowText: fmt.Sprint(low), HighText: fmt.Sprint(high),
	}}
}

func hospitalPolicy() policy.Policy {
	return policy.Policy{Unit: "patient", Tables: []policy.TablePolicy{
		{Name: public("patients"), UnitColumn: "id", AutoRows: 3, Columns: map[string]policy.ColumnPolicy{
			"name": {Hidden: true}, "sex": {Values: []string{"f", "m", "x"}}, "birth_year": bounds(1920, 2010), "mood": {EnumValues: true},
		}},
		{Name: public("visits"), UnitColumn: "patient_id", MaxRows: 10, MaxPartitions: 2, Columns: map[string]policy.ColumnPolicy{
			"diagnosis": {Values: []string{"asthma", "cold", "flu"}}, "cost": bounds(0, 400), "score": bounds(0, 10),
		}},
		{
			Name: public("labs"), Via: "visit_id", To: policy.ColumnName{Table: public("visits"), Column: "id"}, MaxRows: 20,
			MaxPartitions: 2,
			Columns:       map[string]policy.ColumnPolicy{"test": {Values: []string{"chol", "hdl"}}, "value": bounds(0, 300)},
		},
		{Name: public("hospitals"), Public: true},
	}}
}

// limit returns a budget of epsilon·10⁻³ units in a measure.
func limit(t testing.TB, kind accountant.ScopeKind, name string, m dp.Measure, milli int64) accountant.Limit {
	t.Helper()
	l, err := dp.NewLoss(m, milli*dp.PicoPerUnit/1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	return accountant.Limit{Scope: accountant.Scope{Kind: kind, Name: name}, Loss: l}
}

// newWorld starts everything. The default epsilon is large, so that answers are
// nearly exact; limits are the budgets. Replies leave at once.
func newWorld(t testing.TB, limits ...accountant.Limit) *world {
	t.Helper()
	return newWorldWith(t, func(*proxy.Config) {}, limits...)
}

// newWorldWith changes the configuration first.
func newWorldWith(t testing.TB, change func(*proxy.Config), limits ...accountant.Limit) *world {
	t.Helper()
	return newWorldOver(t, func(*pgxpool.Config) {}, change, limits...)
}

// newWorldOver changes how the protected database is reached, too.
func newWorldOver(t testing.TB, reach func(*pgxpool.Config), change func(*proxy.Config), limits ...accountant.Limit) *world {
	t.Helper()
	w := clinic.world(t)
	if limits == nil {
		limits = []accountant.Limit{limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000)}
	}
	var err error
	if w.ledger, err = memledger.New(limits); err != nil {
		t.Fatal(err)
	}
	if w.gate, err = w.data.Gate(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.gate.Close)
	w.start(t, reach, change)
	return w
}

// A prepared has what all worlds begin with, once there was one: the files of the servers, with the mirror made, and the catalogue.
type prepared struct {
	once         sync.Once
	data, mirror *pgtemp.Saved
	catalog      *policy.Model
}

var clinic prepared

func (p *prepared) prepare(t testing.TB) {
	t.Helper()
	w := &world{data: sitetest.StartPostgres(t), mirror: sitetest.StartMirror(t)}
	exec(t, w.data, schema)
	catalog := w.sync(t)
	var err error
	if p.data, err = w.data.Save(); err != nil {
		t.Fatal(err)
	}
	if p.mirror, err = w.mirror.Save(); err != nil {
		t.Fatal(err)
	}
	p.catalog = catalog
}

// still are servers that take no locks of their own.
var still = []string{"autovacuum=off"}

// world starts servers for a world.
func (p *prepared) world(t testing.TB) *world {
	t.Helper()
	p.once.Do(func() { p.prepare(t) })
	if p.catalog == nil {
		t.Fatal("what worlds begin with could not be made")
	}
	return &world{
		data:    sitetest.StartServer(t, pgtemp.Options{From: p.data, Settings: still}),
		mirror:  sitetest.StartServer(t, pgtemp.Options{From: p.mirror, Mirror: true, Settings: still}),
		catalog: p.catalog, started: new(int),
	}
}

// start starts a dpproxy.
func (w *world) start(t testing.TB, reach func(*pgxpool.Config), change func(*proxy.Config)) {
	t.Helper()
	ctx, cat := t.Context(), w.catalog
	cfg, err := pgxpool.ParseConfig(w.gate.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	reach(cfg)
	data, err := reader.Open(ctx, cfg, cat, []byte("a secret of thirty-two bytes here"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	proxyConfig := proxy.Config{
		Limits:  policy.Limits{PublicFanout: 1000, Work: 1_000_000},
		Catalog: cat, Ledger: w.ledger, Data: data, Relations: w.relations, Source: w.noise(t),
		Analysts: map[string]proxy.Analyst{
			"ana": {Tables: map[catalog.Name]bool{public("patients"): true, public("visits"): true, public("labs"): true}},
			"bob": {},
		},
		Defaults: proxy.Defaults{EpsilonPico: 40 * dp.PicoPerUnit, Mechanism: "auto", Confidence: 0.95, Timeout: 20 * time.Second},
		Log:      slog.New(slog.NewTextHandler(logWriter{t}, nil)),
	}
	change(&proxyConfig)
	p, err := proxy.New(ctx, proxyConfig)
	if err != nil {
		t.Fatal(err)
	}
	w.proxy = p
	t.Cleanup(func() {
		now, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		cancel()
		p.Finish(now)
	})
	w.serve(t, p)
}

// noise is the same in each run of a test, and another one for each dpproxy: what an answer says by chance is no matter of these
// tests.
func (w *world) noise(t testing.TB) *sameNoise {
	t.Helper()
	*w.started++
	return &sameNoise{rng: rand.NewChaCha8(sha256.Sum256(fmt.Append(nil, t.Name(), " ", *w.started)))}
}

type logWriter struct{ t testing.TB }

func (l logWriter) Write(p []byte) (int, error) {
	l.t.Logf("%s", strings.TrimSpace(string(p)))
	return len(p), nil
}

func exec(t testing.TB, s *pgtemp.Server, sql string) {
	t.Helper()
	sitetest.Exec(t, connect(t, s.URL("postgres", pgtemp.Superuser)), sql)
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	return sitetest.Dial(t, url)
}

// sync makes the mirror and returns the checked catalogue.
func (w *world) sync(t testing.TB) *policy.Model {
	t.Helper()
	ctx := t.Context()
	up, down := connect(t, w.data.URL("postgres", pgtemp.Superuser)), connect(t, w.mirror.URL("postgres", pgtemp.Superuser))
	tables := []catalog.Name{public("patients"), public("visits"), public("labs")}
	plan := mirror.Plan{Public: []catalog.Name{public("hospitals")}, Analysts: []mirror.Analyst{
		{Name: "ana", Password: "x", Tables: tables}, {Name: "bob", Password: "x"},
	}}
	for _, n := range tables {
		plan.Protected = append(plan.Protected, mirror.Protected{Name: n, Columns: map[string]mirror.Column{"mood": {AllLabels: true}}})
	}
	plan.Protected[1].Columns, plan.Protected[2].Columns = nil, nil
	plan.Protected[0].Columns["name"] = mirror.Column{Hidden: true}
	if err := mirror.Sync(ctx, up, down, plan, func(string) {}); err != nil {
		t.Fatal(err)
	}
	s, err := mirror.Plan{Public: append(tables, public("hospitals"))}.Read(ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	if s.TimeZones, err = introspect.TimeZones(ctx, up); err != nil {
		t.Fatal(err)
	}
	cat, problems := policy.Check(hospitalPolicy(), s)
	if problems != nil {
		t.Fatal(problems)
	}
	return cat
}

func (w *world) relations(ctx context.Context) (map[catalog.Name]uint32, error) {
	conn, err := pgx.Connect(ctx, w.mirror.URL("postgres", pgtemp.Superuser))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	oids := map[catalog.Name]uint32{}
	for _, n := range []string{"patients", "visits", "labs", "hospitals"} {
		var oid uint32
		if err := conn.QueryRow(ctx, "SELECT to_regclass($1)::oid", "public."+n).Scan(&oid); err != nil {
			return nil, err
		}
		oids[public(n)] = oid
	}
	return oids, nil
}

func (w *world) serve(t testing.TB, p *proxy.Proxy) {
	t.Helper()
	w.addr = sitetest.InProcess{
		Handler:    p,
		Analysts:   []string{"ana", "bob"},
		Mirror:     func(role string) string { return w.mirror.URL("postgres", role) },
		DialMirror: w.dialMirror,
		Logger:     slog.New(slog.NewTextHandler(logWriter{t}, nil)),
	}.Serve(t)
}

// dialMirror goes through the tap that a test has put there by then.
func (w *world) dialMirror(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.tap != nil {
		return w.tap.dial(ctx, network, addr)
	}
	return new(net.Dialer).DialContext(ctx, network, addr)
}

func (w *world) url(user string) string {
	return "postgres://" + user + ":" + sitetest.Password + "@" + w.addr + "/postgres"
}

// spent returns the spent part of one budget, in picos.
func (w *world) spent(t testing.TB, kind accountant.ScopeKind, name string) int64 {
	t.Helper()
	b, err := w.ledger.Balances(t.Context(), accountant.Scope{Kind: kind, Name: name})
	if err != nil || len(b) != 1 {
		t.Fatal(b, err)
	}
	return b[0].Spent.Pico()
}
