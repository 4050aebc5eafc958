package history_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// TestSnapshotGoesOn takes random steps and takes others back, restores the state
// from its snapshot in between, and expects both to go on alike.
func TestSnapshotGoesOn(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s, restored := newState(t), newState(t)
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			before := snapshot(t, s)
			s.Try()
			for range rapid.IntRange(0, 4).Draw(r, "tried") {
				e := drawEntry(t, r, s)
				_ = s.Apply(by(e), e)
			}
			s.Rollback()
			if !bytes.Equal(before, snapshot(t, s)) {
				r.Fatalf("after a rollback:\n%s\n%s", before, snapshot(t, s))
			}
			e := drawEntry(t, r, s)
			first, second := s.Apply(by(e), e), restored.Apply(by(e), e)
			if (first == nil) != (second == nil) {
				r.Fatalf("%+v: %v, and after a restart %v", e, first, second)
			}
			text := snapshot(t, s)
			if !bytes.Equal(text, snapshot(t, restored)) {
				r.Fatalf("after %+v:\n%s\n%s", e, text, snapshot(t, restored))
			}
			if rapid.Bool().Draw(r, "restart") {
				var err error
				if restored, err = history.Restore(text); err != nil {
					r.Fatal(err)
				}
			}
		}
	})
}

func snapshot(t *testing.T, s *history.State) []byte {
	t.Helper()
	text, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func drawEntry(t *testing.T, r *rapid.T, s *history.State) history.Entry {
	id := accountant.ChargeID(rapid.Uint64Range(1, s.Seq()+1).Draw(r, "id"))
	loss := pure(t, rapid.Int64Range(0, 9).Draw(r, "loss"))
	asked, held := accountant.Charge(chargeAnn(loss)), accountant.Charge(chargeAnn(loss))
	asked.Question, held.Question = "q", "q"
	if paid := s.Prepaid("q"); rapid.Bool().Draw(r, "again") {
		asked.Prepaid, held.Prepaid = paid, paid
	}
	return rapid.SampledFrom([]history.Entry{
		history.ChargeEntry(asked),
		history.HoldEntry(held),
		history.UnansweredEntry{Charge: id},
		chargeAnn(loss),
		history.VoidEntry{Charge: id},
		history.HoldEntry(chargeAnn(loss)),
		history.SettleEntry{Hold: id},
		history.StepEntry{Hold: id, Debits: []accountant.Debit{{Scope: ann, Loss: loss}}},
		history.IncidentEntry{Charge: id, Analyst: "ann"},
		history.ClearEntry{Reason: "why"},
		history.FreezeEntry{Scope: ann, Frozen: rapid.Bool().Draw(r, "frozen"), Who: "carol", Reason: "why"},
		history.BeginEntry{Boot: "second"},
		history.FenceEntry{Boot: "second", Who: "carol", Reason: "why"},
		history.LowerEntry{Limit: accountant.Limit{Scope: ann, Loss: pure(t, 49)}, Who: "carol", Reason: "why"},
	}).Draw(r, "entry")
}

func TestCheckpoint(t *testing.T) {
	s := newState(t)
	mustApply(t, s, chargeAnn(pure(t, 7)))
	digest := history.Digest(snapshot(t, s))
	wantRefused(t, s, history.CheckpointEntry{Digest: history.Digest(nil)}, nil)
	mustApply(t, s, history.CheckpointEntry{Digest: digest})
	wantRefused(t, s, history.CheckpointEntry{Digest: digest}, nil) // it counts entries, too
}

func TestRestoreRefuses(t *testing.T) {
	s := newState(t)
	mustApply(t, s, history.HoldEntry(chargeAnn(pure(t, 7))))
	good := snapshot(t, s)
	if _, err := history.Restore(good); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"nothing":        nil,
		"more after it":  append(bytes.Clone(good), '1'),
		"spaces":         append([]byte(" "), good...),
		"a field":        bytes.Replace(good, []byte(`{"seq"`), []byte(`{"x":1,"seq"`), 1),
		"a negative sum": bytes.Replace(good, []byte(`"held":{"pico":7`), []byte(`"held":{"pico":-7`), 1),
		"no measure":     bytes.Replace(good, []byte(`"pure"`), []byte(`""`), 1),
	} {
		if _, err := history.Restore(bad); err == nil {
			t.Errorf("%s: restored %s", name, bad)
		}
	}
}
