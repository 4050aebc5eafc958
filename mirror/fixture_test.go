package mirror_test

import (
	"os/exec"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
	"dpproxy/mirror/mirrortest"
)

// The fixtures that package introspect has too.
var (
	name        = mirrortest.Name
	start       = mirrortest.Start
	startMirror = mirrortest.StartMirror
	as          = mirrortest.As
	connect     = mirrortest.Connect
	run         = mirrortest.Run
	since       = mirrortest.RunSince
	value       = mirrortest.Value
	clinic      = mirrortest.Clinic
)

// plan is the one that the tests start from.
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

// sync runs Sync and returns its reports.
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
