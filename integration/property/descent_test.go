package property_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpproxy/internal/plantest"
	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/scalar"
	"dpproxy/proxy/reader"
)

// crowd is how many units are in all databases that are compared, and how many public rows: a part of a plan that
// looks at all of them for one row has so much to do. ofOneUnit is the most that the rows of one unit,
// which are few, may add to a node.
const (
	crowd     = 600
	ofOneUnit = 150
)

// parallel is the method of several processes.
const parallel = "parallel"

// methods have Postgres join and scan in ways that other statistics would lead to. The settings of a read
// go before these.
var methods = map[string]string{
	"as Postgres chooses": "",
	"hash joins":          "SET LOCAL enable_nestloop = off",
	"indexes":             "SET LOCAL random_page_cost = 0; SET LOCAL cpu_index_tuple_cost = 0",
	parallel: "SET LOCAL max_parallel_workers_per_gather = 2; SET LOCAL parallel_setup_cost = 0; " +
		"SET LOCAL min_parallel_table_scan_size = 0; SET LOCAL min_parallel_index_scan_size = 0",
}

// A descent executes statements on neighbours, with plans that were made before.
type descent struct {
	w        *world
	reads    []descended
	executed int
	// once leaves out a read after the method that has shown its cliff.
	once bool
	// steepest is the largest difference of a node that is no cliff.
	steepest float64
}

// descended is a read without parameters.
type descended struct{ statement, sql, settings string }

// add adds the reads of a statement, with their parameters as literals: so they are planned as they are where
// parameters are bound.
func (d *descent) add(sql string, p *planned) {
	texts, err := p.w.texts(p.query)
	if err != nil {
		d.w.t.Fatal(err)
	}
	for _, b := range p.plan.Blocks {
		for _, set := range b.Sets {
			for _, read := range set.Reads {
				before, _ := reader.SettingsOf(read)
				d.reads = append(d.reads, descended{sql, placeholder.ReplaceAllStringFunc(read.SQL, func(at string) string {
					n, _ := strconv.Atoi(at[1:])
					return literal(read.Params[n-1], texts)
				}), strings.Join(before, "; ")})
			}
		}
	}
}

var placeholder = regexp.MustCompile(`\$[0-9]+\b`)

func literal(p planner.Param, texts [][]byte) string {
	switch p.Kind {
	case planner.FoldParam:
		if texts[p.Fold] == nil {
			return "NULL"
		}
		return ast.Quote(string(texts[p.Fold]))
	case planner.InnerPadParam:
		return `'\x` + hex.EncodeToString(inner) + `'`
	case planner.OuterPadParam:
		return `'\x` + hex.EncodeToString(outer) + `'`
	case planner.TextParam:
	}
	return ast.Quote(p.Text)
}

// texts evaluates the constants of a statement as texts.
func (w *world) texts(q *planner.Query) ([][]byte, error) {
	cols, from := scalar.Evaluation(q.Folds())
	if len(cols) == 0 {
		return nil, nil
	}
	res, err := w.query("SELECT " + strings.Join(cols, ", ") + from)
	if err != nil {
		return nil, err
	}
	return res.Rows[0], nil
}

// A cliff is where a plan has much more to do for one unit.
type cliff struct {
	read descended
	how  string
	// nodes are those that differ, plan all of them with what they had to do.
	nodes, plan []string
	// rounded says that they differ by no more than what is rounded.
	rounded bool
}

func (c cliff) String() string {
	return fmt.Sprintf("%s\n%s:\n%s\nof\n%s\n%s", c.read.statement, c.how, strings.Join(c.nodes, "\n"),
		strings.Join(c.plan, "\n"), c.read.sql)
}

// keepStatistics has autovacuum, which would have the statements planned anew, wait for the end of the transaction.
const keepStatistics = `DO $$ BEGIN EXECUTE (SELECT 'LOCK TABLE ' || string_agg(oid::regclass::text, ', ') ||
	' IN SHARE UPDATE EXCLUSIVE MODE' FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace); END $$`

