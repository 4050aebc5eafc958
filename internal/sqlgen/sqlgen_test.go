package sqlgen_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sqlgen"
)

// TestValid lets Postgres parse and describe statements over several schemas: each is
// valid there, or the planner would be tested with statements that no client can send.
func TestValid(t *testing.T) {
	srv, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Stop)
	for seed := range uint64(6) {
		g := sqlgen.New(seed)
		profile := sqlgen.Adversarial
		if seed%2 == 1 {
			profile = sqlgen.Honest
		}
		s := g.Schema(profile)
		conn := database(t, srv, fmt.Sprintf("db%d", seed))
		if _, err := conn.Exec(t.Context(), s.DDL()); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.DDL())
		}
		if _, err := conn.Exec(t.Context(), sqlgen.Weighs); err != nil {
			t.Fatal(err)
		}
		for range 150 {
			st := g.Statement(s)
			d, err := conn.Prepare(t.Context(), "", st.SQL)
			if err != nil {
				t.Errorf("seed %d: %v\n%s", seed, err, st.SQL)
				continue
			}
			if len(d.Fields) != len(st.Outputs) {
				t.Errorf("%d columns, %d are described: %s", len(d.Fields), len(st.Outputs), st.SQL)
			}
		}
		for _, sql := range []string{"BEGIN", s.Without(s.Units[0]), "ROLLBACK", s.Shuffle()} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
}

func database(t *testing.T, srv *pgtemp.Server, name string) *pgx.Conn {
	t.Helper()
	super, err := pgx.Connect(t.Context(), srv.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer super.Close(context.Background())
	if _, err := super.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), srv.URL(name, pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// TestSeed makes the same twice from one seed, and something else from another.
func TestSeed(t *testing.T) {
	text := func(seed uint64) string {
		g := sqlgen.New(seed)
		s := g.Schema(sqlgen.Adversarial)
		out := s.DDL() + s.Policy()
		for range 20 {
			out += g.Statement(s).SQL
		}
		return out
	}
	first := text(1)
	if again := text(1); again != first {
		t.Error("the same seed makes different things")
	}
	if text(2) == first {
		t.Error("different seeds make the same things")
	}
}

// TestCompositeKeys holds that some schemas have a key of two columns, neither of which tells events of different units apart,
// and parts that are nobody's since one of the two is NULL.
func TestCompositeKeys(t *testing.T) {
	statements, nobodys := 0, 0
	for seed := range uint64(60) {
		g := sqlgen.New(seed)
		s := g.Schema(sqlgen.Adversarial)
		if !strings.Contains(s.Policy(), "{via: [event, shard], to: events}") {
			continue
		}
		if strings.Contains(s.DDL(), ", NULL)") {
			nobodys++
		}
		for range 100 {
			if slices.Contains(g.Statement(s).Features, sqlgen.CompositeKey) {
				statements++
			}
		}
	}
	if statements < 50 || nobodys == 0 {
		t.Errorf("%d statements over a composite key, %d schemas with parts that are nobody's", statements, nobodys)
	}
}

// TestCoverage wants every kind of source, key and aggregate among many statements.
func TestCoverage(t *testing.T) {
	var seen []string
	g := sqlgen.New(1)
	s := g.Schema(sqlgen.Adversarial)
	for range 3000 {
		seen = append(seen, g.Statement(s).Features...)
	}
	for _, want := range append([]string{
		"people", "readings", "events", "parts", "public JOIN", "public LEFT JOIN", "public first", "unit JOIN", "unit LEFT JOIN",
		"unit RIGHT JOIN", "unit FULL JOIN", "path JOIN", "path LEFT JOIN", "self join", "UNION ALL", "semi-join",
		"grouping sets", "1 keys", "2 keys",
		"count", "count of values", "count of different values", "count of units", "sum", "avg", "variance", "extreme", "percentile",
		"sum FILTER",
	}, slices.Concat(sqlgen.Forms, sqlgen.Windows, sqlgen.Thresholds, sqlgen.Each, []string{sqlgen.Arbitrary})...) {
		if !slices.Contains(seen, want) {
			t.Errorf("no statement has %q", want)
		}
	}
	for _, prefix := range []string{"derived, ", "WITH, ", "per unit, "} {
		if !slices.ContainsFunc(seen, func(f string) bool { return strings.HasPrefix(f, prefix) }) {
			t.Errorf("no statement has %q", prefix)
		}
	}
}
