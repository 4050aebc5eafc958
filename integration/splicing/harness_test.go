package splicing_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/internal/memledger"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
	"dpproxy/internal/sqlgen"
	"dpproxy/mechanisms"
	"dpproxy/mirror"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/policy"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
)

const (
	analyst  = "ana"
	original = "clinic"
	mirrored = "mirror"
)

// people is the protected table of each database.
var people = catalog.Name{Schema: "public", Name: "people"}

// A database is one that statements are compared about: its protected table is people.
type database struct {
	ddl, policy string
	columns     map[string]mirror.Column // of people
	public      []catalog.Name
}

// dense is the database for random statements.
var dense = database{
	ddl: sqlgen.DenseDDL, policy: sqlgen.DensePolicy,
	columns: map[string]mirror.Column{"mood": {AllLabels: true}},
	public:  []catalog.Name{{Schema: "public", Name: "places"}},
}

func (d database) relations() []catalog.Name { return append([]catalog.Name{people}, d.public...) }

// number reads a setting of the run.
func number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// An unlimited ledger grants every charge, and has spent nothing after it. Tests have it
// instead of a budget.
type unlimited struct {
	accountant.Ledger
	charges atomic.Uint64
}

// Charge implements [accountant.Ledger].
func (l *unlimited) Charge(context.Context, accountant.Charge) (accountant.ChargeID, error) {
	return accountant.ChargeID(l.charges.Add(1)), nil
}

// exactly is an ε for which discrete Laplace noise on counts, and on sums of values up to
// 4, is nothing: 0 has all but 2e^-ε/Δ of the probability, less than 2⁻¹⁰⁰ for an ε that a
// dozen aggregates share. All groups that a few people are in pass selection then.
const exactly = 4000 * dp.PicoPerUnit

// peers are two ways to a database, for the same analyst: the URLs of dpproxy and of the
// database itself.
type peers struct {
	through, direct string
	ledger          *unlimited // of dpproxy
}

// newPeers starts dpproxy before a database.
func newPeers(t testing.TB, d database) *peers {
	t.Helper()
	server := sitetest.StartServer(t, pgtemp.Options{Settings: []string{"jit=off"}})
	super := sitetest.Dial(t, server.URL("postgres", pgtemp.Superuser))
	sitetest.Exec(t, super, "CREATE DATABASE "+original)
	sitetest.Exec(t, super, "CREATE DATABASE "+mirrored)
	up, down := sitetest.Dial(t, server.URL(original, pgtemp.Superuser)), sitetest.Dial(t, server.URL(mirrored, pgtemp.Superuser))
	sitetest.Exec(t, up, d.ddl)
	plan := mirror.Plan{
		Protected: []mirror.Protected{{Name: people, Columns: d.columns}},
		Public:    d.public,
		Analysts:  []mirror.Analyst{{Name: analyst, Password: "x", Tables: []catalog.Name{people}}},
	}
	if err := mirror.Sync(t.Context(), up, down, plan, func(string) {}); err != nil {
		t.Fatal(err)
	}
	for _, n := range d.relations() {
		sitetest.Exec(t, up, "GRANT SELECT ON "+n.String()+" TO "+analyst)
	}
	ledger := newLedger(t)
	addr := sitetest.InProcess{
		Handler:  newProxy(t, d, ledger, server, up, down),
		Analysts: []string{analyst},
		Mirror:   func(role string) string { return server.URL(mirrored, role) },
	}.Serve(t)
	through := fmt.Sprintf("postgres://%s:%s@%s/%s", analyst, sitetest.Password, addr, mirrored)
	return &peers{through, server.URL(original, analyst), ledger}
}

// sessions opens a session with each.
func (p *peers) sessions(t testing.TB) (mine, its *peer) {
	t.Helper()
	mine = &peer{conn: sitetest.Dial(t, p.through), types: map[uint32]string{}}
	its = &peer{conn: sitetest.Dial(t, p.direct), types: map[uint32]string{}}
	return mine, its
}

func newLedger(t testing.TB) *unlimited {
	t.Helper()
	budget, err := dp.NewLoss(dp.ZCDP, dp.MaxPico, dp.AttoPerUnit)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := memledger.New([]accountant.Limit{{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "person"}, Loss: budget}})
	if err != nil {
		t.Fatal(err)
	}
	return &unlimited{Ledger: ledger}
}

const policyHead = `data: postgres://d/d
mirror: postgres://m/m
ledger: {dir: /nowhere}
privacy_unit: {name: person, budget: {epsilon: 1000, delta: 0.001}}
`

func newProxy(t testing.TB, d database, ledger *unlimited, server *pgtemp.Server, up, down *pgx.Conn) *proxy.Proxy {
	t.Helper()
	site, err := config.Parse("policy.yaml", []byte(policyHead+d.policy))
	if err != nil {
		t.Fatal(err)
	}
	s, err := mirror.Plan{Public: d.relations()}.Read(t.Context(), up)
	if err != nil {
		t.Fatal(err)
	}
	if s.TimeZones, err = introspect.TimeZones(t.Context(), up); err != nil {
		t.Fatal(err)
	}
	if s.PublicRows, err = mirror.CountRows(t.Context(), down, d.public); err != nil {
		t.Fatal(err)
	}
	cat, problems := policy.Check(site.Tables, s)
	if problems != nil {
		t.Fatal(problems)
	}
	cfg, err := pgxpool.ParseConfig(server.URL(original, pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	data, err := reader.Open(t.Context(), cfg, cat, []byte("a secret of thirty-two bytes here"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(data.Close)
	oids := map[catalog.Name]uint32{}
	for _, n := range d.relations() {
		oids[n] = oid(t, down, n.String())
	}
	p, err := proxy.New(t.Context(), proxy.Config{
		Catalog: cat, Ledger: ledger, Data: data, Source: mechanisms.NewSource(),
		Relations: func(context.Context) (map[catalog.Name]uint32, error) { return oids, nil },
		Analysts:  map[string]proxy.Analyst{analyst: {Tables: map[catalog.Name]bool{people: true}}},
		Defaults: proxy.Defaults{
			EpsilonPico: exactly, DeltaAtto: 1_000_000_000, Mechanism: "laplace", Confidence: 0.95,
			Timeout: time.Minute,
		},
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func oid(t testing.TB, conn *pgx.Conn, relation string) (oid uint32) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), "SELECT to_regclass($1)::oid", relation).Scan(&oid); err != nil {
		t.Fatal(err)
	}
	return oid
}
