package accountanttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// An editable ledger takes policies and decisions.
type editable interface {
	accountant.Ledger
	SetPolicy(ctx context.Context, p history.PolicyEntry) error
	Decide(ctx context.Context, decision history.Entry) error
}

// An entity is a table or a person who asks, whatever they are called by now.
type entity struct {
	name, id string
	// limit is the one that the ledger has taken for it, 0 for none yet or none any more, and spent what has been spent since.
	limit, spent int64
	scope        accountant.Scope
	frozen       bool
}

// A file is a policy of one proxy: the limits that it states, by the names that it gives them.
type file struct {
	unit             string
	unitLimit        int64
	tables, analysts map[string]int64
}

// An editor edits policies, renames what is in the database, and asks.
type editor struct {
	t       *testing.T
	l       editable
	files   []file // as they are on disk
	serving []*accountant.Register
	served  []map[accountant.Table]bool // the tables, as they were when a proxy took its policy
	tables  []*entity
	people  []*entity // analysts
	unit    entity
	next    int // for names and IDs
	// noted says that the ledger knows the names and the IDs of tables as they are. A swap of two names and a dump, of which no
	// start has seen the first alone, look like a dump alone: no ledger could tell them apart.
	noted bool
}

// testPolicies edits the policies of one to three proxies between statements: no budget is ever exceeded, by whatever names.
func testPolicies(t *testing.T, open OpenFunc) {
	rapid.Check(t, func(r *rapid.T) {
		l, ok := open(t, nil).(editable)
		if !ok {
			t.Fatalf("a %T takes no policies", l)
		}
		defer func() { _ = l.Close() }()
		e := newEditor(t, l, rapid.IntRange(1, 3).Draw(r, "proxies"))
		e.apply(r, 0)
		r.Repeat(map[string]func(*rapid.T){
			"edit":   func(r *rapid.T) { e.edit(r) },
			"apply":  func(r *rapid.T) { e.apply(r, e.proxy(r)) },
			"rename": func(r *rapid.T) { e.rename(r) },
			"dump":   func(r *rapid.T) { e.dump(r) },
			"decide": func(r *rapid.T) { e.decide(r) },
			"ask":    func(r *rapid.T) { e.ask(r, e.proxy(r)) },
			"again":  func(r *rapid.T) { e.ask(r, e.proxy(r)) },
			"":       func(r *rapid.T) { e.compare(r) },
		})
	})
}

func newEditor(t *testing.T, l editable, proxies int) *editor {
	e := &editor{t: t, l: l, unit: entity{name: "patient"}}
	for range 2 {
		e.tables = append(e.tables, &entity{name: e.fresh("public.t"), id: e.fresh("id")})
		e.people = append(e.people, &entity{name: e.fresh("a")})
	}
	for range proxies {
		f := file{"patient", 60, map[string]int64{}, map[string]int64{}}
		for i := range 2 {
			f.tables[e.tables[i].name], f.analysts[e.people[i].name] = 25, 20
		}
		e.files = append(e.files, f)
	}
	e.serving, e.served = make([]*accountant.Register, proxies), make([]map[accountant.Table]bool, proxies)
	return e
}

func (e *editor) fresh(prefix string) string {
	e.next++
	return fmt.Sprint(prefix, e.next)
}

func (e *editor) proxy(r *rapid.T) int { return rapid.IntRange(0, len(e.files)-1).Draw(r, "proxy") }

// edit changes one thing in a policy: a name, a limit that is left out, added, lowered or restored.
func (e *editor) edit(r *rapid.T) {
	f := &e.files[e.proxy(r)]
	pick := func(all []*entity) string { return rapid.SampledFrom(all).Draw(r, "of").name }
	limit := rapid.SampledFrom([]int64{5, 20, 25}).Draw(r, "limit")
	switch rapid.SampledFrom([]string{"unit", "unit back", "lower", "drop table", "table", "drop analyst", "analyst"}).Draw(r, "edit") {
	case "unit":
		f.unit = rapid.SampledFrom([]string{"person", "soul"}).Draw(r, "unit")
	case "unit back":
		f.unit = e.unit.name
	case "lower":
		f.unitLimit = rapid.Int64Range(40, 60).Draw(r, "limit")
	case "drop table":
		delete(f.tables, pick(e.tables))
	case "table":
		f.tables[pick(e.tables)] = limit
	case "drop analyst":
		delete(f.analysts, pick(e.people))
	case "analyst":
		f.analysts[pick(e.people)] = limit
	}
}

