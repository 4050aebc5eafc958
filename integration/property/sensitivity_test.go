package property_test

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/dp"
	"dpproxy/internal/sqlgen"
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
		s.world(w, first+n)
		w.close()
	}
	t.Logf("%d pairs, %d statements accepted, %d refused", s.pairs, s.statements, s.refusals)
	for _, f := range slices.Sorted(maps.Keys(s.features)) {
		t.Logf("made %5d, accepted %5d, executed %5d: %s", s.features[f].made, s.features[f].accepted, s.features[f].executed, f)
	}
	for _, f := range sqlgen.Forms {
		if n := s.features[f]; want >= 500 && (n == nil || n.executed == 0) {
			t.Errorf("no statement with %s was executed", f)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(s.reached)) {
		t.Logf("reached %.3f of the declared sensitivity: %s", s.reached[kind], kind)
		if s.reached[kind] < 0.99 && want >= 500 {
			t.Errorf("no %s came near its declared sensitivity: the declaration, or this test, is too loose", kind)
		}
	}
}

// A survey counts comparisons.
type survey struct {
	pairs, statements, refusals int
	reached                     map[string]float64
	features                    map[string]*tally
}

// A tally counts statements with a feature, by how far they came.
type tally struct{ made, accepted, executed int }

// world asks one database.
func (s *survey) world(w *world, seed uint64) {
	var plans []*planned
	var sqls []string
	var whole []answer
	for executed := 0; executed < executedPerWorld; {
		st := w.gen.Statement(w.schema)
		p, err := w.plan(st.SQL)
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

// compare checks every measure against its declared sensitivity.
func (s *survey) compare(w *world, what string, p *planned, with, without answer) {
	for _, m := range vectors(with, without) {
		sens := p.sensitivity(m)
		d := distance(with[m], without[m])
		if err := d.within(sens); err != nil {
			w.t.Errorf("%s, vector %+v: %v", what, m, err)
		}
		l2, _ := new(big.Rat).SetFrac(d.l2, sens.L2Squared()).Float64()
		s.reached[p.kind(m)] = max(s.reached[p.kind(m)], l2)
	}
}

func vectors(a, b answer) []vector {
	all := slices.Collect(maps.Keys(a))
	for m := range b {
		if _, ok := a[m]; !ok {
			all = append(all, m)
		}
	}
	return all
}

// norms of a difference: l2 is squared.
type norms struct{ l1, l2, inf *big.Int }

// distance is of vectors whose missing coordinates are zero.
func distance(a, b map[string]*big.Int) norms {
	n := norms{new(big.Int), new(big.Int), new(big.Int)}
	keys := maps.Clone(a)
	if keys == nil {
		keys = map[string]*big.Int{}
	}
	maps.Copy(keys, b)
	for k := range keys {
		d := new(big.Int).Sub(valueOrZero(a, k), valueOrZero(b, k))
		d.Abs(d)
		n.l1.Add(n.l1, d)
		n.l2.Add(n.l2, new(big.Int).Mul(d, d))
		if d.Cmp(n.inf) > 0 {
			n.inf = d
		}
	}
	return n
}

func valueOrZero(v map[string]*big.Int, key string) *big.Int {
	if n, ok := v[key]; ok {
		return n
	}
	return new(big.Int)
}

func (n norms) within(s dp.Sensitivity) error {
	for _, c := range []struct {
		name       string
		got, limit *big.Int
	}{{"l1", n.l1, s.L1()}, {"l2²", n.l2, s.L2Squared()}, {"l∞", n.inf, big.NewInt(s.LInf)}} {
		if c.got.Cmp(c.limit) > 0 {
			return fmt.Errorf("%s changes by %v, more than %v (l0=%d, l∞=%d)", c.name, c.got, c.limit, s.L0, s.LInf)
		}
	}
	return nil
}

// differ tells where two answers differ, or returns "". A partition that is not
// there is a zero.
func differ(a, b answer) string {
	var out []string
	for _, m := range vectors(a, b) {
		if n := distance(a[m], b[m]); n.inf.Sign() != 0 {
			out = append(out, fmt.Sprintf("vector %+v by %v", m, n.inf))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// A declaration that is too small must be seen.
func TestNorms(t *testing.T) {
	cells := func(values ...int64) map[string]*big.Int {
		v := map[string]*big.Int{}
		for i, c := range values {
			v[fmt.Sprint(i)] = big.NewInt(c)
		}
		return v
	}
	for _, c := range []struct {
		a, b map[string]*big.Int
		s    dp.Sensitivity
		ok   bool
	}{
		{cells(7), cells(1), dp.Sensitivity{L0: 1, LInf: 6}, true},
		{cells(7), cells(1), dp.Sensitivity{L0: 1, LInf: 5}, false},
		{cells(7), cells(-1), dp.Sensitivity{L0: 2, LInf: 7}, false},
		{cells(7, 7), nil, dp.Sensitivity{L0: 1, LInf: 7}, false},
		{cells(7, 7), nil, dp.Sensitivity{L0: 2, LInf: 7}, true},
		{nil, cells(3, 0, 3, 3), dp.Sensitivity{L0: 2, LInf: 3}, false},
	} {
		if err := distance(c.a, c.b).within(c.s); (err == nil) != c.ok {
			t.Errorf("%v, %v, %+v: %v", c.a, c.b, c.s, err)
		}
	}
}
