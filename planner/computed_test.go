package planner_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/parser"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// A computing statement has values that are computed of released ones, or chosen by them. Its first column tells rows apart.
type computing struct {
	sql string
	// all is the statement for which each row of sql has its true values; empty for the statement itself.
	all string
	// of are the output columns that are aggregates, by their labels in errors. Each other number has an error of its own.
	of map[string]string
}

const (
	days  = "(SELECT day, count(*) AS n, sum(cost) AS s FROM visits WHERE day < '2020-01-20' GROUP BY day) t"
	kinds = "(SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis) k"
	daily = " FROM visits WHERE day < '2020-01-20' GROUP BY day"
	each  = "SELECT day, n FROM " + days
	sexes = "(SELECT sex, count(*) AS n FROM patients GROUP BY sex) p"
)

// counted has the columns of counts.
func counted(names ...string) map[string]string {
	of := map[string]string{}
	for _, n := range names {
		of[n] = "count(*)"
	}
	return of
}

var computings = []computing{
	{sql: "SELECT 1, sum(n) FROM " + days},
	{sql: "SELECT 1, sum(s) AS revenue, avg(n), stddev(n) FROM " + days},
	{sql: "SELECT 1, max(n), min(n) FROM " + days},
	{sql: "SELECT 1, max(n) - min(n) AS range FROM " + days},
	{sql: "SELECT 1, percentile_cont(0.5) WITHIN GROUP (ORDER BY n) AS median FROM " + days},
	{sql: "SELECT 1, (array_agg(n ORDER BY n DESC))[1] AS first FROM " + days},
	{sql: "SELECT 1, sum(n) FILTER (WHERE day > '2020-01-05') AS late FROM " + days},
	{sql: "SELECT extract(dow FROM day) AS d, sum(n) FROM " + days + " GROUP BY 1"},
	{sql: "SELECT day, n, sum(n) OVER (ORDER BY day) AS running FROM " + days, of: counted("n")},
	{sql: "SELECT day, sum(count(*)) OVER (ORDER BY day) AS running, count(*) AS n" + daily, of: counted("n")},
	{sql: "SELECT day, avg(n) OVER (ORDER BY day ROWS 6 PRECEDING) AS moving, n - lag(n) OVER (ORDER BY day) AS change FROM " + days},
	{sql: "SELECT day, max(n) OVER w AS most, rank() OVER w AS place FROM " + days + " WINDOW w AS (ORDER BY n DESC)"},
	{sql: "SELECT day, n / sum(n) OVER () AS share, 100.0 * n AS percent FROM " + days},
	{sql: "SELECT day, s / n AS mean, s - n AS net, -n AS minus FROM " + days},
	{sql: "SELECT 1, sum(cost) / count(*) AS mean, 1000 * count(*) AS many FROM visits"},
	{sql: "SELECT 1, greatest(sum(cost), count(*)) AS g, abs(count(*)) AS a, count(*) ^ 2 AS q FROM visits"},
	{sql: "SELECT 1, (SELECT count(*) FROM visits) - (SELECT count(*) FROM patients) AS d"},
	{sql: "SELECT 1, (SELECT count(*) FROM visits) AS n", of: counted("n")},
	{sql: "SELECT 1, (SELECT sum(n) FROM " + days + ") AS total"},
	{sql: "SELECT 1, cardinality(ARRAY(SELECT n FROM " + days + " WHERE n > 0)) AS c"},
	{
		sql: "SELECT diagnosis, k.n, u.n * 2 AS twice FROM " + kinds + " CROSS JOIN (SELECT count(*) AS n FROM patients) u",
		of:  counted("n"),
	},
	{sql: "SELECT sex || diagnosis AS key, p.n + k.n AS both FROM " + sexes + ", " + kinds},
	{sql: "SELECT diagnosis AS key, n FROM " + kinds + " UNION ALL SELECT sex, n FROM " + sexes},
	{sql: "SELECT key, 2 * n AS twice FROM (SELECT diagnosis AS key, n FROM " + kinds + " UNION ALL SELECT sex, n FROM " + sexes + ") u"},
	{sql: "SELECT 1, sum(n) FROM (SELECT n FROM " + kinds + " UNION ALL SELECT n FROM " + sexes + ") u"},
	{sql: "WITH t AS (SELECT day, count(*) AS n" + daily + "), u AS (SELECT max(n) AS m FROM t) " +
		"SELECT day, n, n / m AS part FROM t, u", of: counted("n")},
	{sql: "WITH RECURSIVE t AS (SELECT 1 AS i, count(*) AS n FROM visits UNION ALL SELECT i + 1, n + n FROM t WHERE i < 4) " +
		"SELECT i, n FROM t"},
	{sql: "SELECT 1, x AS least FROM " + days + ", LATERAL (SELECT min(n) AS x FROM (VALUES (n), (n * 2)) v (n)) l"},
	{sql: "SELECT day, u AS twice FROM " + days + ", unnest(ARRAY[n, 2 * n]) AS u WHERE u > 0"},
	{sql: "SELECT v.* FROM (VALUES (1, (SELECT 3 * count(*) FROM visits))) v (a, thrice)"},
	{sql: "SELECT day, CASE WHEN n > 1 THEN n * 10 ELSE 0 END AS tens, coalesce(nullif(n, 0), 0) * 1.5 AS more FROM " + days},
	{sql: "SELECT day, (t).n * 3 AS thrice FROM " + days},
	{sql: "SELECT diagnosis, sum(count(*)) OVER () AS total FROM visits GROUP BY ROLLUP (diagnosis)"},
	{sql: "SELECT day, round(n / 7.0) AS weekly, round(avg, -3) AS coarse, avg::int AS whole " +
		"FROM (SELECT day, count(*) AS n, avg(cost) AS avg FROM visits WHERE day < '2020-01-20' GROUP BY day) t", of: map[string]string{}},
	{sql: each + " ORDER BY n DESC LIMIT 1", all: each, of: counted("n")},
	{sql: "SELECT day, count(*) AS n" + daily + " ORDER BY 2 LIMIT 2", all: each, of: counted("n")},
	{
		sql: "SELECT DISTINCT ON (extract(dow FROM day)) day, n FROM " + days + " ORDER BY extract(dow FROM day), n",
		all: each, of: counted("n"),
	},
	{sql: each + " WHERE n = (SELECT max(n) FROM " + days + ")", all: each, of: counted("n")},
	{
		sql: "SELECT day, n, 2 * n AS twice FROM " + days + " ORDER BY n DESC FETCH FIRST 1 ROW ONLY",
		all: "SELECT day, n, 2 * n FROM " + days, of: counted("n"),
	},
	{sql: "SELECT day, count(*) AS n" + daily + " HAVING count(*) > (SELECT count(*) / 19 FROM visits)", all: each, of: counted("n")},
	{sql: "SELECT 1, count(*) AS c, count(*) FILTER (WHERE day > '2020-01-05') AS d FROM " + days + " WHERE n > 100000"},
	{sql: "SELECT 1, sum(c) AS c FROM (SELECT n, count(*) AS c FROM " + days + " GROUP BY n) t"},
	{sql: "SELECT 1, EXISTS (SELECT FROM " + days + " WHERE n > 100000)::int AS e, (10 > ALL (SELECT n FROM " + days + "))::int AS f"},
	{
		sql: "SELECT day, count(*) AS n, dp.error(count(*)) AS n_error" + daily + " ORDER BY 2 DESC LIMIT 1",
		all: "SELECT day, n FROM " + days, of: counted("n"),
	},
	{sql: "SELECT day, s, s_error FROM (SELECT day, sum(cost) AS s, dp.error(sum(cost)) AS s_error" + daily + ") t " +
		"ORDER BY s LIMIT 1", all: "SELECT day, s FROM " + days, of: map[string]string{"s": "sum(cost)"}},
	{
		sql: "SELECT a.day, a.n FROM " + strings.TrimSuffix(days, "t") + " a JOIN (SELECT max(n) AS m FROM " + days + ") b ON a.n = b.m",
		all: each, of: counted("n"),
	},
}