// apply starts a proxy, or sends it SIGHUP: it goes on as before if the ledger refuses its policy.
func (e *editor) apply(r *rapid.T, proxy int) {
	f := e.files[proxy]
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: f.unit}
	p := history.PolicyEntry{Limits: []accountant.Limit{{Scope: unit, Loss: ZCDP(f.unitLimit, 0)}}}
	for _, t := range e.tables {
		limit, has := f.tables[t.name]
		if !has {
			continue
		}
		scope := accountant.Scope{Kind: accountant.TableScope, Name: t.name}
		p.Limits = append(p.Limits, accountant.Limit{Scope: scope, Loss: ZCDP(limit, 0)})
		p.Links = append(p.Links, accountant.Link{Scope: scope, Table: accountant.Table{Name: t.name, ID: t.id}})
	}
	for _, a := range e.people {
		if limit, has := f.analysts[a.name]; has {
			scope := accountant.Scope{Kind: accountant.AnalystScope, Name: a.name}
			p.Limits = append(p.Limits, accountant.Limit{Scope: scope, Loss: Pure(limit)})
		}
	}
	if err := e.l.SetPolicy(e.t.Context(), p); err != nil {
		if !errors.Is(err, accountant.ErrPolicy) && !errors.Is(err, accountant.ErrLimitRaise) {
			r.Fatalf("SetPolicy(%v): %v", p, err)
		}
		return
	}
	e.noted = len(p.Links) == len(e.tables)
	e.unit.limit = f.unitLimit
	e.take(f.tables, e.tables, accountant.TableScope)
	e.take(f.analysts, e.people, accountant.AnalystScope)
	register, err := accountant.ReadRegister(e.t.Context(), e.l)
	if err != nil {
		r.Fatal(err)
	}
	e.serving[proxy], e.served[proxy] = register, map[accountant.Table]bool{}
	for _, t := range e.tables {
		e.served[proxy][accountant.Table{Name: t.name, ID: t.id}] = true
	}
}

// take notes the limits that the ledger has taken.
func (e *editor) take(limits map[string]int64, all []*entity, kind accountant.ScopeKind) {
	for _, x := range all {
		limit, has := limits[x.name]
		if !has {
			continue
		}
		if x.limit == 0 {
			x.spent, x.scope = 0, accountant.Scope{Kind: kind, Name: x.name}
		}
		x.limit = limit
	}
}

// rename renames a table in the database, or swaps the names of two.
func (e *editor) rename(r *rapid.T) {
	if rapid.Bool().Draw(r, "swap") {
		if e.noted {
			e.tables[0].name, e.tables[1].name = e.tables[1].name, e.tables[0].name
			e.noted = false
		}
		return
	}
	t := rapid.SampledFrom(e.tables).Draw(r, "table")
	former := t.name
	t.name = e.fresh("public.t")
	for i := range e.files { // most policies follow
		if limit, has := e.files[i].tables[former]; has && rapid.IntRange(0, 3).Draw(r, "follows") > 0 {
			e.files[i].tables[t.name] = limit
			delete(e.files[i].tables, former)
		}
	}
}

// dump restores the database from a dump: all IDs are others.
func (e *editor) dump(*rapid.T) {
	if !e.noted {
		return
	}
	for _, t := range e.tables {
		t.id = e.fresh("id")
	}
	e.noted = false
}

