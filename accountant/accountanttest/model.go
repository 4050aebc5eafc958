package accountanttest

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/dp"
)

// A model is the simplest ledger there is: the list of charges that count. It
// sums them up anew whenever it is asked.
type model struct {
	charges map[accountant.ChargeID][]accountant.Debit
	holds   map[accountant.ChargeID][]accountant.Debit // the rest of each
	steps   map[accountant.ChargeID][]accountant.Debit // the steps of each that is settled
	going   map[accountant.ChargeID][]accountant.Debit // the steps of each that goes on
	failed  int                                        // incidents
}

func newModel() *model {
	return &model{
		charges: map[accountant.ChargeID][]accountant.Debit{}, holds: map[accountant.ChargeID][]accountant.Debit{},
		steps: map[accountant.ChargeID][]accountant.Debit{}, going: map[accountant.ChargeID][]accountant.Debit{},
	}
}

// sum returns the sum of a scope's debits in picos and attos.
func sum(s accountant.Scope, all ...map[accountant.ChargeID][]accountant.Debit) (pico, atto int64) {
	for _, charges := range all {
		for debits := range maps.Values(charges) {
			for _, d := range debits {
				if d.Scope == s {
					pico += d.Loss.Pico()
					atto += d.Loss.Atto()
				}
			}
		}
	}
	return pico, atto
}

// spent returns the amount that is shown as spent of a scope.
func (m *model) spent(s accountant.Scope) (pico, atto int64) { return sum(s, m.charges, m.steps) }

// held returns the amount that is shown as held of a scope.
func (m *model) held(s accountant.Scope) (pico, atto int64) { return sum(s, m.holds, m.going) }

// admits says whether each debit fits into the rest of its limit.
func (m *model) admits(debits []accountant.Debit) bool {
	for _, d := range debits {
		i := slices.IndexFunc(Limits(), func(l accountant.Limit) bool { return l.Scope == d.Scope })
		if i < 0 {
			return false
		}
		limit := Limits()[i].Loss
		pico, atto := sum(d.Scope, m.charges, m.steps, m.holds, m.going)
		if d.Loss.Measure() != limit.Measure() || pico+d.Loss.Pico() > limit.Pico() || atto+d.Loss.Atto() > limit.Atto() {
			return false
		}
	}
	return len(debits) > 0 && m.failed < accountant.MaxIncidents
}

// drawDebits draws debits of distinct scopes, mostly in their own measures.
func drawDebits(t *rapid.T) []accountant.Debit {
	scopes := rapid.SliceOfNDistinct(rapid.SampledFrom([]accountant.Scope{unit, table, analyst, nobody}), 0, 4, rapid.ID).Draw(t, "scopes")
	var debits []accountant.Debit
	for _, s := range scopes {
		pure := s.Kind == accountant.AnalystScope
		if rapid.IntRange(0, 19).Draw(t, "mistake") == 19 {
			pure = !pure
		}
		loss := Pure(rapid.Int64Range(0, 30).Draw(t, "epsilon"))
		if !pure {
			loss = ZCDP(rapid.Int64Range(0, 50).Draw(t, "rho"), rapid.Int64Range(0, 5).Draw(t, "delta"))
		}
		debits = append(debits, accountant.Debit{Scope: s, Loss: loss})
	}
	return debits
}

// testModel compares a ledger with the model, step by step.
func testModel(t *testing.T, open OpenFunc) {
	rapid.Check(t, func(r *rapid.T) {
		l := open(t, Limits())
		defer func() {
			if err := l.Close(); err != nil {
				r.Errorf("Close: %v", err)
			}
		}()
		m := newModel()
		r.Repeat(map[string]func(*rapid.T){
			"charge":   func(r *rapid.T) { m.charge(r, t, l) },
			"hold":     func(r *rapid.T) { m.hold(r, t, l) },
			"step":     func(r *rapid.T) { m.step(r, t, l) },
			"settle":   func(r *rapid.T) { m.settle(r, t, l) },
			"incident": func(r *rapid.T) { m.incident(r, t, l) },
			"clear":    func(r *rapid.T) { m.clear(r, t, l) },
			"":         func(r *rapid.T) { m.compare(r, t, l) },
		})
	})
}

