package redisledger_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/redisledger"
	"dpproxy/dp"
)

// TestEarlierVoids opens a ledger of an earlier version, which could take charges back: of five
// charges, those of the entries 4, 8 and 9, the last two after a checkpoint. The process was
// killed while it held 23 of 30. One proxy has its journal, another none; and the repair has the
// journal alone.
func TestEarlierVoids(t *testing.T) {
	s := startRedis(t)
	text, err := os.ReadFile("testdata/voids/redis.json")
	if err != nil {
		t.Fatal(err)
	}
	var hash map[string]string
	if err := json.Unmarshal(text, &hash); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ hash, journal bool }{
		"with its journal": {true, true}, "without a journal": {true, false}, "put back from its journal": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.options(t)
			if c.hash {
				s.restore(t, o, hash)
			}
			if c.journal {
				if err := os.CopyFS(o.Dir, os.DirFS("testdata/voids/journal")); err != nil {
					t.Fatal(err)
				}
			}
			if !c.hash {
				rep, err := redisledger.RepairFrom(t.Context(), o, []string{o.Dir}, "carol", "Redis was lost")
				if err != nil || rep.PutBack != 14 {
					t.Fatalf("%+v, %v", rep, err)
				}
			}
			l := open(t, o, accountanttest.Limits())
			if !c.journal { // the run of the process that was killed goes on until it is fenced
				end := history.FenceEntry{Boot: "H6VKVZKP2T3YDKQNFHOT3J742Z", Who: "carol", Reason: "killed"}
				if err := l.Decide(t.Context(), end); err != nil {
					t.Fatal(err)
				}
			}
			spent := []dp.Loss{accountanttest.ZCDP(19, 1), accountanttest.ZCDP(12, 1), accountanttest.Pure(6)}
			if got := accountanttest.Spent(t, l); !slices.Equal(got, spent) {
				t.Errorf("spent %v, want %v", got, spent)
			}
			if err := l.Decide(t.Context(), history.VoidEntry{Charge: 14}); err == nil {
				t.Error("a charge was taken back by decision")
			}
			chargeUnit(t, l, 81) // all that is left
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			var voids, entries int
			r, err := redisledger.OpenReader(t.Context(), o, func(r history.Record) {
				entries++
				if _, is := r.Entry.(history.VoidEntry); is {
					voids++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := accountanttest.Spent(t, r)[0]; got != accountanttest.ZCDP(100, 1) || voids != 3 || entries < 14+81 {
				t.Errorf("spent %v, with %d charges taken back in %d entries", got, voids, entries)
			}
		})
	}
}
