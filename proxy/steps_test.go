package proxy_test

import (
	"context"
	"slices"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// traced is a ledger that notes at which steps of the path it is asked to debit.
type traced struct {
	accountant.Ledger

	step    string
	may     bool
	debited []string
	wrong   []string
}

func (l *traced) debit() {
	l.debited = append(l.debited, l.step)
	if !l.may {
		l.wrong = append(l.wrong, l.step)
	}
}

func (l *traced) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	l.debit()
	return l.Ledger.Charge(ctx, c)
}

func (l *traced) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	l.debit()
	return l.Ledger.Hold(ctx, c)
}

func (l *traced) Step(ctx context.Context, id accountant.ChargeID, events []string, debits []accountant.Debit) error {
	l.debit()
	return l.Ledger.Step(ctx, id, events, debits)
}

// TestSteps follows statements along their path: the steps come in their order, and the ledger
// debits at the steps that may charge alone.
func TestSteps(t *testing.T) {
	ledger := &traced{}
	var steps []string
	w := accurate(t, func(cfg *proxy.Config) {
		ledger.Ledger, cfg.Ledger = cfg.Ledger, ledger
		cfg.Defaults.EpsilonPico = dp.PicoPerUnit
	}, large(t))
	w.proxy.Trace(func(name string, charges, _ bool) {
		steps = append(steps, name)
		ledger.step, ledger.may = name, charges
	})
	ana := w.client(t, "ana")
	before := []string{"resolve", "prelude", "describe", "plan", "recall"}
	drawn := []string{"open", "reserve", "read", "release", "leave", "settle", "remember", "rewrite"}
	for _, c := range []struct {
		sql      string
		settings []string
		steps    []string
		debits   []string
	}{
		{"SELECT count(*) FROM patients", nil, slices.Concat(before, drawn), []string{"reserve"}},
		{"SELECT count(*) FROM patients", nil, append(slices.Clone(before), "reserve", "leave", "settle", "rewrite"), nil},
		{ // both are planned before the first is charged, and the body is drawn when its binding is paid for
			"SELECT count(*) FROM patients WHERE birth_year > (SELECT avg(birth_year) FROM patients)", nil,
			slices.Concat([]string{"let"}, before, before, before, drawn, before, drawn),
			[]string{"reserve"},
		},
		{
			"SELECT count(*) FROM patients WHERE birth_year > 1950",
			[]string{"dp.relative_error = 0.05"},
			slices.Concat(before, drawn),
			[]string{"reserve", "release"},
		},
	} {
		ana.set(t, c.settings...)
		steps, ledger.debited = nil, nil
		ana.number(t, c.sql)
		if !slices.Equal(slices.Compact(steps), c.steps) {
			t.Errorf("%s: the steps are %v, want %v", c.sql, steps, c.steps)
		}
		if !slices.Equal(slices.Compact(ledger.debited), c.debits) {
			t.Errorf("%s: debited at %v, want %v", c.sql, ledger.debited, c.debits)
		}
	}
	if ledger.wrong != nil {
		t.Errorf("debited at %v", ledger.wrong)
	}
}
