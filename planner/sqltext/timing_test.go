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
	l, r, _ := strings.Cut(strings.Trim(strings.ReplaceAll(equality, "OPERATOR(pg_catalog.=)", "="), "()"), " = ")
	return []sqltext.Link{{SQL: equality, Left: end(l), Right: end(r)}}
}

// end is a column of a table: a column called id or ward has an index, and one ward has rows of many persons.
func end(column string) sqltext.End {
	of, name, _ := strings.Cut(column, ".")
	return sqltext.End{Of: of, Present: column, Indexed: name == "id" || name == "ward", Many: name == "ward"}
}

// TestTiming shows the meaning of trees, and the form in which their time does not reveal whether any row meets a condition.
func TestTiming(t *testing.T) {
	shown := 0
	datadriven.RunTest(t, "testdata/timing", func(t *testing.T, d *datadriven.TestData) string {
		shown++
		q := trees[d.Input]
		if q == nil {
			d.Fatalf(t, "no tree %q", d.Input)
		}
		owned(q)
		even, joins := sqltext.Even(q)
		return both(q, even) + settings(joins)
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

// settings writes how Postgres must join.
func settings(j sqltext.Joins) string {
	said := ""
	if j.Ordered {
		said += "\nordered"
	}
	if j.Scanned {
		said += "\nscanned"
	}
	return said
}

// owned gives the relations of a query, and of the queries below, their conditions.
func owned(q *sqltext.Select) {
	for _, w := range q.With {
		owned(w.Query)
	}
	give(q.From, q.Where)
	for _, u := range q.UnionAll {
		owned(u)
	}
}

// relations returns the names of an item's relations.
func relations(it sqltext.Item) []string {
	switch it := it.(type) {
	case *sqltext.Table:
		return []string{it.As}
	case *sqltext.Query:
		return []string{it.As}
	case *sqltext.Listed:
		return append(relations(it.Item), "l")
	case *sqltext.Join:
		return append(relations(it.Left), relations(it.Right)...)
	}
	return nil
}

func give(it sqltext.Item, conds []string) {
	of := func(name string) (own []string) {
		for _, c := range conds {
			if strings.HasPrefix(strings.TrimLeft(c, "("), name+".") && !strings.Contains(c, " = ") && strings.Count(c, ".") == 1 {
				own = append(own, c)
			}
		}
		return own
	}
	switch it := it.(type) {
	case *sqltext.Table:
		it.Own = of(it.As)
	case *sqltext.Query:
		it.Own = of(it.As)
		owned(it.Select)
	case *sqltext.Listed:
		give(it.Item, nil)
	case *sqltext.Join:
		below := slices.Concat(conds, it.On)
		if it.Kind == sqltext.Left {
			give(it.Left, conds)
			give(it.Right, it.On)
			return
		}
		give(it.Left, below)
		give(it.Right, below)
	}
}

// TestSameRows holds that both forms of a tree have the same rows, for the trees of the golden file and for random joins. A tree of public
// rows stays as it is.
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
	ordered := 0
	compare := func(name string, q *sqltext.Select) {
		owned(q)
		named := *q
		if slices.Equal(q.Columns, star) { // a star has the relations in the order of the joins
			named.Columns = nil
			for _, name := range slices.Sorted(slices.Values(relations(q.From))) {
				named.Columns = append(named.Columns, sqltext.Columns(name, "*")...)
			}
			q = &named
		}
		even, joins := sqltext.Even(q)
		if joins.Ordered {
			ordered++
		}
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
		even, _ := sqltext.Even(q)
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
	if changed < 100 || some < 100 || ordered < 40 {
		t.Errorf("of 300 trees %d are changed, %d have rows, %d are ordered", changed, some, ordered)
	}
}

const rowsSQL = `CREATE TABLE hospitals AS
  SELECT i AS id, i % 2 = 0 AS north, i % 3 AS x FROM generate_series(1, 6) AS i;
CREATE TABLE patients AS
  SELECT i AS id, 1940 + 7 * i AS born, i % 3 = 0 AS smoker, nullif(i % 4, 0) AS x FROM generate_series(1, 8) AS i;
CREATE TABLE visits AS
  SELECT i AS id, nullif(i % 7, 5) AS patient, nullif(i % 8, 0) AS hospital, i AS cost, nullif(i % 3, 1) AS x, i % 2 AS ward
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

// joins makes random trees of joins over relations t1, t2, ... Each relation has a column id without NULL, and a column x with some NULLs.
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

// item returns an item and the names of its relations. If on is set, conditions of its joins can be among the conditions of the query.
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
	if j.IntN(8) > 0 {
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
	table := &sqltext.Table{SQL: j.of("patients", "visits"), As: name, Protected: true, Most: j.IntN(4) == 0}
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
	k := sqltext.Link{SQL: a + " = " + b, Left: end(a), Right: end(b)}
	k.Left.Null, k.Right.Foreign = j.IntN(2) == 0, j.IntN(2) == 0
	return k
}

func (j *joins) condition(names []string) string {
	x := j.of(names...) + j.of(".id", ".x")
	return fmt.Sprintf(j.of("%s > %d", "%s < 2 + %d", "(%s IS NULL OR %d > 2)", "%s IS DISTINCT FROM %d"), x, j.IntN(5))
}
