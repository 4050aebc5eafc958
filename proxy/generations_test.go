package proxy_test

import (
	"context"
	"math/big"
	"math/rand/v2"
	"testing"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// forgetful is a store that loses answers, misses some that it has, as where two proxies race.
// It notes which answer the last statement went by.
type forgetful struct {
	rng   *rand.Rand
	kept  map[answers.Key]*answers.Answer
	shown *answers.Answer
	drawn []*answers.Answer
}

func (s *forgetful) Get(_ context.Context, key answers.Key) (*answers.Answer, error) {
	switch s.rng.IntN(12) {
	case 0:
		delete(s.kept, key)
	case 1:
		return nil, nil
	}
	found := s.kept[key]
	if found == nil {
		return nil, nil
	}
	if len(found.Rows) > 0 {
		s.shown = found
	}
	out := *found
	out.Paid = append([]string{}, found.Paid...)
	return &out, nil
}

func (s *forgetful) Put(_ context.Context, key answers.Key, a answers.Answer) error {
	if len(a.Rows) > 0 {
		s.shown, s.drawn = &a, append(s.drawn, &a)
	}
	if s.kept[key] == nil && s.rng.IntN(12) > 0 {
		s.kept[key] = &a
	}
	return nil
}

func (s *forgetful) Pay(_ context.Context, key answers.Key, _ *answers.Answer, analyst string) error {
	if there := s.kept[key]; there != nil && s.rng.IntN(6) > 0 {
		there.Paid = append(there.Paid, analyst)
	}
	return nil
}

func (*forgetful) Close() error { return nil }

// measured adds to a set the measurements of a count, which is all that an answer has: behind the
// rows of payments, one of the part and one with their number, variances and values.
func measured(a *answers.Answer, to map[string]*big.Int) {
	row := a.Rows[len(a.Rows)-1]
	for k := 1; k < len(row); k += 2 {
		to[row[k].String()+" "+row[k+1].String()] = row[k]
	}
}

// loss is what measurements of a count cost together, in 10⁻¹² of ρ.
func loss(variances map[string]*big.Int) float64 {
	sum := 0.0
	for _, v := range variances {
		f, _ := new(big.Float).SetInt(v).Float64()
		sum += dp.PicoPerUnit / (2 * f)
	}
	return sum
}

// TestForgetfulStore holds that the unit has paid for all that was drawn, and each analyst for all
// that went into what he was shown, whatever is lost of what was known.
func TestForgetfulStore(t *testing.T) {
	store := &forgetful{rng: rand.New(rand.NewPCG(1, 2)), kept: map[answers.Key]*answers.Answer{}} //nolint:gosec // a test
	names := []string{"ana", "bob"}
	limits := []accountant.Limit{large(t)}
	for _, name := range names {
		limits = append(limits, accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: name}, Loss: large(t).Loss})
	}
	w := accurate(t, func(cfg *proxy.Config) {
		for _, name := range names {
			cfg.Analysts[name] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: true}
		}
		cfg.Answers.Store = store
	}, limits...)
	clients, seen, all := map[string]*client{}, map[string]map[string]*big.Int{}, map[string]*big.Int{}
	for _, name := range names {
		if name != "ana" {
			exec(t, w.mirror, "GRANT SELECT ON patients TO "+name)
		}
		clients[name], seen[name] = w.client(t, name), map[string]*big.Int{}
	}
	paid := func(kind accountant.ScopeKind, name string, measurements map[string]*big.Int) {
		t.Helper()
		if spent := float64(w.spent(t, kind, name)); spent < loss(measurements)*(1-1e-9) {
			t.Fatalf("%s %s has spent %.0f for %.0f", kind, name, spent, loss(measurements))
		}
	}
	refined := 0
	for range 150 {
		name, target := names[store.rng.IntN(len(names))], []string{"0.3", "0.2", "0.15", "0.1", "0.07", "0.05", "0.04"}[store.rng.IntN(7)]
		store.shown, store.drawn = nil, nil
		clients[name].set(t, "dp.relative_error = "+target)
		clients[name].number(t, "SELECT count(*) FROM patients")
		for _, a := range store.drawn {
			measured(a, all)
			if len(a.Rows) > 3 {
				refined++
			}
		}
		measured(store.shown, seen[name])
		paid(accountant.UnitScope, "patient", all)
		paid(accountant.AnalystScope, name, seen[name])
	}
	if refined < 5 {
		t.Errorf("only %d answers carry payments", refined)
	}
}
