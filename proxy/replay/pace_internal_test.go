package replay

import (
	"context"
	"math/big"
	"strings"
	"testing"
	"time"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// TestReplicasTakeTheirTime draws replicas by a clock of which each takes a time: as many as there is time for, all that an interval needs
// if they are done by the hard end, and otherwise none, which is known as soon as the first is there. None are drawn of what is canceled.
func TestReplicasTakeTheirTime(t *testing.T) {
	settings := planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "laplace", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1, Work: 1},
	}
	b := plantest.Block(t, "SELECT sex, count(*) FROM people GROUP BY 1", settings)
	of := &planner.Released{Clips: plantest.NewExact(b.Sets[0]).Uncut()}
	for range b.Sets[0].Size() {
		row := make([]*big.Int, b.Sets[0].Integers())
		for i := range row {
			row[i] = big.NewInt(100)
		}
		of.Rows = append(of.Rows, row)
	}
	plan := &planner.Plan{Blocks: []*planner.BlockPlan{b}}
	const needed = 48
	for _, c := range []struct {
		each        time.Duration
		canceled    bool
		least, most int
	}{
		{0, false, most, most},
		{time.Millisecond, false, most, most},
		{3 * time.Millisecond, false, 90, 100},
		{12 * time.Millisecond, false, needed, needed},
		{160 * time.Millisecond, false, 0, 0},
		{time.Hour, false, 0, 0},
		{0, true, 0, 0},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if c.canceled {
			cancel()
		}
		asked, now := 0, time.Now()
		clock := func() time.Time {
			asked++
			return now.Add(time.Duration(asked) * c.each)
		}
		s := &Statement{width: 2}
		cells, ok := s.Cells(ctx, clock, NewReplicas(plan, [][]*planner.Released{{of}}), 0.05)
		cancel()
		drawn := 0
		if ok {
			drawn = count(t, cells) - 1 - cells.Guessed
		}
		if drawn < c.least || drawn > c.most || !ok && asked > 4 {
			t.Errorf("each takes %v: %d replicas are drawn, the clock was read %d times", c.each, drawn, asked)
		}
	}
}

// TestShiftedTakeTheirTime leaves out what limits may have moved if not all of that is done by the hard end.
func TestShiftedTakeTheirTime(t *testing.T) {
	for each, want := range map[time.Duration]int{0: 100, 60 * time.Millisecond: 100, 61 * time.Millisecond: 0} {
		now, drawn := time.Now(), 0
		p := paced(func() time.Time { return now })
		got := p.several(t.Context(), 100, func(int) [][]string {
			now, drawn = now.Add(each), drawn+1
			return nil
		})
		if len(got) != want || want == 0 && drawn != 1 {
			t.Errorf("each takes %v: %d of 100, %d were drawn", each, len(got), drawn)
		}
	}
}

// count is how many columns there are of the answer and of replicas.
func count(t *testing.T, c Cells) int {
	t.Helper()
	parts := strings.Split(strings.Trim(c.Text, "{}"), `","`)
	if len(c.places) != 2 || c.places[0].same == c.places[1].same {
		t.Fatalf("of the columns %v one differs", c.places)
	}
	return len(parts) - 4 // three numbers, and the column that is the same
}
