package planner_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"dpproxy/contribution"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// Of an average of counts, one of each unit, the limit takes from the sum alone: what it leaves out is above
// the interval, divided by the number of units, and none of the units is left out.
func TestAverageOfCounts(t *testing.T) {
	const sql = "SELECT avg(n), dp.lower(avg(n)), dp.upper(avg(n)) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t"
	b := planWith(t, connect(t), clinic(t), sql, func(s *planner.Settings) { s.Mechanism, s.Contribution = "gaussian", "auto" }).Blocks[0]
	sum, count := b.Sets[0].MeasureOf(0), b.Sets[0].MeasureOf(1)
	if sum.Tail == nil || count.Tail != nil || count.Norms[0].Choice != nil {
		t.Fatalf("the sum is %+v, and the count %+v", sum, count)
	}
	const units, total, level, beyond = 1000, 5000, 6, 190 // of the case in cuts
	clips := []planner.Clip{
		{Levels: []int{level}, Tail: []*big.Int{big.NewInt(5000), big.NewInt(900), big.NewInt(300), big.NewInt(24)}},
		{Levels: []int{0}},
	}
	row := [][]*big.Int{{big.NewInt(total), big.NewInt(units)}}
	released := []*planner.Released{{Rows: row, Clips: clips}}
	bar := b.Errors(released)[0]
	if want := beyond / float64(units); bar.Beyond < 0.9*want || bar.Beyond > 1.1*want {
		t.Errorf("limits leave out %v, want about %v", bar.Beyond, want)
	}
	ends := numbersOf(t, b, released)[1:]
	const mean = float64(total) / units
	if got := mean - ends[0]; math.Abs(got-bar.Most) > 1e-9 {
		t.Errorf("the lower end is %v below, want the noise, %v", got, bar.Most)
	}
	if got := ends[1] - mean; math.Abs(got-bar.Most-bar.Beyond) > 1e-9 {
		t.Errorf("the upper end is %v above, want %v and %v", got, bar.Most, bar.Beyond)
	}
}

// numbersOf returns the columns of one row.
func numbersOf(t *testing.T, b *planner.BlockPlan, released []*planner.Released) []float64 {
	t.Helper()
	var out []float64
	for _, column := range b.Columns(released) {
		var x float64
		if _, err := fmt.Sscanf(column, `{"%g"}`, &x); err != nil {
			t.Fatalf("%s: %v", column, err)
		}
		out = append(out, x)
	}
	return out
}

// A visitor is a unit of an average of costs: how many visits it has, and what each costs.
type visitor struct{ visits, cost int64 }

// visitors have numbers of visits that fall by a third from one to the next, and costs by these.
func visitors(cost func(visits int64) int64) []visitor {
	var all []visitor
	for visits, left := int64(1), 3000; left > 0; visits++ {
		for range (left + 2) / 3 {
			all = append(all, visitor{visits, cost(visits)})
		}
		left -= (left + 2) / 3
	}
	return all
}

// TestAverageBeyond has units above both limits of an average, which are as others, dearer, or cheaper: the interval holds
// the mean of all, which in the latter two the noise alone does not.
func TestAverageBeyond(t *testing.T) {
	const sql = "SELECT avg(cost), dp.lower(avg(cost)), dp.upper(avg(cost)), dp.stderr(avg(cost)) FROM visits"
	b := planWith(t, connect(t), clinic(t), sql, func(s *planner.Settings) {
		s.Mechanism, s.Contribution, s.EpsilonPico = "gaussian", "auto", 100*s.EpsilonPico
	}).Blocks[0]
	for _, c := range []struct {
		name  string
		cost  func(visits int64) int64
		alone bool // the noise is enough
	}{
		{"alike", func(int64) int64 { return 500 }, true},
		{"dearer", func(visits int64) int64 { return 100 * visits }, false},
		{"cheaper", func(visits int64) int64 { return 1000 / visits }, false},
	} {
		all := visitors(c.cost)
		released, mean := averaged(t, b, all)
		row := numbersOf(t, b, released)
		got, low, high, noise := row[0], row[1], row[2], row[3]
		t.Logf("%s: %v, from %v to %v, noise %v, in truth %v", c.name, got, low, high, noise, mean)
		if mean < low || high < mean {
			t.Errorf("%s: the mean %v is not within %v and %v", c.name, mean, low, high)
		}
		if within := math.Abs(got-mean) < 4*noise; within != c.alone {
			t.Errorf("%s: the mean %v is within the noise %v of %v: %t", c.name, mean, noise, got, within)
		}
	}
}

