package property_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sqlgen"
	"dpproxy/internal/stattest"
	"dpproxy/mirror"
	"dpproxy/pgerr"
	"dpproxy/planner"
)

// seed is the first of a run: DPPROXY_SEED, or always the same. A text that is no number
// is a seed as well.
func seed(t testing.TB) uint64 {
	text := setting(stattest.SeedVariable, "1")
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		h := fnv.New64()
		h.Write([]byte(text))
		n = h.Sum64()
	}
	t.Logf("%s=%d", stattest.SeedVariable, n)
	return n
}

// pairs is how many pairs of databases a run compares: DPPROXY_PAIRS.
func pairs(t testing.TB) int {
	n, err := strconv.Atoi(setting("DPPROXY_PAIRS", "500"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func setting(name, otherwise string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return otherwise
}

// A world is a database with a policy, and the random statements over it.
type world struct {
	t      testing.TB
	gen    *sqlgen.Generator
	schema *sqlgen.Schema
	cat    *planner.Catalog
	conn   *pgx.Conn
	// publicRows are the numbers of rows of public tables.
	publicRows map[catalog.Name]int64
}

var server = struct {
	sync.Mutex
	*pgtemp.Server
	databases int
}{}

func TestMain(m *testing.M) {
	status := m.Run()
	if server.Server != nil {
		server.Stop()
	}
	os.Exit(status)
}

// database makes an empty database on the server that all tests share.
func database(t testing.TB) *pgx.Conn {
	t.Helper()
	server.Lock()
	defer server.Unlock()
	if server.Server == nil {
		s, err := pgtemp.Start(context.Background(), pgtemp.Options{Settings: []string{"jit=off"}})
		if err != nil {
			t.Fatal(err)
		}
		server.Server = s
	}
	server.databases++
	name := fmt.Sprintf("w%d", server.databases)
	super := connect(t, "postgres")
	run(t, super, "CREATE DATABASE "+name)
	super.Close(context.Background())
	return connect(t, name)
}

func connect(t testing.TB, name string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(server.URL(name, pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(cfg.RuntimeParams, map[string]string{"TimeZone": "UTC", "max_parallel_workers_per_gather": "0"})
	conn, err := pgx.ConnectConfig(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%v\n%.2000s", err, sql)
	}
}

const policyHead = `data: postgres://d/d
mirror: postgres://m/m
ledger: {dir: /nowhere}
privacy_unit: {name: person, budget: {epsilon: 1000, delta: 0.001}}
`

func newWorld(t testing.TB, seed uint64, p sqlgen.Profile) *world {
	t.Helper()
	w := &world{t: t, gen: sqlgen.New(seed), conn: database(t), publicRows: map[catalog.Name]int64{{Schema: "public", Name: "places"}: 5}}
	w.schema = w.gen.Schema(p)
	run(t, w.conn, w.schema.DDL())
	policy, err := config.Parse("policy.yaml", []byte(policyHead+w.schema.Policy()))
	if err != nil {
		t.Fatalf("%v\n%s", err, w.schema.Policy())
	}
	var names []catalog.Name
	for _, table := range policy.Tables.Tables {
		names = append(names, table.Name)
	}
	s, err := mirror.Read(context.Background(), w.conn, names)
	if err != nil {
		t.Fatal(err)
	}
	cat, problems := planner.NewCatalog(policy.Tables, s)
	if problems != nil {
		t.Fatal(problems)
	}
	w.cat = cat
	return w
}

// refusal returns the error if it is one of a refusal: the planner has no other.
func refusal(t testing.TB, sql string, err error) *pgerr.Error {
	t.Helper()
	refused, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		t.Fatalf("%s: %v", sql, err)
	}
	if refused.Code == pgerr.Internal {
		t.Errorf("%s: an internal error: %v", sql, err)
	}
	return refused
}

// query runs a statement and returns its rows as texts.
func (w *world) query(sql string, params [][]byte, formats []int16) (*pgconn.Result, error) {
	res := w.conn.PgConn().ExecParams(context.Background(), sql, params, nil, formats, nil).Read()
	return res, res.Err
}
