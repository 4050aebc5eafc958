package source_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/dp"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sqlgen"
	"dpproxy/internal/stattest"
	"dpproxy/mirror"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// provedStatements is how many statements one random database is asked.
const provedStatements = 60

// TestProofs reads the rows of every level of random statements over random databases whose
// equal values look different, and compares what is proved of them: where a proof takes
// equal values for identical ones, they have the same bytes. DPPROXY_SEED is the first
// database; of DPPROXY_PROOFS there are so many.
func TestProofs(t *testing.T) {
	first, _ := strconv.ParseUint(os.Getenv(stattest.SeedVariable), 10, 64)
	worlds, _ := strconv.ParseUint(os.Getenv("DPPROXY_PROOFS"), 10, 64)
	claims, c := map[string]int{}, source.Compared{}
	for n := range max(worlds, 3) {
		provedWorld(t, first+n, claims, &c)
	}
	t.Log(claims)
	t.Log(c.String())
	for _, claim := range []string{"exact", "per unit", "fixed", "fixes", "unique", "equal"} {
		if claims[claim] == 0 {
			t.Errorf("nothing was proved to be %s", claim)
		}
	}
}

func provedWorld(t *testing.T, seed uint64, claims map[string]int, c *source.Compared) {
	t.Helper()
	g := sqlgen.New(seed)
	g.FiniteNumerics = !server.InfiniteNumerics()
	schema := g.Schema(sqlgen.Adversarial)
	name := fmt.Sprintf("proofs%d", seed)
	run(t, connectTo(t, server, "postgres"), "CREATE DATABASE "+name)
	conn, err := pgx.Connect(t.Context(), server.URL(name, pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	run(t, conn.PgConn(), schema.DDL())
	if mirrorServer != server {
		run(t, connectTo(t, mirrorServer, "postgres"), "CREATE DATABASE "+name)
		run(t, connectTo(t, mirrorServer, name), schema.DDL())
	}
	cat := randomCatalog(t, conn, schema)
	for range provedStatements {
		sql := g.Statement(schema).SQL
		compare(t, c, cat, sql)
		for _, l := range levelsOf(t, conn.PgConn(), cat, sql) {
			if err := proved(t.Context(), conn.PgConn(), l, claims); err != nil {
				t.Errorf("seed %d: %s\n%v\nFROM %s\nWHERE %s", seed, sql, err, l.From, l.Where)
			}
		}
	}
}

// randomCatalog reads the catalogue of a random database.
func randomCatalog(t *testing.T, conn *pgx.Conn, schema *sqlgen.Schema) *policy.Model {
	t.Helper()
	const head = "data: postgres://d/d\nmirror: postgres://m/m\nledger: {dir: /nowhere}\n" +
		"privacy_unit: {name: person, budget: {epsilon: 1000, delta: 0.001}}\n"
	policy, err := config.Parse("policy.yaml", []byte(head+schema.Policy()))
	if err != nil {
		t.Fatal(err)
	}
	var names []catalog.Name
	for _, table := range policy.Tables.Tables {
		names = append(names, table.Name)
	}
	plan := mirror.Plan{Public: names}
	for _, v := range policy.Views {
		plan.Views = append(plan.Views, mirror.View{Name: v.Name, Shown: v.Shown})
	}
	s, err := plan.Read(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	return checkedBy(t, policy.Tables, s)
}

// mirrorOf returns a session of the mirror of the database that the session is of.
func mirrorOf(t *testing.T, conn *pgconn.PgConn) *pgconn.PgConn {
	t.Helper()
	if mirrorServer == server {
		return conn
	}
	return connectTo(t, mirrorServer, databaseOf(t, conn))
}

// levelsOf returns the levels of a statement, none if it is refused.
func levelsOf(t *testing.T, conn *pgconn.PgConn, cat *policy.Model, sql string) []source.Level {
	t.Helper()
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil || script.Statements[0].Refusal != nil {
		return nil
	}
	q, err := planner.Analyze(nil, cat, script.Statements[0], nil)
	if err != nil {
		return nil
	}
	mirror := mirrorOf(t, conn)
	values := plannertest.WithLists(t, mirror, q, plannertest.Evaluate(t, mirror, q.Folds(), nil, nil), planner.ListsSQL)
	limits := policy.Limits{PublicFanout: 1000, Work: 1_000_000, PublicRows: map[catalog.Name]int64{name("places"): 5}}
	settings := planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1_000_000_000, Mechanism: "gaussian", Alpha: 0.05, Limits: limits,
	}
	if _, err := q.Specialize(nil, values, settings); err != nil {
		return nil
	}
	var all []source.Level
	for _, b := range script.Statements[0].Blocks {
		levels, err := source.Levels(cat, b, func(folds []scalar.Fold) []scalar.Value {
			return plannertest.Evaluate(t, mirrorOf(t, conn), folds, nil, nil)
		})
		if _, refused := errors.AsType[*pgerr.Error](err); refused { // what the mirror knows of is not known here: values, and time zones
			return nil
		}
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		all = append(all, levels...)
	}
	return all
}

// A levelRow is a row of a level: which of the different units and of the different values
// of each column it has, and the bytes of these values. Values that are not compared have no rank.
type levelRow struct {
	unit         string
	ranks, bytes []string
}

// levelRows reads the rows of a level.
func levelRows(ctx context.Context, conn *pgconn.PgConn, l source.Level) ([]levelRow, error) {
	rank := func(sql string) string { return "pg_catalog.dense_rank() OVER (ORDER BY " + sql + ")" }
	list := []string{rank(l.Unit)}
	for _, c := range l.Columns {
		if c.Exact {
			list = append(list, rank(c.SQL), c.SQL)
		} else {
			list = append(list, "NULL", c.SQL)
		}
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + l.From + " WHERE " + l.Where
	res := conn.ExecParams(ctx, sql, nil, nil, nil, []int16{1}).Read()
	if res.Err != nil {
		return nil, fmt.Errorf("%w\n%s", res.Err, sql)
	}
	rows := make([]levelRow, len(res.Rows))
	for i, r := range res.Rows {
		rows[i].unit = string(r[0])
		for at := 1; at < len(r); at += 2 {
			rows[i].ranks, rows[i].bytes = append(rows[i].ranks, string(r[at])), append(rows[i].bytes, bytesOrNull(r[at+1]))
		}
	}
	return rows, nil
}

func bytesOrNull(b []byte) string {
	if b == nil {
		return "NULL"
	}
	return "=" + string(b)
}

// proved compares what is proved of a level with its rows.
func proved(ctx context.Context, conn *pgconn.PgConn, l source.Level, claims map[string]int) error {
	rows, err := levelRows(ctx, conn, l)
	if err != nil {
		return err
	}
	row := strconv.Itoa
	unit := func(n int) string { return rows[n].unit }
	holds := func(claim string, of, value func(n int) string) error {
		claims[claim]++
		seen := map[string]string{}
		for n := range rows {
			if first, ok := seen[of(n)]; ok && first != value(n) {
				return errors.New("not " + claim)
			}
			seen[of(n)] = value(n)
		}
		return nil
	}
	var all []error
	if l.Unique {
		all = append(all, holds("unique", unit, row))
	}
	for _, p := range l.Equal {
		column := func(i int) func(n int) string { return func(n int) string { return rows[n].bytes[i] } }
		all = append(all, holds("equal", column(p[0]), column(p[1])))
	}
	for i, c := range l.Columns {
		bytes, rank := func(n int) string { return rows[n].bytes[i] }, func(n int) string { return rows[n].ranks[i] }
		for _, claim := range []struct {
			name      string
			made      bool
			of, value func(n int) string
		}{
			{"exact", c.Exact, rank, bytes},
			{"per unit", c.PerUnit, unit, bytes},
			{"fixed", c.Fixed, func(int) string { return "" }, bytes},
			{"fixes", c.Fixes, func(n int) string { return unit(n) + bytes(n) }, row},
		} {
			if claim.made {
				if err := holds(claim.name, claim.of, claim.value); err != nil {
					all = append(all, fmt.Errorf("%s is %w", c.SQL, err))
				}
			}
		}
	}
	return errors.Join(all...)
}
