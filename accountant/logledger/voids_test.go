package logledger_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/accountanttest"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/dp"
)

// TestEarlierVoids opens a ledger of an earlier version, which could take charges back: of five
// charges, those of the entries 4, 8 and 9. The last two were taken back after the checkpoint,
// entry 10, so that they are in the snapshot. The process was killed while it held 23 of 30.
func TestEarlierVoids(t *testing.T) {
	for name, withSnapshot := range map[string]bool{"from its snapshot": true, "whole": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS("testdata/voids")); err != nil {
				t.Fatal(err)
			}
			if !withSnapshot {
				if err := os.Remove(filepath.Join(dir, "ledger.snapshot")); err != nil {
					t.Fatal(err)
				}
			}
			wantVoids(t, dir, 4, 8, 9)
			var said strings.Builder
			l, err := logledger.Open(t.Context(), dir, accountanttest.Limits(),
				logledger.Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if said.Len() > 0 {
				t.Errorf("Open said %s", &said)
			}
			spent := []dp.Loss{accountanttest.ZCDP(19, 1), accountanttest.ZCDP(12, 1), accountanttest.Pure(6)}
			if got := accountanttest.Spent(t, l); !slices.Equal(got, spent) {
				t.Errorf("spent %v, want %v", got, spent)
			}
			incident := accountant.Incident{Charge: 3, Analyst: "ann", Shape: "other"}
			if got, err := l.Incidents(t.Context()); err != nil || !slices.Equal(got, []accountant.Incident{incident}) {
				t.Errorf("incidents %v, %v", got, err)
			}
			if err := l.Decide(t.Context(), history.VoidEntry{Charge: 14}); err == nil {
				t.Error("a charge was taken back by decision")
			}
			if _, err := l.Charge(t.Context(), charge(44)); err != nil { // all that is left
				t.Errorf("Charge: %v", err)
			}
			mustClose(t, l)
			l = mustOpen(t, dir, accountanttest.Limits())
			wantBalance(t, l, 50, 50)
			wantVoids(t, dir, 4, 8, 9)
		})
	}
}

// wantVoids verifies the ledger in a directory, and expects these charges to be taken back in it.
func wantVoids(t *testing.T, dir string, want ...accountant.ChargeID) {
	t.Helper()
	verify(t, dir)
	var voids []accountant.ChargeID
	for r, err := range logledger.Entries(t.Context(), dir) {
		if err != nil {
			t.Fatal(err)
		}
		if v, is := r.Entry.(history.VoidEntry); is {
			voids = append(voids, v.Charge)
		}
	}
	if !slices.Equal(voids, want) {
		t.Errorf("the charges %v were taken back, want %v", voids, want)
	}
}
