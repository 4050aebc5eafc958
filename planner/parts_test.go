package planner_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/planner"
)

// TestPartsOfBlocks holds that the parts of a block are all that it releases, each once; that each part is the same question in whichever
// statement it stands; and that a block without some of its parts reads the exact numbers of the others.
func TestPartsOfBlocks(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	aggregates := []string{
		"count(*)", "sum(cost)", "avg(cost)", "stddev(steps)", "count(*) FILTER (WHERE cost > 7)", "count(DISTINCT hospital_id)",
		"percentile_cont(0.5) WITHIN GROUP (ORDER BY steps)", "max(cost)",
	}
	for _, form := range []string{"SELECT %s FROM visits", "SELECT diagnosis, %s FROM visits WHERE cost > 5 GROUP BY 1"} {
		asked := map[string]string{} // the aggregate of a part's question
		for _, of := range aggregates {
			p := plan(t, conn, cat, fmt.Sprintf(form, of))
			for _, part := range planner.PartsOf(p.Blocks[0]) {
				asked[fmt.Sprintf("%q", part.Question())] = of
			}
		}
		p := plan(t, conn, cat, fmt.Sprintf(form, strings.Join(aggregates, ", ")))
		b := p.Blocks[0]
		parts := planner.PartsOf(b)
		var events []string
		for _, part := range parts {
			if asked[fmt.Sprintf("%q", part.Question())] == "" {
				t.Errorf("%s: a part is none of an aggregate alone", form)
			}
			for _, e := range part.Event() {
				events = append(events, fmt.Sprint(e))
			}
		}
		var all []string
		for _, e := range b.Event() {
			all = append(all, fmt.Sprint(e))
		}
		slices.Sort(events)
		slices.Sort(all)
		if !slices.Equal(events, all) {
			t.Errorf("%s: the parts release\n%q, and the block\n%q", form, events, all)
		}
		exact := p.read(t, conn)[0]
		whole, apart := exact.Released(exact.Uncut()), make([]*planner.Released, len(parts))
		for n := range parts {
			known := slices.Repeat([]bool{true}, len(parts))
			known[n] = false
			left, err := planner.Without(b, known)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(left.Event()) != fmt.Sprint(parts[n].Event()) {
				t.Errorf("%s: without the others part %d releases\n%v, and itself\n%v", form, n, left.Event(), parts[n].Event())
			}
			own := *p.Plan
			own.Blocks = []*planner.BlockPlan{left}
			exact := specialized{&own, p.values}.read(t, conn)[0]
			apart[n] = exact.Released(exact.Uncut())
		}
		if got := planner.Merged(parts, apart); fmt.Sprint(got.Rows) != fmt.Sprint(whole.Rows) {
			t.Errorf("%s: the exact numbers of parts are others than those of the block", form)
		}
	}
}

// TestMergedParts divides a relation among its parts, and puts it together again.
func TestMergedParts(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	const sql = "SELECT diagnosis, count(*), avg(cost), stddev(steps) FROM visits GROUP BY 1"
	b := plan(t, conn, cat, sql).Blocks[0]
	released := &planner.Released{Clips: make([]planner.Clip, len(b.Sets[0].Measures))}
	for i := range released.Clips {
		released.Clips[i].Vector = i
	}
	for row := range b.Sets[0].Shows() {
		var ints []*big.Int
		for i := range b.Sets[0].Integers() {
			ints = append(ints, big.NewInt(int64(100*row+i)))
		}
		released.Rows = append(released.Rows, ints)
	}
	var split []*planner.Released
	for n := range planner.PartsOf(b) {
		split = append(split, planner.Split(planner.PartsOf(b), released)[n])
	}
	if got := planner.Merged(planner.PartsOf(b), split); fmt.Sprint(got) != fmt.Sprint(released) {
		t.Errorf("%v are put together as %v", released, got)
	}
}

// TestChosenWithoutNoise holds that what tests take for the exact answer of a block that chooses is one answer, and that of Postgres.
func TestChosenWithoutNoise(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	const sql = "SELECT diagnosis, mode() WITHIN GROUP (ORDER BY diagnosis) FROM visits GROUP BY 1"
	p := plan(t, conn, cat, sql)
	exact := p.read(t, conn)[0]
	first := fmt.Sprint(exact.Released(exact.Uncut()).Rows)
	for range 40 {
		if again := fmt.Sprint(exact.Released(exact.Uncut()).Rows); again != first {
			t.Fatalf("%s: %s, and %s", sql, first, again)
		}
	}
	for i, row := range exact.Released(exact.Uncut()).Rows {
		if row[0].Sign() > 0 && row[1].Int64() != int64(i) {
			t.Errorf("the mode of group %d is %v", i, row)
		}
	}
}

// TestSettingsOfParts holds that a part is another question with other settings for limits, and with another kind of noise.
func TestSettingsOfParts(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	seen := map[string]string{}
	for what, change := range map[string]func(*planner.Settings){
		"nothing":       func(*planner.Settings) {},
		"rows":          func(s *planner.Settings) { s.MaxRows = 3 },
		"partitions":    func(s *planner.Settings) { s.MaxPartitions = 1 },
		"the sum":       func(s *planner.Settings) { s.MaxSum = big.NewRat(77, 1) },
		"a second look": func(s *planner.Settings) { s.LimitRetry = true },
		"chosen limits": func(s *planner.Settings) { s.Contribution = "auto" },
		"the noise":     func(s *planner.Settings) { s.Mechanism = "gaussian" },
	} {
		for _, sql := range []string{"SELECT diagnosis, sum(cost) FROM visits GROUP BY 1", "SELECT count(*) FROM patients"} {
			p := planWith(t, conn, cat, sql, change)
			for _, part := range planner.PartsOf(p.Blocks[0]) {
				question := fmt.Sprintf("%q", part.Question())
				if other, ok := seen[question]; ok {
					t.Errorf("%s asks the same with other settings for %s as for %s", sql, what, other)
				}
				seen[question] = what
			}
		}
	}
	if len(seen) < 14 {
		t.Errorf("%d questions", len(seen))
	}
}