// averaged returns what is released of units without noise, cut to four visits and 4000 in all, and the mean of all
// of their visits.
func averaged(t *testing.T, b *planner.BlockPlan, all []visitor) ([]*planner.Released, float64) {
	t.Helper()
	set := b.Sets[0]
	m := set.Measures[0]
	level := func(norm int, size int64) int {
		j := 0
		for j < m.Norms[norm].Grid.Len() && m.Norms[norm].Grid.Limit(j) < float64(size) {
			j++
		}
		return j
	}
	const perUnit = 200 // half steps of a cent
	clip := planner.Clip{Levels: []int{level(0, 4), level(1, 4000*perUnit)}}
	var units, counts, sums contribution.Cells
	var visits, cost int64
	for _, u := range all {
		s := u.visits * u.cost
		levels := []int{level(0, u.visits), level(1, s*perUnit)}
		units.Add(levels, big.NewInt(1), nil)
		counts.Add(levels, big.NewInt(u.visits), nil)
		sums.Add(levels, big.NewInt(s*perUnit), nil)
		visits, cost = visits+u.visits, cost+s
	}
	for _, n := range m.TailUnits(clip, &units) {
		clip.Tail = append(clip.Tail, shown(n, 0))
	}
	clips := []planner.Clip{clip}
	var row []*big.Int
	for i, cells := range []*contribution.Cells{&counts, &sums} {
		row = append(row, shown(set.Bounded(i, clips, cells), set.Noise(i, clips).Bits))
	}
	return []*planner.Released{{Rows: [][]*big.Int{row}, Clips: clips}}, float64(cost) / float64(visits)
}

// exactly is a mechanism without noise.
type exactly struct{ mechanisms.Mechanism }

func (exactly) Sample(z *big.Int, _ mechanisms.Source) *big.Int { return z.SetInt64(0) }

func shown(n mechanisms.Private, bits uint) *big.Int {
	return contribution.Noise{Bits: bits}.Shown(mechanisms.Release(exactly{}, nil, n).Int())
}

// TestColumns refuses, before anything is read, more averages than one SELECT of Postgres has columns for, and takes
// as many as it has.
func TestColumns(t *testing.T) {
	averages := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf("avg(cost + %d)", i))
		}
		return "SELECT " + strings.Join(all, ", ") + " FROM visits"
	}
	conn, cat := connect(t), clinic(t)
	run(t, conn, "BEGIN; DELETE FROM visits WHERE id > 10") // rows cost much, and columns are what matters
	settings := planner.Settings{
		EpsilonPico: 100 * dp.PicoPerUnit, Mechanism: "gaussian", Contribution: "auto", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	}
	for _, tt := range []struct {
		averages int
		refused  bool
	}{{130, false}, {140, true}} {
		q := analyzed(t, cat, averages(tt.averages))
		values := evaluate(t, conn, q, nil, nil)
		p, err := q.Specialize(nil, values, settings)
		if refusal, ok := errors.AsType[*pgerr.Error](err); ok != tt.refused || ok && refusal.Code != pgerr.ProgramLimitExceeded {
			t.Fatalf("%d averages: %v", tt.averages, err)
		}
		if err == nil {
			specialized{p, values}.read(t, conn)
		}
	}
}