// from compares a database, which is the session's by now, with its neighbours, each of which is what a change makes
// of it. It is in a transaction. Where Postgres knows the rows, plans of all methods are compared.
func (d *descent) from(how string, known bool, changes []string) (found []cliff) {
	d.run(keepStatistics)
	for _, method := range slices.Sorted(maps.Keys(methods)) {
		if !known && methods[method] != "" {
			continue
		}
		if d.once {
			d.reads = slices.DeleteFunc(slices.Clone(d.reads), func(r descended) bool {
				return slices.ContainsFunc(found, func(c cliff) bool { return c.read == r })
			})
		}
		d.prepare(methods[method])
		base := d.nodes()
		executions := 1
		if method == parallel {
			executions = 4
		}
		for _, change := range changes {
			found = append(found, d.lasting(how+", "+method, base, change, executions)...)
		}
		d.run("DEALLOCATE ALL")
	}
	return found
}

// lasting are the cliffs that each of several executions has. Of parallel workers one may come too late for a row, and builds no
// table then.
func (d *descent) lasting(how string, base [][]plantest.Node, change string, executions int) (found []cliff) {
	for n := range executions {
		if n > 0 {
			base = d.nodes()
		}
		d.run("SAVEPOINT unit; " + change)
		var now []cliff
		rows := map[descended]int64{}
		for i, nodes := range d.nodes() {
			again := func(c cliff) bool { return c.read == d.reads[i] }
			if n == 0 || slices.ContainsFunc(found, again) {
				for _, c := range d.compare(d.reads[i], how, base[i], nodes) {
					now, rows[c.read] = append(now, c), d.rows(i)
				}
			}
		}
		d.run("ROLLBACK TO unit")
		now = slices.DeleteFunc(now, func(c cliff) bool {
			by := rows[c.read] - d.rows(slices.Index(d.reads, c.read))
			return c.rounded && max(by, -by) <= ofOneUnit
		})
		if found = now; len(found) == 0 {
			break
		}
	}
	return found
}

// rows is how many rows the tables and indexes give to a read.
func (d *descent) rows(i int) int64 {
	total := func() int64 {
		res, err := query(d.w.conn, "SELECT sum(pg_stat_get_xact_tuples_returned(oid)) FROM pg_class "+
			"WHERE relnamespace = 'public'::regnamespace", nil, nil)
		if err != nil {
			d.w.t.Fatal(err)
		}
		n, err := strconv.ParseInt(string(res.Rows[0][0]), 10, 64)
		if err != nil {
			d.w.t.Fatal(err)
		}
		return n
	}
	before := total()
	d.run(fmt.Sprintf("EXECUTE read%d", i))
	return total() - before
}

func (d *descent) compare(read descended, how string, a, b []plantest.Node) []cliff {
	c := cliff{read: read, how: how, rounded: true}
	for i, n := range a {
		if n.Name != b[i].Name {
			d.w.t.Fatalf("another plan: %s, then %s\n%s", n.Name, b[i].Name, read.sql)
		}
		text := fmt.Sprintf("%s: %.0f and %.0f", n.Name, n.Work, b[i].Work)
		c.plan = append(c.plan, text)
		if by := max(n.Work-b[i].Work, b[i].Work-n.Work); by > ofOneUnit {
			c.nodes = append(c.nodes, text)
			c.rounded = c.rounded && by <= ofOneUnit+n.Off+b[i].Off
		} else {
			d.steepest = max(d.steepest, by)
		}
	}
	if c.nodes == nil {
		return nil
	}
	return []cliff{c}
}

func (d *descent) run(sql string) { run(d.w.t, d.w.conn, sql) }

// prepare plans the reads. Statements without parameters keep their plan.
func (d *descent) prepare(method string) {
	for i, read := range d.reads {
		d.run("SAVEPOINT settings; " + method + "; " + read.settings)
		for name, value := range reader.PlanSettings {
			d.run("SET LOCAL " + name + " = " + value)
		}
		d.run(fmt.Sprintf("PREPARE read%d AS %s", i, read.sql))
		d.run(fmt.Sprintf("EXPLAIN EXECUTE read%d", i))
		d.run("ROLLBACK TO settings")
	}
}

func (d *descent) nodes() (all [][]plantest.Node) {
	for i, read := range d.reads {
		res, err := query(d.w.conn, fmt.Sprintf("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY OFF, FORMAT JSON) "+
			"EXECUTE read%d", i), nil, nil)
		if err != nil {
			d.w.t.Fatalf("%v\n%s\n%s", err, read.statement, read.sql)
		}
		nodes, err := plantest.Nodes(res.Rows[0][0])
		if err != nil {
			d.w.t.Fatal(err)
		}
		all = append(all, nodes)
		d.executed++
	}
	return all
}
