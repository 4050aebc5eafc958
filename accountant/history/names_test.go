package history_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A site has tables whose names and IDs change, a ledger, and a second reader of its entries.
type site struct {
	s, replica *history.State
	tables     []*table
	lastID     int
	// ready says that the policy is the one of the tables as they are by now.
	ready  bool
	limits []accountant.Limit
}

// A table knows what was truly spent of it while a budget of it counted, and what has changed since a policy listed it.
type table struct {
	name, id        string
	spent           int64
	listed          bool
	renamed, copied bool
}

func scopeOf(name string) accountant.Scope {
	return accountant.Scope{Kind: accountant.TableScope, Name: name}
}

// apply records an entry, which the replica has to take or refuse likewise.
func (w *site) apply(r *rapid.T, e history.Entry) error {
	err, also := w.s.Apply(by(e), e), w.replica.Apply(by(e), e)
	if (err == nil) != (also == nil) {
		r.Fatalf("%+v: %v, at another proxy %v", e, err, also)
	}
	a, err1 := w.s.Snapshot()
	b, err2 := w.replica.Snapshot()
	if err1 != nil || err2 != nil || string(a) != string(b) {
		r.Fatalf("%+v: proxies differ\n%s\n%s", e, a, b)
	}
	return err
}

// change renames tables, swaps two names, or copies a table from a dump. A table that was renamed and copied at once is another one.
func (w *site) change(r *rapid.T) {
	t := rapid.SampledFrom(w.tables).Draw(r, "table")
	if rapid.Bool().Draw(r, "dump") && !t.renamed {
		w.lastID++
		t.id, t.copied, w.ready = strconv.Itoa(w.lastID), true, false
		return
	}
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(r, "name")
	i := slices.IndexFunc(w.tables, func(o *table) bool { return o.name == name })
	if t.copied || t.name == name || i >= 0 && w.tables[i].copied {
		return
	}
	if i >= 0 {
		w.tables[i].name, w.tables[i].renamed = t.name, true
	}
	t.name, t.renamed, w.ready = name, true, false
}

// rule sets a policy of some tables.
func (w *site) rule(t *testing.T, r *rapid.T, listed ...*table) {
	all := []stated{{unit, 1e6, ""}}
	for _, of := range listed {
		all = append(all, stated{scopeOf(of.name), 1e6, of.id})
	}
	p := policyOf(t, all...)
	if w.apply(r, p) != nil {
		return
	}
	w.ready, w.limits = true, p.Limits
	for _, of := range w.tables {
		of.listed = slices.Contains(listed, of)
		if of.listed {
			of.renamed, of.copied = false, false
		}
	}
}

// spend charges what reads some listed tables to the budgets of them that count.
func (w *site) spend(t *testing.T, r *rapid.T) {
	of := rapid.SampledFrom(w.tables).Draw(r, "read")
	if !w.ready || !of.listed {
		return
	}
	is := accountant.Table{Name: of.name, ID: of.id}
	scopes := []accountant.Scope{unit}
	for _, l := range history.LinksOf(w.s) {
		b, err := w.s.Balances(l.Scope)
		if err == nil && b[0].Counts() && l.Scope.Kind == accountant.TableScope && l.Table.Is(is) && !slices.Contains(scopes, l.Scope) {
			scopes = append(scopes, l.Scope)
		}
	}
	pico := rapid.Int64Range(1, 9).Draw(r, "pico")
	if err := w.apply(r, spends(t, "dan", []accountant.Table{is}, pico, scopes...)); err != nil {
		r.Fatal(err)
	}
	if len(scopes) > 1 {
		of.spent += pico
	}
}

// decide retires or renames a budget.
func (w *site) decide(r *rapid.T) {
	balances, err := w.s.Balances()
	if err != nil || len(balances) == 0 {
		return
	}
	scope := rapid.SampledFrom(balances).Draw(r, "budget").Scope
	if rapid.Bool().Draw(r, "retire") {
		_ = w.apply(r, history.RetireEntry{Scope: scope, Who: "carol", Reason: "why"})
		return
	}
	to := scopeOf(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "to"))
	_ = w.apply(r, history.RenameEntry{From: scope, To: to, Who: "carol", Reason: "why"})
}

// check compares the budget that each limit is for with what was truly spent of the table.
func (w *site) check(r *rapid.T) {
	if !w.ready {
		return
	}
	claims, err := history.Stated(w.s, w.limits)
	if err != nil {
		return // a decision has made one budget of two, and the policy has to follow
	}
	for scope, l := range claims {
		b, err := w.s.Balances(scope)
		if err != nil {
			return
		}
		i := slices.IndexFunc(w.tables, func(of *table) bool { return of.listed && scopeOf(of.name) == l.Scope })
		if i >= 0 && b[0].Counts() && b[0].Spent.Pico() < w.tables[i].spent {
			r.Fatalf("of %+v the budget %v has spent %v", *w.tables[i], scope, b[0].Spent)
		}
	}
}

// TestNames holds, under random names, IDs, policies and decisions, that a budget which counts has spent no less than was spent of the
// table that its limit is for, and that all proxies agree.
func TestNames(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		for range 10 {
			randomNames(t, r)
		}
	})
}

func randomNames(t *testing.T, r *rapid.T) {
	w := &site{s: history.NewState(), replica: history.NewState(), lastID: 3}
	for i, name := range []string{"a", "b", "c"} {
		w.tables = append(w.tables, &table{name: name, id: strconv.Itoa(i + 1)})
	}
	for _, e := range []history.Entry{history.BeginEntry{Boot: first, Sole: true}, history.FormatEntry(history.Format)} {
		if err := w.apply(r, e); err != nil {
			r.Fatal(err)
		}
	}
	if w.rule(t, r, w.tables...); !w.ready {
		r.Fatal("the first policy was refused")
	}
	if rapid.Bool().Draw(r, "swapped") {
		w.tables[0].name, w.tables[1].name = w.tables[1].name, w.tables[0].name
		w.rule(t, r, w.tables...)
	}
	for range rapid.IntRange(1, 40).Draw(r, "steps") {
		switch rapid.IntRange(0, 9).Draw(r, "step") {
		case 0, 1:
			w.change(r)
		case 2, 3:
			some := func(*table) bool { return rapid.IntRange(0, 3).Draw(r, "left out") == 0 }
			w.rule(t, r, slices.DeleteFunc(slices.Clone(w.tables), some)...)
		case 4, 5, 6:
			w.spend(t, r)
		default:
			w.decide(r)
		}
		w.check(r)
	}
}
