package sitetest

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
)

// A Meter counts the charges that a step of a test records.
type Meter struct {
	t    *testing.T
	s    *Site
	last int
}

// NewMeter makes a meter of a ledger in files.
func NewMeter(t *testing.T, s *Site) *Meter {
	t.Helper()
	n, _ := Charges(t, s)
	return &Meter{t, s, n}
}

// Ticks fails the test unless so many charges were recorded since it was asked last.
func (m *Meter) Ticks(what string, want int) {
	m.t.Helper()
	n, _ := Charges(m.t, m.s)
	if n-m.last != want {
		m.t.Errorf("%s: %d charges, want %d", what, n-m.last, want)
	}
	m.last = n
}

// Charges reads the entries of a ledger in files: the number of charges that debit a budget, and the sum of their
// debits of the privacy unit, in picos.
func Charges(t *testing.T, s *Site) (n int, spent int64) {
	t.Helper()
	for rec, err := range logledger.Entries(t.Context(), s.Dir+"/ledger") {
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := rec.Entry.(history.ChargeEntry); ok && len(c.Debits) > 0 {
			n++
			for _, d := range c.Debits {
				if d.Scope.Kind == accountant.UnitScope {
					spent += d.Loss.Pico()
				}
			}
		}
	}
	return n, spent
}

// A Balance is one budget, as "dpproxy budget list -o json" prints it.
type Balance struct {
	Kind, Name, Measure           string
	Limit, Spent, Held, Remaining json.Number
	DeltaLimit                    json.Number `json:"delta_limit"`
	DeltaRemaining                json.Number `json:"delta_remaining"`
	PolicyLimit                   json.Number `json:"policy_limit"`
	Frozen                        bool
}

// UnitSpent returns the loss that the unit has spent, as a decimal number.
func (s *Site) UnitSpent(t *testing.T) string {
	t.Helper()
	var all []Balance
	s.JSON(t, &all, "budget", "list", s.Policy)
	for _, b := range all {
		if b.Kind == "unit" {
			return b.Spent.String()
		}
	}
	t.Fatalf("no unit among %+v", all)
	return ""
}

// Journal is the folder of the journal of a proxy on Redis.
func (s *Site) Journal() string { return filepath.Join(filepath.Dir(s.Policy), "journal") }
