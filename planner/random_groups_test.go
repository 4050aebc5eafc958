package planner_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// gridTotals are what a run has seen.
type gridTotals struct {
	statements, keys, conditions, groups, private, raised, rows int
	missing, impossible, twice, refused                         int
}

// TestRandomGroups compares the public groups of random statements with those of all rows that there can be, which Postgres itself
// computes: no row is in a group that is not listed, none is listed twice, and each is that of some row whose columns meet the conditions
// that are about a single one of them, or about a public row. DPPROXY_GROUPS is how many statements are tried, and
// DPPROXY_SEED draws others.
func TestRandomGroups(t *testing.T) {
	conn, columns := connect(t), gridColumns()
	cat := gridModel(t, conn, columns)
	runSQL(t, mirrorOf(t, conn), "SET TimeZone = 'Europe/Vienna'; SET jit = off")
	seed, most := given(t, "DPPROXY_SEED", 37), given(t, "DPPROXY_GROUPS", 150)
	g := &gridDraw{rnd: rand.New(rand.NewPCG(seed, 2)), columns: columns}
	var n gridTotals
	for n.statements < int(most) {
		st := g.statement()
		var rows int
		if st.used, rows = mentioned(columns, st.sql()); rows > 100_000 || len(st.used) == 0 || st.raises() {
			continue
		}
		n.statements, n.keys, n.conditions, n.rows = n.statements+1, n.keys+len(st.keys), n.conditions+len(st.where), n.rows+rows
		n.compare(t, cat, conn, st)
	}
	t.Logf("seed %d: %d statements with %d keys and %d conditions over %d rows: %d groups listed, missing %d, impossible %d, twice %d",
		seed, n.statements, n.keys, n.conditions, n.rows, n.groups, n.missing, n.impossible, n.twice)
	t.Logf("%d statements have private groups, %d are refused, %d raise", n.private, n.refused, n.raised)
	if n.refused*10 > n.statements {
		t.Error("more than a tenth of the statements are refused")
	}
}

// given is the number that an environment variable has, or another.
func given(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// compare compares the groups of one statement.
func (n *gridTotals) compare(t *testing.T, cat *policy.Model, conn *pgconn.PgConn, st gridStatement) {
	t.Helper()
	q, p := n.planGroups(t, cat, conn, st)
	if p == nil {
		return
	}
	groups := func(int) string { return "'{}'" }
	if p.Reads() && len(p.Blocks[0].Sets) > 0 {
		set := p.Blocks[0].Sets[0]
		if set.Private() {
			n.private++
			t.Logf("private: %s", st.sql())
			return
		}
		n.groups += set.Size()
		groups = func(column int) string { return gridGroups(set, column, len(st.keys)) }
	}
	columns := make([]string, len(st.keys))
	for i := range st.keys {
		columns[i] = "g" + strconv.Itoa(i+1)
	}
	names := strings.Join(columns, ", ")
	sql := "WITH l AS MATERIALIZED (SELECT " + names + " FROM " + q.Relation(0, groups) + " AS g), there(" + names +
		") AS MATERIALIZED (" + st.brute() + "), could(" + names + ") AS MATERIALIZED (" + st.alone().brute() + ") " +
		"SELECT (SELECT count(*) FROM l), (SELECT count(*) FROM (SELECT DISTINCT * FROM l) x), " +
		"(SELECT array_agg(x) FROM (TABLE there EXCEPT TABLE l) x), (SELECT array_agg(x) FROM (TABLE l EXCEPT TABLE could) x)"
	res, err := mirrorOf(t, conn).Exec(t.Context(), sql).ReadAll()
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && strings.HasPrefix(e.Code, "22") {
		n.raised++
		return
	}
	if err != nil {
		t.Fatalf("%v: %s", err, sql)
	}
	n.judge(t, st, res[0].Rows[0])
}

// planGroups plans a statement; p is nil if two of its keys are the same, or if it is refused.
func (n *gridTotals) planGroups(
	t *testing.T, cat *policy.Model, conn *pgconn.PgConn, st gridStatement,
) (q *planner.Query, p *planner.Plan) {
	t.Helper()
	script, err := parser.Parse(st.sql(), planner.Names(cat))
	if err != nil {
		t.Fatalf("%s: %v", st.sql(), err)
	}
	if q, err = planner.Analyze(nil, cat, script.Statements[0], nil); err != nil {
		n.refused++
		return nil, nil
	}
	if q.Columns(0) <= len(st.keys) {
		return q, nil
	}
	p, err = q.Specialize(nil, evaluate(t, conn, q, nil, nil), planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000_000},
	})
	if err != nil { // what is computed of the first and the last days can be out of range
		n.refused++
		return nil, nil
	}
	return q, p
}

// judge looks at how many groups are listed, how many of them are different, which are missing, and which no row can have.
func (n *gridTotals) judge(t *testing.T, st gridStatement, row [][]byte) {
	t.Helper()
	sql := st.sql()
	if string(row[0]) != string(row[1]) {
		n.twice++
		t.Errorf("%s: %s groups, of which %s are different", sql, row[0], row[1])
	}
	if row[2] != nil {
		n.missing++
		t.Errorf("%s: not listed: %.300s", sql, row[2])
	}
	if row[3] != nil && !st.linked() && !slices.ContainsFunc(st.keys, st.meets) {
		n.impossible++
		t.Errorf("%s: no row has %.300s", sql, row[3])
	}
}

// gridGroups writes the array of a column of the released relation of public groups.
func gridGroups(set *planner.GroupingSet, column, keys int) string {
	cells := make([]string, set.Size())
	for i := range cells {
		cells[i] = "0"
		if column < keys {
			cells[i] = "NULL"
			if k := set.KeysOf(i)[column]; k != nil {
				cells[i] = strconv.Quote(*k)
			}
		}
	}
	return "'" + strings.ReplaceAll(fmt.Sprintf("{%s}", strings.Join(cells, ",")), "'", "''") + "'"
}
