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
	kept  map[answers.Key]*answers.Release
	shown *answers.Release
	drawn []*answers.Release
}

func (s *forgetful) Get(_ context.Context, key answers.Key) (*answers.Release, error) {
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
	if len(found.Sets) > 0 {
		s.shown = found
	}
	out := *found
	out.Paid = append([]string{}, found.Paid...)
	return &out, nil
}

// Put returns none that was there first: it may be one that was missed, and what is shown is then another one.
func (s *forgetful) Put(_ context.Context, key answers.Key, a answers.Release) (*answers.Release, error) {
	if len(a.Sets) > 0 {
		s.shown, s.drawn = &a, append(s.drawn, &a)
	}
	if s.kept[key] == nil && s.rng.IntN(12) > 0 {
		s.kept[key] = &a
	}
	return nil, nil
}

func (*forgetful) Claim(context.Context, []answers.Key) (answers.Claim, error) {
	return unclaimed{}, nil
}

// unclaimed is a claim that keeps nobody from anything.
type unclaimed struct{}

func (unclaimed) End(context.Context, string) {}

func (s *forgetful) Pay(_ context.Context, key answers.Key, _ *answers.Release, analyst string) error {
	if there := s.kept[key]; there != nil && s.rng.IntN(6) > 0 {
		there.Paid = append(there.Paid, analyst)
	}
	return nil
}

func (*forgetful) Close() error { return nil }

// measurements are the variances of the noisy values of each partition of each grouping set, by value.
type measurements map[[2]int]map[string]*big.Int

// add adds the measurements of a release.
func (m measurements) add(r *answers.Release) {
	for set, s := range r.Sets {
		for i, group := range s.Partitions {
			at := [2]int{set, i}
			if m[at] == nil {
				m[at] = map[string]*big.Int{}
			}
			for _, list := range group.Measured {
				for _, x := range list {
					m[at][x.Variance.String()+" "+x.Value.String()] = x.Variance
				}
			}
		}
	}
}

// loss is the cost of the measurements for a unit that is in one partition of each grouping set, in
// 10⁻¹² of ρ.
func (m measurements) loss() float64 {
	parts := map[int]float64{}
	for at, variances := range m {
		sum := 0.0
		for _, v := range variances {
			f, _ := new(big.Float).SetInt(v).Float64()
			sum += dp.PicoPerUnit / (2 * f)
		}
		parts[at[0]] = max(parts[at[0]], sum)
	}
	total := 0.0
	for _, sum := range parts {
		total += sum
	}
	return total
}

// TestForgetfulStore holds that the unit has paid for all that was drawn, and each analyst for all
// noise in the answers to them, whatever the store has lost.
func TestForgetfulStore(t *testing.T) {
	names := []string{"ana", "bob"}
	limits := []accountant.Limit{large(t)}
	for _, name := range names {
		limits = append(limits, accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: name}, Loss: large(t).Loss})
	}
	for name, sql := range map[string]string{
		"one number": "SELECT count(*) FROM patients",
		"parts": "SELECT count(*) FROM (SELECT sex, mood, count(*) FROM patients " +
			"GROUP BY GROUPING SETS ((sex), (sex, mood), ())) AS t",
	} {
		t.Run(name, func(t *testing.T) {
			store := &forgetful{rng: rand.New(rand.NewPCG(1, 2)), kept: map[answers.Key]*answers.Release{}}
			w := accurate(t, func(cfg *proxy.Config) {
				for _, name := range names {
					cfg.Analysts[name] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: true}
				}
				cfg.Answers.Store = store
			}, limits...)
			exec(t, w.mirror, "GRANT SELECT ON patients TO bob")
			askInTurn(t, w, store, names, sql)
		})
	}
}

// askInTurn lets analysts ask for errors by chance, and compares the payments.
func askInTurn(t *testing.T, w *world, store *forgetful, names []string, sql string) {
	t.Helper()
	clients, seen, all := map[string]*client{}, map[string]measurements{}, measurements{}
	for _, name := range names {
		clients[name], seen[name] = w.client(t, name), measurements{}
	}
	paid := func(kind accountant.ScopeKind, name string, m measurements) {
		t.Helper()
		if spent := float64(w.spent(t, kind, name)); spent < m.loss()*(1-1e-9) {
			t.Fatalf("%s %s has spent %.0f for %.0f", kind, name, spent, m.loss())
		}
	}
	carried := 0
	for range 150 {
		name := names[store.rng.IntN(len(names))]
		target := []string{"0.3", "0.2", "0.15", "0.1", "0.07", "0.05", "0.04"}[store.rng.IntN(7)]
		store.shown, store.drawn = nil, nil
		clients[name].set(t, "dp.relative_error = "+target)
		clients[name].number(t, sql)
		for _, a := range store.drawn {
			all.add(a)
			if len(a.Payments) > 0 {
				carried++
			}
		}
		seen[name].add(store.shown)
		paid(accountant.UnitScope, "patient", all)
		paid(accountant.AnalystScope, name, seen[name])
	}
	if carried < 5 {
		t.Errorf("only %d answers carry payments", carried)
	}
}
