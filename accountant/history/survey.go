package history

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"dpproxy/accountant"
)

// The JSON of a survey, in a record and in a snapshot.
type surveyJSON struct {
	Table    string `json:"table"`
	Number   int64  `json:"number"`
	Question string `json:"question"`
	Where    string `json:"where,omitempty"`
	Epsilon  int64  `json:"epsilon"`
	Epoch    int64  `json:"epoch,omitempty"`
	Analyst  string `json:"analyst"`
	Objects  int64  `json:"objects"`
	Digest   string `json:"sha256"`
}

type epochJSON struct {
	Table  string `json:"table"`
	Who    string `json:"who"`
	Reason string `json:"reason"`
}

// The JSON of the number of a table's epoch.
type tableEpochJSON struct {
	Table string `json:"table"`
	Epoch int64  `json:"epoch"`
}

func toSurvey(s accountant.Survey) surveyJSON {
	return surveyJSON{s.Table, s.Number, s.Question, s.Where, s.EpsilonPico, s.Epoch, s.Analyst, s.Objects, s.Digest}
}

func (j surveyJSON) survey() accountant.Survey {
	return accountant.Survey{
		Table: j.Table, Number: j.Number, Question: j.Question, Where: j.Where, EpsilonPico: j.Epsilon, Epoch: j.Epoch,
		Analyst: j.Analyst, Objects: j.Objects, Digest: j.Digest,
	}
}

// addSurvey takes the next survey of a table. Its number is the one after the last, so that two processes that asked beside
// each other cannot both be recorded.
func addSurvey(s *State, sv accountant.Survey) error {
	if err := checkText(sv.Table, sv.Question, sv.Where, sv.Analyst, sv.Digest); err != nil {
		return err
	}
	before := s.surveys[sv.Table]
	if sum, err := hex.DecodeString(sv.Digest); err != nil || len(sum) != len(Hash{}) {
		return fmt.Errorf("history: the digest of survey %d of %s is none", sv.Number, sv.Table)
	}
	frozen := s.balances[named(s, accountant.Scope{Kind: accountant.LocalScope, Name: sv.Table})].Frozen
	switch {
	case sv.Table == "" || sv.Question == "" || sv.EpsilonPico < 1:
		return fmt.Errorf("history: a survey of %q asks nothing", sv.Table)
	case surveyName(s, sv.Table) != sv.Table:
		return fmt.Errorf("history: the surveys of %s are those of %s", sv.Table, surveyName(s, sv.Table))
	case frozen:
		return fmt.Errorf("%w: the objects of %s", accountant.ErrFrozen, sv.Table)
	case sv.Number != int64(len(before))+1:
		return fmt.Errorf("history: survey %d of %s comes behind %d", sv.Number, sv.Table, len(before))
	case sv.Epoch != s.epochs[sv.Table]:
		return fmt.Errorf("history: survey %d of %s is of epoch %d, which is over", sv.Number, sv.Table, sv.Epoch)
	case len(before) > 0 && sv.Objects < before[len(before)-1].Objects:
		return fmt.Errorf("history: survey %d of %s has fewer objects than the one before", sv.Number, sv.Table)
	}
	put(s, s.surveys, sv.Table, append(slices.Clip(before), sv))
	return nil
}

// closeEpoch begins the next epoch of a table.
func closeEpoch(s *State, e EpochEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	if err := checkText(e.Table); err != nil {
		return err
	}
	table := surveyName(s, e.Table)
	if len(s.surveys[table]) == 0 {
		return fmt.Errorf("history: nothing was asked about %q", e.Table)
	}
	put(s, s.epochs, table, s.epochs[table]+1)
	return nil
}

// SurveysOf returns those of a table in their order, and the number of its epoch. Their table is the one of the first.
func SurveysOf(s *State, table string) (all []accountant.Survey, epoch int64) {
	table = surveyName(s, table)
	return slices.Clone(s.surveys[table]), s.epochs[table]
}

// surveysOf are all of the state's.
func surveysOf(s *State) (all []surveyJSON, epochs []tableEpochJSON) {
	for _, table := range slices.Sorted(maps.Keys(s.surveys)) {
		for _, sv := range s.surveys[table] {
			all = append(all, toSurvey(sv))
		}
	}
	for _, table := range slices.Sorted(maps.Keys(s.epochs)) {
		epochs = append(epochs, tableEpochJSON{table, s.epochs[table]})
	}
	return all, epochs
}

func restoreSurveys(s *State, all []surveyJSON, epochs []tableEpochJSON) {
	for _, j := range all {
		s.surveys[j.Table] = append(s.surveys[j.Table], j.survey())
	}
	for _, e := range epochs {
		s.epochs[e.Table] = e.Epoch
	}
}
