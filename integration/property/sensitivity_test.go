package property_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/internal/sqlgen"
	"dpproxy/planner"
)

// forced makes Postgres read the same rows in other orders, by other plans: by indexes, by
// sorting and merging whole tables, by hashing, in parallel, in loops with little memory.
var forced = []string{
	"SET enable_seqscan = off; SET enable_bitmapscan = off",
	"RESET ALL; SET enable_indexscan = off; SET enable_indexonlyscan = off; SET enable_bitmapscan = off; " +
		"SET enable_hashagg = off; SET enable_hashjoin = off; SET enable_nestloop = off",
	"RESET ALL; SET enable_sort = off; SET enable_mergejoin = off; SET enable_nestloop = off",
	"RESET ALL; SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; " +
		"SET min_parallel_table_scan_size = 0; SELECT set_config(name, 'on', false) FROM pg_settings " +
		"WHERE name IN ('force_parallel_mode', 'debug_parallel_query')",
	"RESET ALL; SET work_mem = '64kB'; SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off",
}

// statementsPerWorld bounds how many statements one database is asked in all ways;
// executedPerWorld how many are executed, in one way at least.
const (
	statementsPerWorld = 25
	executedPerWorld   = 100
)

// TestSensitivity compares the exact aggregates of databases with and without one unit. It
// is the property that everything rests on: no unit moves a measure by more than the
// plan declares. The same answers must come from every way to read them.
func TestSensitivity(t *testing.T) {
	first, want := seed(t), pairs(t)
	s := &survey{reached: map[string]float64{}, features: map[string]*tally{}}
	for n := uint64(0); s.pairs < want; n++ {
		w := newWorld(t, first+n, sqlgen.Adversarial)
		s.world(w, first+n, "")
		w.close()
	}
	for n := uint64(secondStream); want >= 500 && s.pairs < 8*want && (s.fallsShort("") || s.lacks()); n++ {
		feature := ""
		if s.fallsShort(" of totals") && !s.lacks() {
			feature = "grouping sets"
		}
		w := newWorld(t, first+n, sqlgen.Adversarial)
		s.world(w, first+n, feature)
		w.close()
	}
	t.Logf("%d pairs, %d statements accepted, %d refused; %d choose their largest group", s.pairs, s.statements, s.refusals, s.tops)
	if want >= 500 && s.tops == 0 {
		t.Error("no statement chooses its largest group")
	}
	for _, f := range slices.Sorted(maps.Keys(s.features)) {
		t.Logf("made %5d, accepted %5d, executed %5d: %s", s.features[f].made, s.features[f].accepted, s.features[f].executed, f)
	}
	for _, f := range told {
		if want >= 500 && !s.executed(f) {
			t.Errorf("no statement with %s was executed", f)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.reached)) {
		t.Logf("reached %.3f of the declared sensitivity: %s", s.reached[kind], kind)
		if s.reached[kind] < near && want >= 500 {
			t.Errorf("no %s came near its declared sensitivity: the declaration, or this test, is too loose", kind)
		}
	}
}

// near is the share of a declared sensitivity that one unit of random databases reaches.
const near = 0.99

// secondStream is where the seeds of further databases begin, asked until each kind of measure came near its
// sensitivity and each feature was executed: one unit with all of a sensitivity is rare among statements of all
// kinds, rarest in totals, and a third of the schemas have a composite key.
const secondStream = 1 << 32

// told are the features of statements of which some have to be executed.
var told = slices.Concat([]string{sqlgen.CompositeKey, sqlgen.Weighed, sqlgen.Elements}, sqlgen.Forms, sqlgen.Windows, sqlgen.Thresholds,
	sqlgen.Each, sqlgen.Shapes, []string{sqlgen.Inside, sqlgen.Referring, sqlgen.Looking})

// lacks is true if a feature was not executed yet, or no largest group was chosen.
func (s *survey) lacks() bool {
	return s.tops == 0 || slices.ContainsFunc(told, func(f string) bool { return !s.executed(f) })
}

// executed is true if a statement with the feature was.
func (s *survey) executed(feature string) bool {
	n := s.features[feature]
	return n != nil && n.executed > 0
}

// fallsShort is true if a measure whose kind ends with the suffix came not near its sensitivity yet.
func (s *survey) fallsShort(suffix string) bool {
	for kind, share := range s.reached {
		if strings.HasSuffix(kind, suffix) && share < near {
			return true
		}
	}
	return false
}

// A survey counts comparisons.
type survey struct {
	pairs, statements, refusals int
	tops                        int // statements whose largest group is chosen
	reached                     map[string]float64
	features                    map[string]*tally
}

// A tally counts statements with a feature, by how far they came.
type tally struct{ made, accepted, executed int }

