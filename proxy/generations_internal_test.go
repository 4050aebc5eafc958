package proxy

import (
	"context"
	"math/big"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// TestLastGeneration finds the last of any number of generations in a few looks, and stays
// right where one is forgotten meanwhile.
func TestLastGeneration(t *testing.T) {
	for n := range mostGenerations + 1 {
		gets := 0
		m := &blockMemory{}
		found := m.last(func(g int) *answers.Answer {
			if gets++; g >= n {
				return nil
			}
			return &answers.Answer{Rows: [][]*big.Int{{big.NewInt(int64(g))}}}
		})
		if m.generation != n-1 || (found == nil) != (n == 0) || n > 0 && found.Rows[0][0].Int64() != int64(n-1) {
			t.Fatalf("of %d generations the last is %d, %v", n, m.generation, found)
		}
		if gets > 21 {
			t.Errorf("%d generations are found in %d looks", n, gets)
		}
	}
}

// TestPaymentsComeBack writes and reads payments.
func TestPaymentsComeBack(t *testing.T) {
	parts := []*measurement{{paidPico: 5}, {paidPico: 7}}
	p := payments{}.with([]string{"ana", "bob"}, parts).without("ana")
	read := payments{}
	for _, row := range p.rows() {
		if !read.read(row, 2) {
			t.Fatalf("%v is none", row)
		}
	}
	if got := read[payerOf("bob")]; !slices.Equal(got, []int64{5, 7}) || read[payerOf("ana")] != nil {
		t.Errorf("read %v", read)
	}
	for _, bad := range [][]*big.Int{nil, {big.NewInt(1)}, {big.NewInt(-1), big.NewInt(1), big.NewInt(1)}, {big.NewInt(1), big.NewInt(-1), big.NewInt(1)}} {
		if read.read(bad, 2) {
			t.Errorf("%v is taken", bad)
		}
	}
}

// paidLedger notes what steps pay.
type paidLedger struct {
	accountant.Ledger

	paid int64
}

func (l *paidLedger) Step(_ context.Context, _ accountant.ChargeID, _ []string, debits []accountant.Debit) error {
	for _, d := range debits {
		l.paid += d.Loss.Pico()
	}
	return nil
}

// TestPartsWithoutChain holds that what is released at once beside chains is paid before it
// is read.
func TestPartsWithoutChain(t *testing.T) {
	noise, err := mechanisms.GaussianFor(dp.Sensitivity{L0: 1, LInf: 1}, 1e9)
	if err != nil {
		t.Fatal(err)
	}
	l := &paidLedger{}
	c := &chains{
		a:       &answer{p: &Proxy{cfg: Config{Ledger: l}, prices: &prices{}}},
		plan:    &planner.Plan{},
		memory:  &memory{known: &known{}},
		parts:   []*chainPart{{part: &planner.Part{Mechanisms: []mechanisms.Mechanism{noise, noise}}}},
		receipt: &receipt{debits: []accountant.Debit{{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}, Loss: dp.Zero(dp.ZCDP)}}},
	}
	if err := c.payFirst(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.paid < 19e8 || l.paid > 2e9 {
		t.Errorf("two releases of ρ = 0.001 are paid with %d", l.paid)
	}
}
