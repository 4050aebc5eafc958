package faulttest_test

import (
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// TestTally gives the checks of a ledger's entries ledgers that break the rules.
func TestTally(t *testing.T) {
	take := func(op string, pico int64) accountant.Charge { return charge(op, [budgets]int64{0, pico}) }
	limit := func(pico int64) []accountant.Limit { return []accountant.Limit{{Scope: scope(1), Loss: loss(pico)}} }
	step := func(op string, pico int64) history.Entry {
		return history.StepEntry{Hold: 3, Events: []string{op}, Debits: debits([budgets]int64{0, pico})}
	}
	hold := history.HoldEntry(take("hold", 6))
	for want, entries := range map[string][]history.Entry{
		"": {
			hold, step("one", 4),
			history.SettleEntry{Hold: 3},
			history.HoldEntry(take("two", 6)),
			history.SettleEntry{Hold: 6},
			history.ChargeEntry(take("three", 6)),
			history.RaiseEntry{Limit: limit(20)[0], Who: "carol", Reason: "why not"},
			history.ChargeEntry(take("four", 10)),
			history.FenceEntry{Boot: "run"},
		},
		"a limit was exceeded":                {hold, history.ChargeEntry(take("two", 5))},
		"a limit rose without a decision":     {history.LimitsEntry(limit(11))},
		"a limit rose without a reason":       {history.RaiseEntry{Limit: limit(11)[0], Who: "carol"}},
		"charged twice":                       {history.ChargeEntry(take("one", 1)), history.ChargeEntry(take("one", 1))},
		"a charge of a run that has ended":    {history.FenceEntry{}, history.ChargeEntry(take("one", 1))},
		"a step of more than was held":        {hold, step("one", 4), step("two", 3)},
		"a step of no hold":                   {hold, history.SettleEntry{Hold: 3}, step("one", 1)},
		"a settle of no hold":                 {hold, history.SettleEntry{Hold: 3}, history.SettleEntry{Hold: 3}},
		"a charge was taken back":             {history.ChargeEntry(take("one", 1)), history.VoidEntry{Charge: 3}},
		"balances differ from the replay (1)": {history.ChargeEntry(take("one", 1)), history.FenceEntry{Boot: "run"}, history.NoteEntry{}},
	} {
		y := newTally()
		for i, e := range append([]history.Entry{history.BeginEntry{Boot: "run"}, history.LimitsEntry(limit(10))}, entries...) {
			y.entry(history.Record{Seq: uint64(i + 1), Run: "run", Entry: e})
		}
		spent := y.spent[scope(1)]
		if strings.HasPrefix(want, "balances") {
			spent++
		}
		y.balances([]accountant.Balance{
			{Scope: scope(1), Limit: loss(y.limit[scope(1)]), Spent: loss(spent), Held: loss(y.held[scope(1)])},
		})
		if got := y.kinds(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}

// TestOutputs gives the check of the workers' answers workers that break the rules.
func TestOutputs(t *testing.T) {
	for want, events := range map[string][]event{
		"":                          {{What: released, Op: "kept", ID: 3}, {What: settled, Op: "hold"}, {What: denied, Op: "none"}},
		"answered without a charge": {{What: released, Op: "none"}},
		"answered twice":            {{What: released, Op: "kept"}, {What: released, Op: "kept"}},
		"acknowledged as another":   {{What: released, Op: "kept", ID: 4}},
		"denied and charged":        {{What: denied, Op: "kept"}},
		"a settle is lost":          {{What: settled, Op: "kept"}},
	} {
		a := &audit{tally: newTally()}
		a.ops, a.settled = map[string]uint64{"kept": 3, "hold": 4}, map[string]bool{"hold": true}
		a.outputs([]life{{events: events}})
		if got := a.kinds(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("found %q, want %q", got, want)
		}
	}
}
