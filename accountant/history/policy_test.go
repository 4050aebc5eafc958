package history_test

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

var (
	person = accountant.Scope{Kind: accountant.UnitScope, Name: "person"}
	labs   = accountant.Scope{Kind: accountant.TableScope, Name: "public.labs"}
	tests  = accountant.Scope{Kind: accountant.TableScope, Name: "public.tests"}
	bob    = accountant.Scope{Kind: accountant.AnalystScope, Name: "bob"}
	notes  = accountant.Scope{Kind: accountant.LocalScope, Name: "public.notes"}
	memos  = accountant.Scope{Kind: accountant.LocalScope, Name: "public.memos"}
)

// A stated is a budget of a policy, with the IDs that its table has.
type stated struct {
	scope accountant.Scope
	pico  int64
	id    string
}

func policyOf(t *testing.T, all ...stated) (e history.PolicyEntry) {
	t.Helper()
	for _, b := range all {
		l := accountant.Limit{Scope: b.scope, Loss: zcdp(t, b.pico, 10)}
		switch b.scope.Kind {
		case accountant.AnalystScope, accountant.LocalScope:
			l.Loss = pure(t, b.pico)
		case accountant.UnitScope, accountant.TableScope:
		}
		e.Limits = append(e.Limits, l)
		if b.id != "" {
			e.Links = append(e.Links, accountant.Link{Scope: b.scope, Table: accountant.Table{Name: b.scope.Name, ID: b.id}})
		}
	}
	return e
}

// ruled returns a state with a policy.
func ruled(t *testing.T, all ...stated) *history.State {
	t.Helper()
	s := history.NewState()
	mustApply(t, s, history.BeginEntry{Boot: first, Sole: true})
	mustApply(t, s, history.FormatEntry(history.Format))
	mustApply(t, s, policyOf(t, all...))
	return s
}

// spends is a charge of what each budget of the debits has.
func spends(t *testing.T, analyst string, tables []accountant.Table, pico int64, scopes ...accountant.Scope) history.ChargeEntry {
	t.Helper()
	c := accountant.Charge{Analyst: analyst, Tables: tables}
	for _, scope := range scopes {
		loss := zcdp(t, pico, 0)
		if scope.Kind == accountant.AnalystScope {
			loss = pure(t, pico)
		}
		c.Debits = append(c.Debits, accountant.Debit{Scope: scope, Loss: loss})
	}
	return history.ChargeEntry(c)
}

func of(name, id string) []accountant.Table { return []accountant.Table{{Name: name, ID: id}} }

func refuses(t *testing.T, s *history.State, what string, e history.Entry, want error) {
	t.Helper()
	before, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	err = s.Apply(by(e), e)
	if err == nil || want != nil && !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
	if _, err := history.Restore(before); err != nil {
		t.Error(err)
	}
	if after, err := s.Snapshot(); err != nil || string(after) != string(before) {
		t.Errorf("%s was refused and has changed the state: %v\n%s\n%s", what, err, before, after)
	}
}

func wantSpentOf(t *testing.T, s *history.State, scope accountant.Scope, pico int64) {
	t.Helper()
	b, err := s.Balances(scope)
	if err != nil || b[0].Spent.Pico() != pico {
		t.Errorf("%v has spent %v, want %d: %v", scope, b, pico, err)
	}
}

