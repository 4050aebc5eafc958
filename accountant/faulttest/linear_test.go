package faulttest_test

import (
	"math"

	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
)

// A window is when a call was under way, as far as its caller has noted that.
type window struct{ start, end int64 }

// windows returns the windows of the calls that append an entry, by the
// operation and its kind of call, and the calls that were denied.
func windows(lives []life) (known map[string]window, denials []accountanttest.Call) {
	known = map[string]window{}
	begin := func(key string, at int64) { known[key] = window{at, math.MaxInt64} }
	end := func(key string, at int64) {
		if w, ok := known[key]; ok {
			known[key] = window{w.start, at}
		}
	}
	for _, l := range lives {
		wanted := map[string]accountanttest.Amounts{}
		for _, e := range l.events {
			switch e.What {
			case intends:
				begin("take "+e.Op, e.At)
				wanted[e.Op] = e.Pico
			case charged:
				end("take "+e.Op, e.At)
			case released:
				if e.ID == 0 { // of a step
					end("take "+e.Op, e.At)
				}
			case settles:
				begin("give "+e.Op, e.At)
			case settled:
				end("give "+e.Op, e.At)
			case denied:
				start := known["take "+e.Op].start
				denials = append(denials, accountanttest.Call{Start: start, End: e.At, Take: wanted[e.Op], Denied: true})
			case opened, unknown, stopped:
			}
		}
	}
	return known, denials
}

// calls turns the workers' notes and the ledger's entries into one history. The
// ledger says which calls of unknown outcome took effect. Where nobody noted
// when that was, the entries before and after say it.
func (a *audit) calls(lives []life) []accountanttest.Call {
	known, calls := windows(lives)
	y := newTally()
	entries := make([]accountanttest.Call, len(a.records))
	for i, r := range a.records {
		before := y.totals()
		w, noted := known[y.key(r.Entry)]
		y.entry(r)
		c := accountanttest.Call{Start: math.MinInt64, End: math.MaxInt64}
		if noted {
			c.Start, c.End = w.start, w.end
		}
		after := y.totals()
		for b := range budgets {
			c.Take[b] = after.taken[b] - before.taken[b]
			c.Raise[b] = after.limit[b] - before.limit[b]
		}
		entries[i] = c
	}
	return append(calls, a.bound(entries)...)
}

// key names the call that appended an entry, as [windows] does.
func (y *tally) key(e history.Entry) string {
	switch e := e.(type) {
	case history.ChargeEntry:
		return "take " + e.Shape
	case history.HoldEntry:
		return "take " + e.Shape
	case history.StepEntry:
		return "take " + e.Events[0]
	case history.SettleEntry:
		return "give " + y.holds[uint64(e.Hold)].op
	case history.BeginEntry, history.LimitsEntry, history.VoidEntry, history.RaiseEntry, history.LowerEntry, history.FreezeEntry,
		history.FenceEntry, history.RestoreEntry, history.UnansweredEntry, history.IncidentEntry, history.ClearEntry, history.NoteEntry,
		history.CheckpointEntry, history.SurveyEntry, history.EpochEntry, history.FormatEntry, history.PolicyEntry, history.RenameEntry,
		history.RetireEntry:
	}
	return ""
}

type totals struct{ limit, taken accountanttest.Amounts }

func (y *tally) totals() (sum totals) {
	for b := range budgets {
		s := scope(b)
		sum.limit[b], sum.taken[b] = y.limit[s], y.spent[s]+y.held[s]
	}
	return sum
}

// bound puts the calls of a ledger's entries, in their order, between those that
// began before and those that ended after. It finds entries whose order
// contradicts the clock.
func (a *audit) bound(entries []accountanttest.Call) []accountanttest.Call {
	latest := int64(math.MinInt64)
	for i := range entries {
		c := &entries[i]
		if c.End < latest {
			a.add("the order contradicts the clock", "entry %d", a.records[i].Seq)
		}
		latest = max(latest, c.Start)
		if c.Start == math.MinInt64 {
			c.Start = latest
		}
	}
	earliest := int64(math.MaxInt64)
	for i := len(entries) - 1; i >= 0; i-- {
		c := &entries[i]
		earliest = min(earliest, c.End)
		if c.End == math.MaxInt64 {
			c.End = earliest
		}
	}
	return entries
}
