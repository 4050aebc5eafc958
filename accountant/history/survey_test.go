package history_test

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/dp"
)

// survey is a survey of a table.
func survey(number, epoch, objects int64) history.SurveyEntry {
	return history.SurveyEntry{
		Table: "public.people", Number: number, Question: "smoker", EpsilonPico: 5, Epoch: epoch, Analyst: "ann", Objects: objects,
		Digest: strings.Repeat("0f", 32),
	}
}

func TestSurveys(t *testing.T) {
	s := newState(t)
	local := accountant.Scope{Kind: accountant.LocalScope, Name: "public.people"}
	mustApply(t, s, history.LimitsEntry{{Scope: local, Loss: pure(t, 4)}})
	wantRefused(t, s, history.EpochEntry{Table: "public.people", Who: "carol", Reason: "new year"}, nil)
	wantRefused(t, s, survey(2, 0, 3), nil)
	mustApply(t, s, survey(1, 0, 3))
	wantRefused(t, s, survey(1, 0, 3), nil)
	wantRefused(t, s, survey(2, 0, 2), nil)
	wantRefused(t, s, survey(2, 1, 3), nil)
	mustApply(t, s, survey(2, 0, 3))
	wantRefused(t, s, history.EpochEntry{Table: "public.people", Who: "carol"}, nil)
	mustApply(t, s, history.EpochEntry{Table: "public.people", Who: "carol", Reason: "new year"})
	wantRefused(t, s, survey(3, 0, 3), nil)
	mustApply(t, s, survey(3, 1, 4))
	without := survey(4, 1, 4)
	without.Digest = "0f"
	wantRefused(t, s, without, nil)
	without = survey(4, 1, 4)
	without.Question = ""
	wantRefused(t, s, without, nil)
	mustApply(t, s, history.FreezeEntry{Scope: local, Frozen: true, Who: "carol", Reason: "why"})
	wantRefused(t, s, survey(4, 1, 4), accountant.ErrFrozen)

	text, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored, err := history.Restore(text)
	if err != nil {
		t.Fatal(err)
	}
	all, epoch := history.SurveysOf(restored, "public.people")
	if len(all) != 3 || epoch != 1 || all[2] != accountant.Survey(survey(3, 1, 4)) {
		t.Errorf("%+v of epoch %d", all, epoch)
	}
	if err := restored.Apply(first, survey(4, 1, 4)); !errors.Is(err, accountant.ErrFrozen) {
		t.Errorf("after a restart: %v", err)
	}
}

// TestSurveyInTrial takes a survey and an epoch back.
func TestSurveyInTrial(t *testing.T) {
	s := newState(t)
	mustApply(t, s, survey(1, 0, 3))
	before, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	seq := s.Seq()
	s.Try()
	mustApply(t, s, survey(2, 0, 3))
	mustApply(t, s, history.EpochEntry{Table: "public.people", Who: "carol", Reason: "new year"})
	s.Rollback()
	after, err := s.Snapshot()
	if err != nil || string(after) != string(before) || s.Seq() != seq {
		t.Errorf("%v: after a trial\n%s\nbefore\n%s", err, after, before)
	}
}

// TestLocalLimits gives a budget of objects a δ, which takes a decision, and takes it away.
func TestLocalLimits(t *testing.T) {
	s := newState(t)
	approximate := func(pico, atto int64) dp.Loss {
		l, err := dp.NewLoss(dp.ApproximateDP, pico, atto)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	local := accountant.Scope{Kind: accountant.LocalScope, Name: "public.people"}
	unit := accountant.Scope{Kind: accountant.UnitScope, Name: "person"}
	mustApply(t, s, history.LimitsEntry{{Scope: local, Loss: pure(t, 4)}, {Scope: unit, Loss: pure(t, 4)}})
	wantRefused(t, s, history.LimitsEntry{{Scope: local, Loss: approximate(4, 1)}}, accountant.ErrLimitRaise)
	wantRefused(t, s, history.LimitsEntry{{Scope: unit, Loss: approximate(4, 0)}}, dp.ErrMeasure)
	raise := func(scope accountant.Scope, l dp.Loss) history.RaiseEntry {
		return history.RaiseEntry{Limit: accountant.Limit{Scope: scope, Loss: l}, Who: "carol", Reason: "why"}
	}
	wantRefused(t, s, raise(unit, approximate(5, 1)), dp.ErrMeasure)
	wantRefused(t, s, raise(local, approximate(3, 1)), nil)
	mustApply(t, s, raise(local, approximate(4, 2)))
	wantRefused(t, s, history.LimitsEntry{{Scope: local, Loss: approximate(4, 3)}}, accountant.ErrLimitRaise)
	wantRefused(t, s, history.LimitsEntry{{Scope: local, Loss: approximate(5, 1)}}, accountant.ErrLimitRaise)
	mustApply(t, s, history.LimitsEntry{{Scope: local, Loss: approximate(4, 1)}})
	text, err := s.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if s, err = history.Restore(text); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, history.LimitsEntry{{Scope: local, Loss: pure(t, 4)}})
	b, err := s.Balances(local)
	if err != nil || b[0].Limit != pure(t, 4) || b[0].Spent != pure(t, 0) {
		t.Errorf("%v, %+v", err, b)
	}
}