// No stated error is less than what the value of its output column is off by, at the stated confidence: an error of a group is not
// stated of what is computed of groups, and holds where values choose which groups are shown.
func TestErrorsOfComputedColumns(t *testing.T) {
	conn := connectTo(t, mirrorServer, "postgres")
	rng := rand.New(rand.NewPCG(1, 2))
	cat := clinic(t)
	for _, c := range computings {
		w := computedWorld{t, conn, cat, c, rng}
		w.check()
	}
}

type computedWorld struct {
	t    *testing.T
	conn *pgconn.PgConn
	cat  *policy.Model
	computing
	rng *rand.Rand
}

// draws of each statement.
const computedDraws = 40

func (w computedWorld) check() {
	w.t.Helper()
	misses, cells, all := 0, 0, w.all
	if all == "" {
		all = w.sql
	}
	truth, ours := w.plan(all).answer(0), w.plan(w.sql)
	for range computedDraws {
		got := ours.answer(1)
		for key, row := range got.rows {
			for i, column := range got.columns[1:] {
				stated := got.statedOf(w.of, column)
				if of, ok := strings.CutSuffix(column, "_error"); ok { // as dp.error states it
					stated, i = row[i], slices.Index(got.columns[1:], of)
				}
				if stated < 0 {
					w.t.Errorf("%s: nothing is said of %s: %v", w.sql, column, got.bars)
					return
				}
				if x, y := row[i], truth.rows[key][i]; !math.IsNaN(x) && !math.IsInf(stated, 1) {
					if cells++; math.Abs(x-y) > stated*(1+1e-9)+1e-9 {
						misses++
					}
				}
			}
		}
	}
	// Of n intervals more than 5 % and five standard deviations fail with probability 10⁻⁶; those of one draw may be of one number.
	n := float64(cells)
	if n > 0 && float64(misses) > 0.05*n+5*math.Sqrt(0.05*0.95*n*max(1, n/computedDraws)) {
		w.t.Errorf("%s: %d of %d intervals miss the truth", w.sql, misses, cells)
	}
}

