package sqltext_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/stattest"
	"dpproxy/planner/sqltext"
)

func links(equality string) []sqltext.Link {
	l, r, _ := strings.Cut(equality, " = ")
	return []sqltext.Link{{SQL: equality, Left: l, Right: r}}
}

// TestTiming shows the meaning of trees, and how their time is kept from telling whether any row meets
// a condition.
func TestTiming(t *testing.T) {
	shown := 0
	datadriven.RunTest(t, "testdata/timing", func(t *testing.T, d *datadriven.TestData) string {
		shown++
		q := trees[d.Input]
		if q == nil {
			d.Fatalf(t, "no tree %q", d.Input)
		}
		return both(q, sqltext.Even(q))
	})
	if shown < len(trees) {
		t.Errorf("%d of %d trees are shown", shown, len(trees))
	}
}

func both(meant, even *sqltext.Select) string {
	m, e := sqltext.Lines(meant.SQL()), sqltext.Lines(even.SQL())
	if m == e {
		return "unchanged: " + m
	}
	return m + "\n=>\n" + e
}

// TestSameRows holds that both forms of a tree have the same rows: of the trees of the golden file,
// and of random joins. A tree of public rows is left alone.
func TestSameRows(t *testing.T) {
	ctx := t.Context()
	server, err := pgtemp.Start(ctx, pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	conn, err := pgconn.Connect(ctx, server.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	if _, err := conn.Exec(ctx, rowsSQL).ReadAll(); err != nil {
		t.Fatal(err)
	}
	compare := func(name string, q *sqltext.Select) {
		even := sqltext.Even(q)
		want, got := result(t, conn, q.SQL()), result(t, conn, even.SQL())
		if !slices.Equal(want, got) {
			t.Errorf("%s: %d rows, and %d\n%s", name, len(want), len(got), both(q, even))
		}
	}
	for name, q := range trees {
		compare(name, q)
	}
	r := rand.New(stattest.Source(t))
	changed, some := 0, 0
	for i := range 300 {
		q := (&joins{Rand: r, protected: i%10 > 0}).query()
		even := sqltext.Even(q)
		if i%10 == 0 && even != q {
			t.Errorf("public rows: %s", both(q, even))
		}
		if even.SQL() != q.SQL() {
			changed++
		}
		if len(result(t, conn, q.SQL())) > 0 {
			some++
		}
		compare(fmt.Sprint("random tree ", i), q)
	}
	if changed < 100 || some < 100 {
		t.Errorf("of 300 trees %d are changed, %d have rows", changed, some)
	}
}

const rowsSQL = `CREATE TABLE hospitals AS
  SELECT i AS id, i % 2 = 0 AS north, i % 3 AS x FROM generate_series(1, 6) AS i;
CREATE TABLE patients AS
  SELECT i AS id, 1940 + 7 * i AS born, i % 3 = 0 AS smoker, nullif(i % 4, 0) AS x FROM generate_series(1, 8) AS i;
CREATE TABLE visits AS
  SELECT i AS id, nullif(i % 7, 5) AS patient, nullif(i % 8, 0) AS hospital, i AS cost, nullif(i % 3, 1) AS x
  FROM generate_series(1, 20) AS i`

func result(t *testing.T, conn *pgconn.PgConn, sql string) []string {
	t.Helper()
	res, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	var out []string
	for _, row := range res[0].Rows {
		out = append(out, string(bytes.Join(row, []byte("|"))))
	}
	slices.Sort(out)
	return out
}

// joins makes random trees of joins over relations t1, t2, ..., which all have a column id
// without NULL and a column x with some.
type joins struct {
	*rand.Rand
	protected bool
	relations int
	where     []string
}

func (j *joins) query() *sqltext.Select {
	from, names := j.item(3, true)
	q := &sqltext.Select{Columns: star, From: from, Where: j.where}
	if j.IntN(2) == 0 {
		q.Where = append(q.Where, j.condition(names))
	}
	if q.Where == nil {
		q.Where = []string{}
	}
	return q
}

// item returns an item and the names of its relations. Where on is set, conditions of its joins can
// be among those of the query.
func (j *joins) item(depth int, on bool) (sqltext.Item, []string) {
	if depth == 0 || j.IntN(4) == 0 {
		j.relations++
		name := fmt.Sprint("t", j.relations)
		return j.relation(name), []string{name}
	}
	join := &sqltext.Join{Kind: sqltext.Kind(j.IntN(2))}
	var l, r []string
	join.Left, l = j.item(depth-1, on)
	join.Right, r = j.item(depth-1, on && join.Kind == sqltext.Inner)
	join.LeftUnit = l[0] + ".id"
	names := slices.Concat(l, r)
	if j.IntN(4) > 0 {
		link := j.link(l, r)
		join.Links = []sqltext.Link{link}
		if join.Kind == sqltext.Inner && on && j.IntN(2) == 0 {
			j.where = append(j.where, link.SQL)
		} else {
			join.On = append(join.On, link.SQL)
		}
	}
	if j.IntN(2) == 0 {
		join.On = append(join.On, j.condition(names))
	}
	return join, names
}

func (j *joins) relation(name string) sqltext.Item {
	table := &sqltext.Table{SQL: j.of("patients", "visits"), As: name, Protected: true}
	if !j.protected || j.IntN(4) == 0 {
		table = &sqltext.Table{SQL: "hospitals", As: name}
	}
	if j.IntN(3) > 0 {
		return table
	}
	return &sqltext.Query{As: name, Select: &sqltext.Select{Columns: star, From: table, Where: []string{j.condition([]string{name})}}}
}

func (j *joins) of(list ...string) string { return list[j.IntN(len(list))] }

func (j *joins) link(l, r []string) sqltext.Link {
	a, b := j.of(l...)+j.of(".id", ".x"), j.of(r...)+j.of(".id", ".x")
	return sqltext.Link{SQL: a + " = " + b, Left: a, Right: b, Null: j.IntN(2) == 0}
}

func (j *joins) condition(names []string) string {
	x := j.of(names...) + j.of(".id", ".x")
	return fmt.Sprintf(j.of("%s > %d", "%s < 2 + %d", "(%s IS NULL OR %d > 2)", "%s IS DISTINCT FROM %d"), x, j.IntN(5))
}