func (m *model) charge(r *rapid.T, t *testing.T, l accountant.Ledger) {
	debits := drawDebits(r)
	id, err := l.Charge(t.Context(), Charge(debits...))
	if (err == nil) != m.admits(debits) {
		r.Fatalf("Charge(%v) = %v; the model disagrees", debits, err)
	}
	if err != nil {
		return
	}
	if _, used := m.charges[id]; used {
		r.Fatalf("Charge returned %d twice", id)
	}
	m.charges[id] = debits
}

func (m *model) hold(r *rapid.T, t *testing.T, l accountant.Ledger) {
	debits := drawDebits(r)
	id, err := l.Hold(t.Context(), Charge(debits...))
	if (err == nil) != m.admits(debits) {
		r.Fatalf("Hold(%v) = %v; the model disagrees", debits, err)
	}
	if err == nil {
		m.holds[id] = slices.Clone(debits)
	}
}

// drawHold draws the ID of a hold that goes on, or of none.
func (m *model) drawHold(r *rapid.T) accountant.ChargeID {
	return rapid.SampledFrom(append(slices.Sorted(maps.Keys(m.holds)), 0)).Draw(r, "hold")
}

func (m *model) step(r *rapid.T, t *testing.T, l accountant.Ledger) {
	id, debits := m.drawHold(r), drawDebits(r)
	left, fits := subtract(m.holds[id], debits)
	err := l.Step(t.Context(), id, []string{"step"}, debits)
	if (err == nil) != fits {
		r.Fatalf("Step(%d, %v) = %v; the model, with %v left, disagrees", id, debits, err, m.holds[id])
	}
	if err == nil {
		m.holds[id] = left
		m.going[id] = append(m.going[id], debits...)
	}
}

// subtract returns the rest of a hold after debits, if they fit into it.
func subtract(hold, debits []accountant.Debit) (left []accountant.Debit, fits bool) {
	left, fits = slices.Clone(hold), len(debits) > 0
	for _, d := range debits {
		i := slices.IndexFunc(left, func(h accountant.Debit) bool { return h.Scope == d.Scope })
		if i < 0 {
			return nil, false
		}
		rest, err := left[i].Loss.Minus(d.Loss)
		if err != nil {
			return nil, false
		}
		left[i].Loss = rest
	}
	return left, fits
}

func (m *model) settle(r *rapid.T, t *testing.T, l accountant.Ledger) {
	id := m.drawHold(r)
	_, goesOn := m.holds[id]
	if err := l.Settle(t.Context(), id); (err == nil) != goesOn {
		r.Fatalf("Settle(%d) = %v; the model disagrees", id, err)
	}
	delete(m.holds, id)
	m.steps[id] = m.going[id]
	delete(m.going, id)
}

// drawID draws the ID of a charge that was made, or one off.
func (m *model) drawID(r *rapid.T) accountant.ChargeID {
	ids := append(slices.Sorted(maps.Keys(m.charges)), 0)
	return rapid.SampledFrom(ids).Draw(r, "id") + accountant.ChargeID(rapid.SampledFrom([]uint64{0, 0, 0, 1}).Draw(r, "off"))
}

func (m *model) incident(r *rapid.T, t *testing.T, l accountant.Ledger) {
	id := m.drawID(r)
	if _, counts := m.charges[id]; !counts {
		return
	}
	if err := l.Incident(t.Context(), accountant.Incident{Charge: id, Analyst: "ann"}); err != nil {
		r.Fatalf("Incident(%d): %v", id, err)
	}
	m.failed++
}

func (m *model) clear(r *rapid.T, t *testing.T, l accountant.Ledger) {
	if err := l.ClearIncidents(t.Context(), "ann", "why"); err != nil {
		r.Fatalf("ClearIncidents: %v", err)
	}
	m.failed = 0
}

func (m *model) compare(r *rapid.T, t *testing.T, l accountant.Ledger) {
	var spent, held []dp.Loss
	for _, limit := range Limits() {
		pico, atto := m.spent(limit.Scope)
		spent = append(spent, loss(limit.Loss.Measure(), pico, atto))
		pico, atto = m.held(limit.Scope)
		held = append(held, loss(limit.Loss.Measure(), pico, atto))
	}
	if got := Spent(t, l); !slices.Equal(got, spent) {
		r.Fatalf("spent %v, the model says %v", got, spent)
	}
	if got := Held(t, l); !slices.Equal(got, held) {
		r.Fatalf("held %v, the model says %v", got, held)
	}
}