// statedOf is the error that is said of a column; negative if none is.
func (a computedAnswer) statedOf(of map[string]string, column string) float64 {
	for _, bar := range a.bars {
		label, _, _ := strings.Cut(bar.Label, " of ")
		if bar.Label == column || of[column] != "" && label == of[column] {
			return bar.Most
		}
	}
	return -1
}

// A computedAnswer has the numbers of rows by their first column.
type computedAnswer struct {
	columns []string
	rows    map[string][]float64
	bars    []planner.ErrorBar
}

// released are values of equal groups, with so much of their noise.
func (w computedWorld) released(set *planner.GroupingSet, times float64) *planner.Released {
	of := &planner.Released{Clips: plantest.NewExact(set).Uncut()}
	for i := range of.Clips {
		of.Clips[i].Tail = []*big.Int{new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
	}
	for range set.Size() {
		row := make([]*big.Int, set.Integers())
		for i := range row {
			sd, size := set.Noise(i, of.Clips).StdDev(), 1e5
			if sd > 1e4 { // a sum
				size = 1e11
			}
			row[i] = big.NewInt(int64(math.Round(size + times*sd*w.rng.NormFloat64())))
		}
		of.Rows = append(of.Rows, row)
	}
	return of
}

// answer runs a statement over released values.
func (w computedPlan) answer(times float64) computedAnswer {
	w.t.Helper()
	st, q, p := w.statement, w.query, w.Plan
	released := make([][]*planner.Released, len(p.Blocks))
	for i, b := range p.Blocks {
		for _, set := range b.Sets {
			released[i] = append(released[i], w.released(set, times))
		}
	}
	p.Share(released)
	text := st.Splice(func(i int) string {
		columns := p.Blocks[i].Columns(released[i])
		return q.Relation(i, func(column int) string { return "'" + strings.ReplaceAll(columns[column], "'", "''") + "'" })
	})
	res := w.conn.ExecParams(w.t.Context(), text, nil, nil, nil, nil).Read()
	if res.Err != nil {
		w.t.Fatalf("%v\n%s", res.Err, text)
	}
	a := computedAnswer{rows: map[string][]float64{}, bars: planner.Errors(p, released)}
	for _, f := range res.FieldDescriptions {
		a.columns = append(a.columns, f.Name)
	}
	for _, cells := range res.Rows {
		var row []float64
		for _, c := range cells[1:] {
			x, err := strconv.ParseFloat(string(c), 64)
			if err != nil {
				x = math.NaN()
			}
			row = append(row, x)
		}
		a.rows[string(cells[0])] = row
	}
	return a
}

// A computedPlan is a statement with its plan.
type computedPlan struct {
	computedWorld
	*planner.Plan

	statement *parser.Statement
	query     *planner.Query
}

func (w computedWorld) plan(sql string) computedPlan {
	w.t.Helper()
	script, err := parser.Parse(sql, planner.Names(w.cat))
	if err != nil {
		w.t.Fatal(err)
	}
	q, err := planner.Analyze(nil, w.cat, script.Statements[0], nil)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	p, err := q.Specialize(nil, evaluate(w.t, w.conn, q, nil, nil), planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05, ShowSmallGroups: true,
		MaxRows: 3, MaxPartitions: 2, Contribution: planner.FixedContribution, Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	})
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return computedPlan{w, p, script.Statements[0], q}
}

