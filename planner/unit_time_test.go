package planner_test

import (
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/parser/ast"
	"dpproxy/planner"
)

// More rows of one unit are more work for Postgres, row by row: at no number of them is a table read
// again, or a part of the plan executed that was not before.
func TestNoStepInTime(t *testing.T) {
	cat := clinic(t)
	for _, sql := range []string{
		"SELECT count(*) FROM visits",
		"SELECT sum(cost), avg(cost), stddev(cost) FROM visits",
		"SELECT diagnosis, count(*), sum(cost), avg(cost) FROM visits GROUP BY 1",
		"SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits GROUP BY 1",
		"SELECT diagnosis, count(DISTINCT hospital_id) FROM visits GROUP BY 1",
		"SELECT diagnosis, extract(year FROM day), count(*), sum(cost) FROM visits GROUP BY CUBE (1, 2)",
		"SELECT hospital_id, count(*), avg(cost) FROM visits GROUP BY 1",
		"SELECT p.sex, count(*) FROM patients p JOIN visits v ON v.patient_id = p.id GROUP BY 1",
		"SELECT id::text, count(*) FROM visits GROUP BY 1", // more partitions than may count of a unit
	} {
		conn := connect(t)
		p := plan(t, conn, cat, sql)
		var reads []*planner.Read
		for _, set := range p.Blocks[0].Sets {
			reads = append(reads, set.Reads...)
		}
		if at := p.steps(t, conn, reads); len(at) > 0 {
			t.Errorf("%s\n%s", sql, strings.Join(at, "\n"))
		}
	}
}

// A part of a plan that is only executed for units with more than so many rows is a step, and is seen.
func TestStepIsSeen(t *testing.T) {
	read := &planner.Read{Statement: planner.Statement{SQL: "SELECT count(*) FROM visits WHERE patient_id IN " +
		"(SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 4096)"}}
	found := strings.Join(specialized{}.steps(t, connect(t), []*planner.Read{read}), "\n")
	if !strings.Contains(found, "200 further rows: 0 rows, then 42") {
		t.Errorf("rows of a unit with more than 4096 are no step: %q", found)
	}
}

// steps returns where a number of rows of a unit makes Postgres do more than for these rows.
func (p specialized) steps(t *testing.T, conn *pgconn.PgConn, reads []*planner.Read) (found []string) {
	t.Helper()
	run(t, conn, "SET plan_cache_mode = force_generic_plan; SET max_parallel_workers_per_gather = 0; BEGIN")
	defer run(t, conn, "ROLLBACK")
	run(t, conn, "LOCK patients, visits, labs, hospitals IN SHARE UPDATE EXCLUSIVE MODE") // of new statistics the plan would be another
	for i, r := range reads {
		run(t, conn, fmt.Sprintf("PREPARE read%d AS %s", i, r.SQL))
	}
	before := make([][]node, len(reads))
	have := 0
	for _, rows := range []int{0, 1, 2, 5, 19, 20, 21, 80, 81, 500, 1000, 4000, 4200} {
		run(t, conn, fmt.Sprintf(`INSERT INTO visits SELECT 100000 + g, 7, g %% 7, '2020-01-01', NULL, 'flu', g %% 100, 1, 1, 1, NULL
  FROM generate_series(%d, %d) g`, have+1, rows))
		for i, r := range reads {
			now := p.nodes(t, conn, i, r)
			if before[i] != nil {
				found = append(found, compare(before[i], now, rows-have)...)
			}
			before[i] = now
		}
		have = rows
	}
	return found
}

// A node of a plan has the rows that it returned and left out. Of one that was not executed there are
// none.
type node struct {
	text              string
	executed          bool
	returned, leftOut float64
}

// compare tells where nodes have more to do for further rows of a unit.
func compare(before, after []node, rows int) (found []string) {
	if len(before) != len(after) {
		return []string{"another plan"}
	}
	for i, b := range before {
		a, most := after[i], 8*float64(rows)
		if a.executed != b.executed || a.returned-b.returned > most || a.leftOut-b.leftOut > most {
			found = append(found, fmt.Sprintf("%d further rows: %v rows, then %v; %v left out, then %v\n%s",
				rows, b.returned, a.returned, b.leftOut, a.leftOut, a.text))
		}
	}
	return found
}

var (
	actualRows  = regexp.MustCompile(`\(actual rows=([0-9.]+) loops=([0-9.]+)\)|\(never executed\)`)
	rowsLeftOut = regexp.MustCompile(`Rows Removed by .*: ([0-9]+)$`)
)

// nodes executes a prepared read.
func (p specialized) nodes(t *testing.T, conn *pgconn.PgConn, i int, r *planner.Read) (out []node) {
	t.Helper()
	sql := fmt.Sprintf("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE read%d", i)
	if len(r.Params) > 0 {
		sql += "(" + p.literals(r) + ")"
	}
	res := conn.ExecParams(t.Context(), sql, nil, nil, nil, nil).Read()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, row := range res.Rows {
		line := string(row[0])
		if m := actualRows.FindStringSubmatch(line); m != nil {
			n := node{text: line, executed: m[1] != ""}
			if n.executed {
				n.returned = number(m[1]) * number(m[2])
			}
			out = append(out, n)
		} else if m := rowsLeftOut.FindStringSubmatch(line); m != nil {
			out[len(out)-1].leftOut += number(m[1])
		}
	}
	return out
}

// literals writes the parameters of a read.
func (p specialized) literals(r *planner.Read) string {
	var out []string
	formats := p.formats(r.Statement)
	for i, value := range p.params(r.Statement) {
		if formats[i] == 1 {
			value = append([]byte(`\x`), hex.EncodeToString(value)...)
		}
		out = append(out, ast.Quote(string(value)))
	}
	return strings.Join(out, ", ")
}
