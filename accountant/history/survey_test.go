package history_test

import (
	"errors"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
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