// TestTitles: an aggregate whose call would be abridged in a notice, so that two of them could look alike, is called as its column.
func TestTitles(t *testing.T) {
	const of = " FROM visits"
	for sql, want := range map[string]string{
		"SELECT avg(CASE WHEN cost > 5 THEN 1 ELSE 0 END) AS a, avg((cost > 6)::int) AS b" + of: "a, b",
		"SELECT count(*) FILTER (WHERE cost > 5) AS dear, sum(cost) AS total" + of:              "dear, sum(cost)",
		"SELECT count(*) FILTER (WHERE cost > 6)" + of:                                          "count(*) FILTER",
		"SELECT x AS y, x AS z FROM (SELECT sum(2 * cost) AS x" + of + ") q":                    "sum(...)",
		"SELECT x FROM (SELECT sum(2 * cost) AS x" + of + ") q":                                 "x",
		"SELECT sum(2 * cost) AS x, sum(3 * cost) AS x" + of:                                    "sum(...), sum(...)",
		"SELECT coalesce(sum(2 * cost), 0)" + of:                                                "sum(...)",
	} {
		var labels []string
		for _, bar := range planner.Errors(plan(t, connect(t), clinic(t), sql).Plan, nil) {
			labels = append(labels, bar.Label)
		}
		if got := strings.Join(labels, ", "); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// TestNegligibleRounding holds that a column is not told beside its aggregate whose rounding none of the figures of the error shows, at
// whatever confidence, and that one is which they show.
func TestNegligibleRounding(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	for round, bars := range map[string]int{"round(sum(birth_year))": 1, "round(sum(birth_year), -3)": 2} {
		for i := range 200 {
			p, err := planned(t, conn, cat, "SELECT "+round+" AS total FROM patients WHERE smoker", func(s *planner.Settings) {
				s.Alpha, s.EpsilonPico = 0.02+0.0003*float64(i), dp.PicoPerUnit/10
			})
			if err != nil {
				t.Fatal(err)
			}
			if of := planner.Errors(p.Plan, nil); len(of) != bars {
				t.Fatalf("%s: %v", round, of)
			}
		}
	}
}
