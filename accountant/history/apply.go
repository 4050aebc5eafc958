package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"dpproxy/accountant"
)

// Apply takes one step that a run makes; run is empty for the steps of an
// administrator and for the one that begins a run. On an error nothing has
// changed. A run that does not go on gets [accountant.ErrFenced].
func (s *State) Apply(run string, e Entry) error {
	if err := s.apply(run, e); err != nil {
		return err
	}
	change(s, &s.seq, s.seq+1)
	return nil
}

func (s *State) apply(run string, e Entry) error {
	if run != "" && !s.runs[run] {
		return fmt.Errorf("%w: the run %q has ended", accountant.ErrFenced, run)
	}
	switch e := e.(type) {
	case BeginEntry:
		return s.begin(run, e)
	case LimitsEntry:
		return s.setLimits(e)
	case ChargeEntry:
		return s.charge(run, accountant.Charge(e))
	case VoidEntry:
		return s.void(run, e.Charge)
	case HoldEntry:
		return s.hold(run, accountant.Charge(e))
	case StepEntry:
		return s.step(run, e)
	case SettleEntry:
		return s.settle(run, e.Hold)
	case UnansweredEntry:
		return s.unanswer(run, e.Charge)
	case IncidentEntry:
		return s.addIncident(accountant.Incident(e))
	case ClearEntry:
		return s.clearIncidents(e)
	case RaiseEntry:
		return s.raise(e)
	case LowerEntry:
		return s.lower(e)
	case FreezeEntry:
		return s.freeze(e)
	case FenceEntry:
		return s.fence(e)
	case RestoreEntry:
		return s.restore(e)
	case NoteEntry:
		return decided(e.Who, e.Text)
	case CheckpointEntry:
		return s.checkpoint(e)
	case SurveyEntry:
		return addSurvey(s, accountant.Survey(e))
	case EpochEntry:
		return closeEpoch(s, e)
	case FormatEntry:
		return setFormat(s, e)
	case PolicyEntry:
		return atomically(s, func() error { return setPolicy(s, e) })
	case RenameEntry:
		return atomically(s, func() error { return rename(s, e) })
	case RetireEntry:
		return retire(s, e)
	}
	return fmt.Errorf("history: unknown entry %T", e)
}

func (s *State) begin(run string, e BeginEntry) error {
	if err := checkText(e.Boot); err != nil {
		return err
	}
	if run != "" || e.Boot == "" || s.runs[e.Boot] {
		return fmt.Errorf("history: a run %q cannot begin here", e.Boot)
	}
	if e.Sole {
		for _, boot := range s.Runs() {
			s.end(boot)
		}
	}
	put(s, s.runs, e.Boot, true)
	return nil
}

// end ends a run: no [VoidEntry] can take its charges back, as their queries may
// have been sent, and its holds are settled. A hold was never a debit, so that
// giving it back anticipates nothing; a step of a run that lives on after its end
// is refused before it draws.
func (s *State) end(boot string) {
	drop(s, s.runs, boot)
	for id, o := range maps.Clone(s.voidable) {
		if o.run == boot {
			drop(s, s.voidable, id)
		}
	}
	for id, o := range maps.Clone(s.holds) {
		if o.run == boot {
			s.giveBack(id)
		}
	}
}

func (s *State) fence(e FenceEntry) error {
	if err := decided(e.Who, e.Reason); err != nil {
		return err
	}
	if e.Boot != "" && !s.runs[e.Boot] {
		return fmt.Errorf("history: no run %q goes on", e.Boot)
	}
	for _, boot := range s.Runs() {
		if e.Boot == "" || boot == e.Boot {
			s.end(boot)
		}
	}
	return nil
}

// addIncident also ends the time in which a [VoidEntry] can take the charge back:
// its query was sent.
func (s *State) addIncident(in accountant.Incident) error {
	if err := checkText(in.Analyst, in.Shape, in.Tables, in.Class, in.Statement); err != nil {
		return err
	}
	if in.Charge == 0 || uint64(in.Charge) > s.seq {
		return fmt.Errorf("history: an incident of the charge %d, which does not exist", in.Charge)
	}
	change(s, &s.incidents, append(slices.Clip(s.incidents), in))
	drop(s, s.voidable, in.Charge)
	return nil
}

func (s *State) clearIncidents(e ClearEntry) error {
	if err := checkText(e.Analyst, e.Reason); err != nil {
		return err
	}
	if e.Reason == "" {
		return errors.New("history: incidents are cleared with a reason")
	}
	change(s, &s.incidents, slices.DeleteFunc(slices.Clone(s.incidents), func(in accountant.Incident) bool {
		return e.Analyst == "" || in.Analyst == e.Analyst
	}))
	return nil
}
