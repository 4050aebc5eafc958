package property_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
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
	"dpproxy/mirror/introspect"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
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

// A world is a database with a policy, and the random statements over it. No dpproxy runs there: plans are
// made and compared in this process.
type world struct {
	t      testing.TB
	gen    *sqlgen.Generator
	schema *sqlgen.Schema
	cat    *policy.Model
	conn   *pgx.Conn
	// client is a session on the mirror, which has the same rows here: constants are evaluated
	// there, and plain Postgres answers there. It is conn unless the versions differ.
	client *pgx.Conn
	// publicRows are the numbers of rows of public tables.
	publicRows map[catalog.Name]int64
}

var server = struct {
	sync.Mutex
	*pgtemp.Server
	mirror    *pgtemp.Server
	databases int
}{}

func TestMain(m *testing.M) {
	status := m.Run()
	if server.mirror != server.Server {
		server.mirror.Stop()
	}
	if server.Server != nil {
		server.Stop()
	}
	os.Exit(status)
}

// databases make an empty database on the servers that all tests share.
func databases(t testing.TB) (data, client *pgx.Conn) {
	t.Helper()
	server.Lock()
	defer server.Unlock()
	if server.Server == nil {
		var err error
		server.Server, server.mirror, err = pgtemp.StartPair(context.Background(), pgtemp.Options{Settings: []string{"jit=off"}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server.databases++
	name := fmt.Sprintf("w%d", server.databases)
	data = database(t, server.Server, name)
	if server.mirror == server.Server {
		return data, data
	}
	return data, database(t, server.mirror, name)
}

func database(t testing.TB, s *pgtemp.Server, name string) *pgx.Conn {
	t.Helper()
	super := connect(t, s, "postgres")
	run(t, super, "CREATE DATABASE "+name)
	super.Close(context.Background())
	return connect(t, s, name)
}

func connect(t testing.TB, s *pgtemp.Server, name string) *pgx.Conn {
	t.Helper()
	cfg, err := pgx.ParseConfig(s.URL(name, pgtemp.Superuser))
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
	w := emptyWorld(t)
	w.gen = sqlgen.New(seed)
	w.gen.FiniteNumerics = !server.InfiniteNumerics()
	w.schema = w.gen.Schema(p)
	w.load(w.schema.DDL(), w.schema.Policy())
	run(t, w.client, sqlgen.Weighs)
	w.publicRows[catalog.Name{Schema: "public", Name: "places"}] = 5
	return w
}

func emptyWorld(t testing.TB) *world {
	t.Helper()
	data, client := databases(t)
	return &world{t: t, conn: data, client: client, publicRows: map[catalog.Name]int64{}}
}

// load makes tables, and what a policy says of them.
func (w *world) load(ddl, tables string) {
	w.t.Helper()
	run(w.t, w.conn, ddl)
	if w.client != w.conn {
		run(w.t, w.client, ddl)
	}
	w.cat = model(w.t, w.conn, policyHead+tables)
}

// model checks a policy with the catalogue of a database.
func model(t testing.TB, conn *pgx.Conn, text string) *policy.Model {
	t.Helper()
	site, err := config.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var names []catalog.Name
	for _, table := range site.Tables.Tables {
		names = append(names, table.Name)
	}
	plan := mirror.Plan{Public: names}
	for _, v := range site.Views {
		plan.Views = append(plan.Views, mirror.View{Name: v.Name, Shown: v.Shown})
	}
	s, err := plan.Read(context.Background(), conn)
	if err != nil {
		t.Fatal(err)
	}
	if s.TimeZones, err = introspect.TimeZones(context.Background(), conn); err != nil {
		t.Fatal(err)
	}
	cat, problems := policy.Check(site.Tables, s)
	if problems != nil {
		t.Fatal(problems)
	}
	return cat
}

// refusal wants of an error that it is one of a refusal, or of the statement's own constants: the planner has no other.
func refusal(t testing.TB, sql string, err error) {
	t.Helper()
	if errors.Is(err, errConstants) {
		return
	}
	refused, ok := errors.AsType[*pgerr.Error](err)
	if !ok {
		t.Fatalf("%s: %v", sql, err)
	}
	if refused.Code == pgerr.Internal {
		t.Errorf("%s: an internal error: %v", sql, err)
	}
}

// close ends the sessions.
func (w *world) close() {
	w.conn.Close(context.Background())
	w.client.Close(context.Background())
}

// query runs a statement of the client and returns its rows as texts.
func (w *world) query(sql string) (*pgconn.Result, error) {
	return query(w.client, sql, nil, nil)
}

func query(conn *pgx.Conn, sql string, params [][]byte, formats []int16) (*pgconn.Result, error) {
	reader := conn.PgConn().ExecParams(context.Background(), sql, params, nil, formats, nil)
	res := reader.Read()
	res.FieldDescriptions = slices.Clone(reader.FieldDescriptions()) // of a result without rows as well
	return res, res.Err
}
