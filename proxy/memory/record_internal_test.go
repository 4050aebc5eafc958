package memory

import (
	"encoding/json"
	"math/big"
	"reflect"
	"testing"

	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy/release"
)

func planned(t *testing.T, sql string, target planner.Target) *planner.BlockPlan {
	t.Helper()
	return plantest.Block(t, sql, planner.Settings{
		EpsilonPico: 4 * dp.PicoPerUnit, TypicalPico: dp.PicoPerUnit, DeltaAtto: 1e9, Mechanism: "auto", Alpha: 0.05, Target: target,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
}

// kept returns a set as it is after it was written and read, nil if it is none of the grouping set.
func kept(t *testing.T, s *release.Set, b *planner.BlockPlan) *release.Set {
	t.Helper()
	text, err := json.Marshal(record(s))
	if err != nil {
		t.Fatal(err)
	}
	var back answers.GroupingSet
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	return setOf(back, b.Sets[0])
}

func numbers(all ...int64) (out []*big.Int) {
	for _, n := range all {
		out = append(out, big.NewInt(n))
	}
	return out
}

// TestLimitsComeBack writes and reads releases with limits: they show the same relation.
func TestLimitsComeBack(t *testing.T) {
	measured := func(value int64) []mechanisms.Measurement {
		return []mechanisms.Measurement{{Variance: big.NewInt(1 << 50), Value: big.NewInt(value << 20)}}
	}
	for _, tt := range []struct {
		sql    string
		target planner.Target
		set    *release.Set
	}{
		{"SELECT ward, count(*) FROM visits GROUP BY ward", planner.Target{}, &release.Set{
			Clips: []planner.Clip{{Levels: []int{7}, Tail: numbers(-8, 12, -3, 5)}}, Rows: [][]*big.Int{numbers(100), numbers(-7)},
		}},
		{"SELECT avg(cost) FROM visits", planner.Target{}, &release.Set{
			Clips: []planner.Clip{{Vector: 2, Levels: []int{7, 30}, Tail: numbers(9, 1, 0, 5)}}, Rows: [][]*big.Int{numbers(100, 5000)},
		}},
		{"SELECT reason, count(*) FROM visits GROUP BY reason", planner.Target{}, &release.Set{
			Keys: [][]*string{{new("x")}, {nil}}, Clips: []planner.Clip{{Levels: []int{0}, Tail: numbers(0, 0, 0, 0)}},
			Rows: [][]*big.Int{numbers(100), numbers(7)},
		}},
		{"SELECT ward, count(*) FROM visits GROUP BY ward", planner.Target{Relative: 0.1}, &release.Set{
			Clips: []planner.Clip{{Levels: []int{7}, Tail: numbers(-8, 12, -3, 5)}}, PaidPico: 77,
			Measured: [][][]mechanisms.Measurement{{measured(1000)}, {measured(2)}},
		}},
		{"SELECT sex, count(*) FROM people GROUP BY sex", planner.Target{}, &release.Set{Rows: [][]*big.Int{numbers(100), numbers(-7)}}},
	} {
		b := planned(t, tt.sql, tt.target)
		want, err := tt.set.Released(b.Sets[0])
		if err != nil {
			t.Fatal(err)
		}
		back := kept(t, tt.set, b)
		if back == nil {
			t.Errorf("%s: does not come back", tt.sql)
			continue
		}
		got, err := back.Released(b.Sets[0])
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(back, tt.set) {
			t.Errorf("%s: %+v comes back as %+v, %v", tt.sql, want, got, err)
		}
		if !reflect.DeepEqual(got.Clips, tt.set.Clips) {
			t.Errorf("%s: the relation has the limits %v", tt.sql, got.Clips)
		}
	}
}

// TestForeignLimits refuses limits that are none of the question: of a release before there were limits too.
func TestForeignLimits(t *testing.T) {
	b := planned(t, "SELECT ward, count(*) FROM visits GROUP BY ward", planner.Target{})
	choices := b.Sets[0].Measures[0].Norms[0].Choices
	tail, two := numbers(0, 1, 2, 3), [][]*big.Int{numbers(1), numbers(2)}
	for name, clips := range map[string][]planner.Clip{
		"none":              nil,
		"two":               {{Levels: []int{1}, Tail: tail}, {Levels: []int{1}, Tail: tail}},
		"of another vector": {{Vector: 1, Levels: []int{1}, Tail: tail}},
		"of two norms":      {{Levels: []int{1, 1}, Tail: tail}},
		"of no norm":        {{Tail: tail}},
		"too large":         {{Levels: []int{choices}, Tail: tail}},
		"below all":         {{Levels: []int{-1}, Tail: tail}},
		"without numbers":   {{Levels: []int{1}}},
		"with two numbers":  {{Levels: []int{1}, Tail: tail[:2]}},
		"with three, once":  {{Levels: []int{1}, Tail: tail[1:]}},
	} {
		if s := kept(t, &release.Set{Clips: clips, Rows: two}, b); s != nil {
			t.Errorf("limits %s are taken: %+v", name, s.Clips)
		}
	}
	without := planned(t, "SELECT sex, count(*) FROM people GROUP BY sex", planner.Target{})
	if s := kept(t, &release.Set{Clips: []planner.Clip{{Levels: []int{0}}}, Rows: two}, without); s != nil {
		t.Errorf("limits of what has none are taken: %+v", s.Clips)
	}
	fixed := plantest.Block(t, "SELECT ward, count(*) FROM visits GROUP BY ward", planner.Settings{
		EpsilonPico: dp.PicoPerUnit, Mechanism: "gaussian", Alpha: 0.05, MaxRows: 20, Contribution: planner.FixedContribution,
		Limits: policy.Limits{PublicFanout: 1, Work: 1},
	})
	at := fixed.Sets[0].Measures[0].Norms[0].Fixed
	for level := range at + 2 {
		s := kept(t, &release.Set{Clips: []planner.Clip{{Levels: []int{level}, Tail: tail}}, Rows: two}, fixed)
		if (s != nil) != (level == at) {
			t.Errorf("of a public limit at %d level %d is taken: %t", at, level, s != nil)
		}
	}
}

// TestOwed holds that who is shown a release with limits owes what it has cost, limits and all.
func TestOwed(t *testing.T) {
	b := planned(t, "SELECT ward, count(*) FROM visits GROUP BY ward", planner.Target{})
	if got, want := owedFor([]*release.Set{{}}, b, nil), b.Event(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v is owed for %v", got, want)
	}
}