// decide makes an administrator's decision.
func (e *editor) decide(r *rapid.T) {
	const who, why = "carol", "why"
	all := slices.Concat(e.tables, e.people)
	x := rapid.SampledFrom(all).Draw(r, "of")
	switch rapid.SampledFrom([]string{"unit", "rename", "retire", "freeze", "raise"}).Draw(r, "decision") {
	case "unit":
		to := rapid.SampledFrom([]string{"person", "soul", "patient"}).Draw(r, "to")
		from := accountant.Scope{Kind: accountant.UnitScope, Name: e.unit.name}
		united := history.RenameEntry{From: from, To: accountant.Scope{Kind: from.Kind, Name: to}, Who: who, Reason: why}
		if e.l.Decide(e.t.Context(), united) == nil {
			e.unit.name = to
		}
	case "rename":
		to := accountant.Scope{Kind: x.scope.Kind, Name: x.name}
		_, err := e.l.Balances(e.t.Context(), to)
		if x.limit > 0 && errors.Is(err, accountant.ErrUnknownScope) {
			_ = e.l.Decide(e.t.Context(), history.RenameEntry{From: x.scope, To: to, Who: who, Reason: why}) // it may have yet another name
		}
	case "retire":
		if x.limit > 0 && e.l.Decide(e.t.Context(), history.RetireEntry{Scope: x.scope, Who: who, Reason: why}) == nil {
			for _, y := range all { // which may be one budget by now
				if y.scope.Kind == x.scope.Kind {
					y.limit = 0
					y.frozen = y.frozen && y.id == "" // a retired table can change both its name and its ID
				}
			}
		}
	case "freeze":
		if x.limit > 0 && e.l.Decide(e.t.Context(), history.FreezeEntry{Scope: x.scope, Frozen: true, Who: who, Reason: why}) == nil {
			x.frozen = true
		}
	case "raise":
		limit := accountant.Limit{Scope: accountant.Scope{Kind: accountant.UnitScope, Name: e.unit.name}, Loss: ZCDP(70, 0)}
		if e.unit.limit > 0 && e.l.Decide(e.t.Context(), history.RaiseEntry{Limit: limit, Who: who, Reason: why}) == nil {
			e.unit.limit = 70
		}
	}
}

// ask asks about a table through a proxy, as its cashier does: the budgets that it knows are debited, and those that it
// does not know refuse, so that it reads them anew.
func (e *editor) ask(r *rapid.T, proxy int) {
	t, a := rapid.SampledFrom(e.tables).Draw(r, "table"), rapid.SampledFrom(e.people).Draw(r, "analyst")
	register, read := e.serving[proxy], accountant.Table{Name: t.name, ID: t.id}
	if !e.served[proxy][read] { // refused: the schema is another than at the start
		return
	}
	pico := rapid.Int64Range(1, 8).Draw(r, "price")
	c := accountant.Charge{Analyst: a.name, Tables: []accountant.Table{read}}
	unit, _ := register.Unit()
	c.Debits = append(c.Debits, accountant.Debit{Scope: unit, Loss: ZCDP(pico, 0)})
	for _, s := range register.Of(accountant.TableScope, read) {
		c.Debits = append(c.Debits, accountant.Debit{Scope: s, Loss: ZCDP(pico, 0)})
	}
	for _, s := range register.Of(accountant.AnalystScope, accountant.Table{Name: a.name}) {
		c.Debits = append(c.Debits, accountant.Debit{Scope: s, Loss: Pure(pico)})
	}
	_, err := e.l.Charge(e.t.Context(), c)
	if errors.Is(err, accountant.ErrLeftOut) {
		if e.serving[proxy], err = accountant.ReadRegister(e.t.Context(), e.l); err != nil {
			r.Fatal(err)
		}
		return
	}
	if err != nil {
		return
	}
	if t.frozen || a.frozen {
		r.Fatalf("a frozen budget was charged: %+v, %+v", t, a)
	}
	for _, x := range []*entity{&e.unit, t, a} {
		if x.spent += pico; x.limit > 0 && x.spent > x.limit {
			r.Fatalf("%d is spent of %+v", x.spent, *x)
		}
	}
}

// compare holds that the ledger counts all that was spent on each person.
func (e *editor) compare(r *rapid.T) {
	balances, err := e.l.Balances(e.t.Context())
	if err != nil {
		r.Fatal(err)
	}
	for _, b := range balances {
		if b.Scope.Kind == accountant.UnitScope && b.Spent.Pico() != e.unit.spent {
			r.Fatalf("%v says that %v is spent on each person: it is %d", b.Scope, b.Spent, e.unit.spent)
		}
	}
}