// TestPolicyNames holds that a policy which does not have the budgets of the ledger is refused, and that the decisions which
// put it right carry what is spent.
func TestPolicyNames(t *testing.T) {
	all := []stated{{unit, 100, ""}, {labs, 80, "1"}, {ann, 50, ""}}
	s := ruled(t, all...)
	mustApply(t, s, spends(t, "ann", of("public.labs", "1"), 30, unit, labs, ann))
	for what, p := range map[string][]stated{
		"another unit":                      {{person, 100, ""}, {labs, 80, "1"}, {ann, 50, ""}},
		"no unit":                           {{labs, 80, "1"}, {ann, 50, ""}},
		"two units":                         {{unit, 100, ""}, {person, 100, ""}, {labs, 80, "1"}, {ann, 50, ""}},
		"no budget of a table":              {{unit, 100, ""}, {ann, 50, ""}},
		"a table of another name and ID":    {{unit, 100, ""}, {tests, 80, "2"}, {ann, 50, ""}},
		"no budget of an analyst":           {{unit, 100, ""}, {labs, 80, "1"}},
		"an analyst of another name":        {{unit, 100, ""}, {labs, 80, "1"}, {bob, 50, ""}},
		"a table by another name and empty": {{unit, 100, ""}, {tests, 80, ""}, {ann, 50, ""}},
	} {
		refuses(t, s, what, policyOf(t, p...), accountant.ErrPolicy)
	}
	refuses(t, s, "a raise", policyOf(t, stated{unit, 101, ""}, all[1], all[2]), accountant.ErrLimitRaise)

	mustApply(t, s, history.RenameEntry{From: unit, To: person, Who: "carol", Reason: "why"})
	mustApply(t, s, history.RenameEntry{From: labs, To: tests, Who: "carol", Reason: "why"})
	mustApply(t, s, history.RenameEntry{From: ann, To: bob, Who: "carol", Reason: "why"})
	renamed := []stated{{person, 100, ""}, {tests, 80, "2"}, {bob, 50, ""}}
	mustApply(t, s, policyOf(t, renamed...))
	mustApply(t, s, policyOf(t, all...)) // a proxy that still has the former names
	for _, scope := range []accountant.Scope{unit, person, labs, tests, ann, bob} {
		wantSpentOf(t, s, scope, 30)
	}
	refuses(t, s, "both names", policyOf(t, append(renamed, stated{ann, 50, ""})...), accountant.ErrPolicy)
	refuses(t, s, "more than is left under the new name", spends(t, "bob", of("public.tests", "2"), 21, person, tests, bob), nil)
	mustApply(t, s, spends(t, "ann", of("public.labs", "1"), 20, unit, labs, ann)) // by the former names
	wantSpentOf(t, s, bob, 50)

	mustApply(t, s, history.RetireEntry{Scope: bob, Who: "carol", Reason: "left"})
	mustApply(t, s, policyOf(t, renamed[:2]...))
	mustApply(t, s, spends(t, "bob", of("public.tests", "2"), 1, person, tests))
	mustApply(t, s, policyOf(t, renamed...))
	refuses(t, s, "an exhausted budget that came back", spends(t, "bob", of("public.tests", "2"), 1, person, tests, bob), nil)
	refuses(t, s, "a charge without it", spends(t, "bob", of("public.tests", "2"), 1, person, tests), accountant.ErrLeftOut)
	refuses(t, s, "the unit retired", history.RetireEntry{Scope: person, Who: "carol", Reason: "why"}, nil)
}

// TestCharged holds that whatever the ledger has a budget of is debited.
func TestCharged(t *testing.T) {
	s := ruled(t, stated{unit, 100, ""}, stated{labs, 80, "1"}, stated{ann, 50, ""})
	for what, c := range map[string]history.ChargeEntry{
		"no unit":                  spends(t, "ann", of("public.labs", "1"), 1, labs, ann),
		"no table":                 spends(t, "ann", of("public.labs", "1"), 1, unit, ann),
		"a table by its ID":        spends(t, "ann", of("public.other", "1"), 1, unit, ann),
		"a table by its name":      spends(t, "ann", of("public.labs", "9"), 1, unit, ann),
		"no analyst":               spends(t, "ann", of("public.labs", "1"), 1, unit, labs),
		"a hold without the table": spends(t, "ann", of("public.labs", "1"), 1, unit, ann),
	} {
		refuses(t, s, what, c, accountant.ErrLeftOut)
		refuses(t, s, what+", held", history.HoldEntry(c), accountant.ErrLeftOut)
	}
	refuses(t, s, "a charge that says of no table", spends(t, "dan", nil, 1, unit), nil)
	mustApply(t, s, spends(t, "ann", nil, 1, ann)) // debts
	mustApply(t, s, spends(t, "dan", of("public.other", "7"), 1, unit))
	freeze := history.FreezeEntry{Scope: ann, Frozen: true, Who: "carol", Reason: "why"}
	mustApply(t, s, freeze)
	mustApply(t, s, history.RetireEntry{Scope: ann, Who: "carol", Reason: "left"})
	refuses(t, s, "a frozen analyst who was retired", spends(t, "ann", of("public.labs", "1"), 1, unit, labs), accountant.ErrLeftOut)
	refuses(t, s, "a frozen analyst who was retired", spends(t, "ann", of("public.labs", "1"), 1, unit, labs, ann), accountant.ErrFrozen)
}

