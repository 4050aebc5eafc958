package mirror_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

func name(s string) catalog.Name {
	schema, table, found := strings.Cut(s, ".")
	if !found {
		return catalog.Name{Schema: "public", Name: s}
	}
	return catalog.Name{Schema: schema, Name: table}
}

// plan is what the tests start from.
func plan() mirror.Plan {
	return mirror.Plan{
		Protected: []mirror.Protected{
			{
				Name: name("patients"), Comment: "protected: one row of one patient",
				Columns: map[string]mirror.Column{
					"age":  {Comment: "bounds [0, 110]"},
					"name": {Hidden: true},
					"sex":  {Comment: "values f, m", Labels: []string{"m", "f"}},
				},
			},
			{
				Name: name("visits"), Comment: "protected: unit patient_id, max_rows 20",
				Columns: map[string]mirror.Column{"cost": {Comment: "bounds [0, 20000]"}},
			},
			{Name: name("lab.labs")},
			{Name: name("sales")},
		},
		Public: []catalog.Name{name("hospitals"), name("regions")},
		Analysts: []mirror.Analyst{
			{
				Name: "ana", Password: "secret of ana", ConnectionLimit: 7,
				Settings: map[string]string{"statement_timeout": "30s", "temp_file_limit": "100MB", "dp.epsilon": "0.5"},
				Tables:   []catalog.Name{name("patients"), name("visits"), name("sales")},
			},
			{Name: "Bob's", Password: "b"},
		},
	}
}

// A pair is a real database and a mirror.
type pair struct {
	upstream, mirror *pgx.Conn
	server           *pgtemp.Server // of the mirror
	database         string
}

// start starts a server for the real database, startMirror one for its mirror.
func start(t testing.TB) *pgtemp.Server { return startServer(t, pgtemp.Options{}) }

func startMirror(t testing.TB) *pgtemp.Server {
	return startServer(t, pgtemp.Options{Mirror: true})
}

func startServer(t testing.TB, o pgtemp.Options) *pgtemp.Server {
	t.Helper()
	s, err := pgtemp.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// older are what SQL of these tests says less of to servers before a version.
var older = []struct {
	before         int
	newer, instead string
}{
	{15, " NULLS NOT DISTINCT", ""},
	{14, "many span_multirange", `many "span"`},
	{14, ", multirange_type_name = spans", ""},
	{14, "many spans", "many span"},
	{14, "rngmultitypid::regtype::text", "''"},
	{14, "rngmultitypid::regtype", "NULL"},
	{14, "ways way_multirange", "ways way"},
	{14, "'{}', '{Ab", "NULL, '{Ab"},
}

// as rewrites SQL for the server of a real database.
func as(t testing.TB, s *pgtemp.Server, sql string) string {
	t.Helper()
	version, err := s.Version()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range older {
		if version < o.before {
			sql = strings.ReplaceAll(sql, o.newer, o.instead)
		}
	}
	return sql
}

func connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// clinic fills a new database with the tests' schema.
func clinic(t testing.TB, s *pgtemp.Server) *pgx.Conn {
	t.Helper()
	run(t, connect(t, s.URL("postgres", pgtemp.Superuser)), "CREATE DATABASE clinic")
	conn := connect(t, s.URL("clinic", pgtemp.Superuser))
	schema, err := os.ReadFile("testdata/clinic.sql")
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, string(schema))
	return conn
}

// twoServers is the recommended arrangement.
func twoServers(t *testing.T) pair {
	s := startMirror(t)
	return pair{clinic(t, start(t)), connect(t, s.URL("postgres", pgtemp.Superuser)), s, "postgres"}
}

func oneServer(t *testing.T) pair {
	s := startMirror(t)
	upstream := clinic(t, s)
	run(t, upstream, "CREATE DATABASE mirror")
	return pair{upstream, connect(t, s.URL("mirror", pgtemp.Superuser)), s, "mirror"}
}

// sync runs Sync and returns what it reported.
func (p pair) sync(t *testing.T, plan mirror.Plan) []string {
	t.Helper()
	changes, err := p.trySync(t, plan)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

func (p pair) trySync(t *testing.T, plan mirror.Plan) ([]string, error) {
	t.Helper()
	var changes []string
	err := mirror.Sync(t.Context(), p.upstream, p.mirror, plan, func(c string) { changes = append(changes, c) })
	return changes, err
}

// as connects to the mirror as an analyst.
func (p pair) as(t *testing.T, analyst string) *pgx.Conn {
	t.Helper()
	return connect(t, p.server.URL(p.database, analyst))
}

// psql runs a command of psql as the analyst ana.
func (p pair) psql(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "psql", "-X", "-d", p.server.URL(p.database, "ana"), "-c", command).CombinedOutput()
	if err != nil {
		t.Fatalf("psql %s: %v\n%s", command, err, out)
	}
	return string(out)
}

// value returns the first column of the first row as text.
func value(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	var text *string
	if err := conn.QueryRow(t.Context(), "SELECT ("+sql+")::text").Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if text == nil {
		return ""
	}
	return *text
}