// world asks one database, statements with a feature alone unless it is empty.
func (s *survey) world(w *world, seed uint64, feature string) {
	var plans []*planned
	var sqls []string
	var whole []reading
	for executed := 0; executed < executedPerWorld; {
		st := w.gen.Statement(w.schema)
		if feature != "" && !slices.Contains(st.Features, feature) {
			continue
		}
		manner := manners[s.statements%len(manners)]
		if order := topOf(st); order != "" && s.statements%3 == 0 {
			st.SQL, manner = st.SQL+order, top
		}
		p, err := w.plan(st.SQL, manner)
		s.count(w, st, err)
		if err != nil {
			continue
		}
		executed++
		a, err := p.exact()
		if err != nil {
			w.t.Errorf("seed %d: %s raises: %v", seed, st.SQL, err)
			continue
		}
		for _, f := range st.Features {
			s.features[f].executed++
		}
		if p.plan.Blocks[0].Sets[0].Top != nil {
			s.tops++
		}
		if len(plans) < statementsPerWorld {
			plans, sqls, whole = append(plans, p), append(sqls, st.SQL), append(whole, a)
		}
	}
	again := func(how string) {
		for i, p := range plans {
			a, err := p.exact()
			if err != nil {
				w.t.Errorf("seed %d: %s raises %s: %v", seed, sqls[i], how, err)
				continue
			}
			if d := differ(whole[i], a); d != "" {
				w.t.Errorf("seed %d: %s reads something else %s: %s", seed, sqls[i], how, d)
			}
		}
	}
	for _, f := range forced {
		run(w.t, w.conn, f)
		again("under " + f)
	}
	run(w.t, w.conn, "RESET ALL")
	run(w.t, w.conn, w.schema.Shuffle()+"; ANALYZE")
	again("after the heap was shuffled")
	for _, unit := range w.schema.Units {
		run(w.t, w.conn, "BEGIN; "+w.schema.Without(unit))
		for i, p := range plans {
			s.pairs++
			a, err := p.exact()
			if err != nil {
				w.t.Errorf("seed %d: %s raises without unit %s: %v", seed, sqls[i], unit, err)
				run(w.t, w.conn, "ROLLBACK; BEGIN; "+w.schema.Without(unit))
				continue
			}
			s.compare(w, fmt.Sprintf("seed %d: %s without unit %s", seed, sqls[i], unit), p, whole[i], a)
		}
		run(w.t, w.conn, "ROLLBACK")
	}
}

func (s *survey) count(w *world, st sqlgen.Statement, err error) {
	for _, f := range st.Features {
		if s.features[f] == nil {
			s.features[f] = &tally{}
		}
		s.features[f].made++
		if err == nil {
			s.features[f].accepted++
		}
	}
	if err != nil {
		refusal(w.t, st.SQL, err)
		s.refusals++
		return
	}
	s.statements++
}

// compare checks every statistic against its declared sensitivity.
func (s *survey) compare(w *world, what string, p *planned, with, without reading) {
	for i, b := range p.plan.Blocks {
		for j, set := range b.Sets {
			n := plantest.Neighbours{Set: set, With: with[i][j], Without: without[i][j], Sampled: 25, Reached: s.reached}
			if err := n.Check(); err != nil {
				w.t.Errorf("%s, block %d, grouping set %d: %v", what, i, j, err)
			}
		}
	}
}

// differ tells where two readings differ, or returns "".
func differ(a, b reading) string {
	for i := range a {
		for j := range a[i] {
			if d := a[i][j].Differ(b[i][j]); d != "" {
				return d
			}
		}
	}
	return ""
}

// manners are the ways that contributions are bounded, of which each statement is planned in one.
var manners = []func(*planner.Settings){
	fixed,
	chosen,
	func(s *planner.Settings) { s.Mechanism = "laplace" },
	func(s *planner.Settings) { s.Mechanism, s.Contribution = "laplace", planner.ChosenContribution },
	func(s *planner.Settings) { s.Contribution, s.MaxSum = planner.ChosenContribution, big.NewRat(7, 1) },
}

// top chooses the largest groups.
func top(s *planner.Settings) { s.Mechanism, s.Top = "auto", "on" }

// topOf asks for the largest group of a statement by a count, "" of one without keys or counts.
func topOf(st sqlgen.Statement) string {
	at := slices.Index(st.Outputs, sqlgen.Count)
	if at < 0 || st.Outputs[0] != sqlgen.Key || strings.Contains(st.SQL, "ORDER BY") {
		return ""
	}
	return fmt.Sprintf(" ORDER BY %d DESC LIMIT 1", at+1)
}

func fixed(*planner.Settings) {}

func chosen(s *planner.Settings) { s.Contribution = planner.ChosenContribution }

// TestSpelledUnits holds that the row which is the first of a unit does not depend on the order of rows where the unit itself has
// several spellings, as a character without a length has.
func TestSpelledUnits(t *testing.T) {
	w := newWorld(t, 55175, sqlgen.Adversarial)
	defer w.close()
	p, err := w.plan(`SELECT y.c3, count(e.amount) FROM events e JOIN LATERAL (SELECT s.day AS c1, s.n AS c2, s.kind AS c3 FROM events s
		WHERE e.uid = s.uid AND s.kind = e.kind ORDER BY s.day DESC NULLS LAST LIMIT 1) y ON true GROUP BY y.c3`, fixed)
	if err != nil {
		t.Fatal(err)
	}
	before, err := p.exact()
	if err != nil {
		t.Fatal(err)
	}
	run(t, w.conn, w.schema.Shuffle())
	after, err := p.exact()
	if err != nil {
		t.Fatal(err)
	}
	if d := differ(before, after); d != "" {
		t.Error(d)
	}
}