// TestSwaps holds that tables which swap their names, or get other IDs from a dump, are charged to the budgets that they had.
func TestSwaps(t *testing.T) {
	base := []stated{{unit, 100, ""}, {labs, 50, "1"}, {tests, 50, "2"}}
	s := ruled(t, base...)
	mustApply(t, s, policyOf(t, base[0], stated{labs, 50, "2"}, stated{tests, 50, "1"})) // swapped
	refuses(t, s, "the rows of labs by their new name", spends(t, "ann", of("public.tests", "1"), 1, unit, tests), accountant.ErrLeftOut)
	mustApply(t, s, spends(t, "ann", of("public.tests", "1"), 1, unit, tests, labs))

	s = ruled(t, base...)
	mustApply(t, s, policyOf(t, base[0], stated{labs, 50, "8"}, stated{tests, 50, "9"})) // restored from a dump
	mustApply(t, s, spends(t, "ann", of("public.labs", "8"), 1, unit, labs))
	third := accountant.Scope{Kind: accountant.TableScope, Name: "public.third"}
	mustApply(t, s, policyOf(t, base[0], stated{third, 50, "8"}, stated{tests, 50, "9"})) // then renamed
	mustApply(t, s, spends(t, "ann", of("public.third", "8"), 1, unit, labs))
	wantSpentOf(t, s, labs, 2)
	mustApply(t, s, policyOf(t, base[0], stated{third, 50, "18"}, stated{tests, 50, "19"})) // and restored again
	mustApply(t, s, spends(t, "ann", of("public.third", "18"), 1, unit, labs))
	if _, err := s.Balances(third); !errors.Is(err, accountant.ErrUnknownScope) {
		t.Errorf("the table that was renamed has a budget of its own: %v", err)
	}

	s = ruled(t, base...)
	mustApply(t, s, policyOf(t, base[0], stated{labs, 50, "2"}, stated{tests, 50, "1"})) // swapped, so that both are of both
	mustApply(t, s, history.RetireEntry{Scope: tests, Who: "carol", Reason: "one will do"})
	mustApply(t, s, policyOf(t, base[0], stated{third, 50, "1"})) // and moved
	mustApply(t, s, spends(t, "ann", of("public.third", "1"), 1, unit, labs))
	if b, err := s.Balances(tests, labs); err != nil || !b[0].Retired || b[1].Retired {
		t.Errorf("a move revives what a decision has retired: %+v, %v", b, err)
	}
}

// TestRenamedLocal holds that the surveys of a local table go with its budget, and that its name changes by a decision only.
func TestRenamedLocal(t *testing.T) {
	s := ruled(t, stated{unit, 100, ""}, stated{notes, 50, "1"})
	asked := history.SurveyEntry{
		Table: "public.notes", Number: 1, Question: "q", EpsilonPico: 5, Analyst: "ann", Objects: 3, Digest: strings.Repeat("00", 32),
	}
	mustApply(t, s, asked)
	renamed := policyOf(t, stated{unit, 100, ""}, stated{memos, 50, "1"})
	refuses(t, s, "another name of the same table", renamed, accountant.ErrPolicy)
	mustApply(t, s, history.RenameEntry{From: notes, To: memos, Who: "carol", Reason: "why"})
	mustApply(t, s, renamed)
	if all, _ := history.SurveysOf(s, "public.memos"); len(all) != 1 || all[0] != accountant.Survey(asked) {
		t.Errorf("the surveys of the renamed table are %v", all)
	}
	anew := asked
	anew.Table = "public.memos"
	refuses(t, s, "a first survey by the new name", anew, nil)
	asked.Number = 2
	mustApply(t, s, asked)
	mustApply(t, s, history.FreezeEntry{Scope: memos, Frozen: true, Who: "carol", Reason: "why"})
	asked.Number = 3
	refuses(t, s, "a survey of a frozen table", asked, accountant.ErrFrozen)
}

// TestTakenOver takes over a ledger of an earlier version in which one unit had two names, and a policy left a frozen analyst out.
func TestTakenOver(t *testing.T) {
	s := newState(t) // the unit patient and ann
	mustApply(t, s, spends(t, "ann", nil, 40, unit, ann))
	mustApply(t, s, history.FreezeEntry{Scope: ann, Frozen: true, Who: "carol", Reason: "why"})
	mustApply(t, s, history.LimitsEntry{{Scope: person, Loss: zcdp(t, 90, 10)}})
	mustApply(t, s, spends(t, "dan", nil, 35, person))
	refuses(t, s, "a policy in the former format", policyOf(t, stated{person, 90, ""}), nil)
	mustApply(t, s, history.FormatEntry(history.Format))
	third := accountant.Scope{Kind: accountant.UnitScope, Name: "third"}
	refuses(t, s, "a third unit", policyOf(t, stated{third, 90, ""}), accountant.ErrPolicy)
	mustApply(t, s, policyOf(t, stated{person, 90, ""}))
	wantSpentOf(t, s, person, 75)
	wantSpentOf(t, s, unit, 75)
	refuses(t, s, "more than is left of both names", spends(t, "dan", of("public.labs", ""), 16, person), nil)
	refuses(t, s, "a frozen analyst who is left out", spends(t, "ann", of("public.labs", ""), 1, person), accountant.ErrLeftOut)
	mustApply(t, s, policyOf(t, stated{person, 90, ""})) // the next start
	mustApply(t, s, spends(t, "dan", of("public.labs", ""), 15, person))
	refuses(t, s, "the format raised twice", history.FormatEntry(history.Format), nil)
	refuses(t, s, "a format of later versions", history.FormatEntry(history.Format+1), nil)
}

// TestUnitesMeasures holds that what was spent of pure differential privacy counts for zCDP, rounded up, and never the other way.
func TestUnitesMeasures(t *testing.T) {
	s := history.NewState()
	mustApply(t, s, history.BeginEntry{Boot: first, Sole: true})
	mustApply(t, s, history.LimitsEntry{{Scope: unit, Loss: pure(t, 4e12)}, {Scope: person, Loss: zcdp(t, 9e12, 0)}})
	c := accountant.Charge{Analyst: "dan", Debits: []accountant.Debit{{Scope: unit, Loss: pure(t, 2e12+1)}}}
	mustApply(t, s, history.ChargeEntry(c))
	mustApply(t, s, history.FormatEntry(history.Format))
	e := history.PolicyEntry{Limits: []accountant.Limit{{Scope: person, Loss: zcdp(t, 9e12, 0)}}}
	mustApply(t, s, e)
	wantSpentOf(t, s, person, 2e12+2+1) // (2+1e-12)²/2 is 2 + 2e-12 and a little
}

// TestFormatIsNamed holds that an earlier version, which knows no such field, names what it lacks.
func TestFormatIsNamed(t *testing.T) {
	body, err := history.Prepare("", history.FormatEntry(history.Format))
	if err != nil || !strings.Contains(string(body), `"format_of_a_newer_dpproxy":4`) {
		t.Errorf("%s, %v", body, err)
	}
}
