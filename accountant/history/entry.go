package history

import (
	"errors"

	"dpproxy/accountant"
)

// An Entry is one step in the history of a ledger.
//
//sumtype:decl
type Entry interface{ entry() }

// A BeginEntry begins a run, which is one process that charges. Its boot is the
// run's name, random and never used twice.
type BeginEntry struct {
	Boot string
	// Sole ends all runs before it. A ledger that one process at a time can have
	// open begins its runs so.
	Sole bool
}

// A LimitsEntry has the limits of a configuration: it creates budgets and
// lowers limits, all or none of them. Scopes it does not name keep theirs.
type LimitsEntry []accountant.Limit

// A ChargeEntry is a charge of the run that makes it.
type ChargeEntry accountant.Charge

// A VoidEntry takes a charge of the same run back. Earlier versions could write one, before
// anything had been sent to the protected database. It is read as it always was, and never
// written: a charge counts whatever becomes of its answer.
type VoidEntry struct{ Charge accountant.ChargeID }

// ErrNotVoidable is wrapped where a [VoidEntry] takes back a charge that does not exist, was
// taken back before, is of another run, or has an incident.
var ErrNotVoidable = errors.New("history: the charge cannot be taken back")

// A HoldEntry reserves the most that a chain of releases can cost.
type HoldEntry accountant.Charge

// A StepEntry spends part of a hold of the same run.
type StepEntry struct {
	Hold   accountant.ChargeID
	Events []string
	Debits []accountant.Debit
}

// A SettleEntry ends a hold of the same run and gives back the part that no
// step spent.
type SettleEntry struct{ Hold accountant.ChargeID }

// An UnansweredEntry says that nothing was drawn for a charge or a hold of the same run, so that the amount
// that it has spent is prepaid for its question.
type UnansweredEntry struct{ Charge accountant.ChargeID }

// An IncidentEntry is an incident.
type IncidentEntry accountant.Incident

// A ClearEntry clears the incidents of one analyst, or all when it is empty.
type ClearEntry struct{ Analyst, Reason string }

// A RaiseEntry is an administrator's decision to raise one limit.
type RaiseEntry struct {
	Limit       accountant.Limit
	Who, Reason string
}

// A LowerEntry is an administrator's decision to lower one limit, even below
// the amount spent.
type LowerEntry struct {
	Limit       accountant.Limit
	Who, Reason string
}

// A FreezeEntry is an administrator's decision that nothing more is charged to a
// scope, or that charging goes on.
type FreezeEntry struct {
	Scope       accountant.Scope
	Frozen      bool
	Who, Reason string
}

// A FenceEntry ends a run, or all when Boot is empty: nothing that it sends
// counts any more, and the unspent part of its holds is given back.
type FenceEntry struct{ Boot, Who, Reason string }

// A RestoreEntry charges again the losses that a repair found missing, whatever
// the limits are.
type RestoreEntry struct {
	Debits      []accountant.Debit
	Who, Reason string
}

// A NoteEntry records an assertion of an administrator, or their work on the
// ledger itself, such as a repair.
type NoteEntry struct{ Who, Text string }

// A CheckpointEntry holds the SHA-256 of the [State.Snapshot] before it, in
// hexadecimal.
type CheckpointEntry struct{ Digest string }

// A SurveyEntry makes the answers to a question about a local table the ones that count.
type SurveyEntry accountant.Survey

// An EpochEntry closes an epoch of a local table: an administrator says that its values may have changed since.
type EpochEntry struct{ Table, Who, Reason string }

// A FormatEntry raises the format of the ledger to [Format].
type FormatEntry int

// A PolicyEntry has the limits of a policy, and the tables that they are for. Every budget of the ledger must be among them.
type PolicyEntry struct {
	Limits []accountant.Limit
	Links  []accountant.Link
}

// A RenameEntry is an administrator's decision that a budget has another name from now on.
type RenameEntry struct {
	From, To    accountant.Scope
	Who, Reason string
}

// A RetireEntry is an administrator's decision that a budget limits nothing any more.
type RetireEntry struct {
	Scope       accountant.Scope
	Who, Reason string
}

func (BeginEntry) entry()      {}
func (LimitsEntry) entry()     {}
func (ChargeEntry) entry()     {}
func (VoidEntry) entry()       {}
func (HoldEntry) entry()       {}
func (StepEntry) entry()       {}
func (SettleEntry) entry()     {}
func (UnansweredEntry) entry() {}
func (IncidentEntry) entry()   {}
func (ClearEntry) entry()      {}
func (RaiseEntry) entry()      {}
func (LowerEntry) entry()      {}
func (FreezeEntry) entry()     {}
func (FenceEntry) entry()      {}
func (RestoreEntry) entry()    {}
func (NoteEntry) entry()       {}
func (CheckpointEntry) entry() {}
func (SurveyEntry) entry()     {}
func (EpochEntry) entry()      {}
func (FormatEntry) entry()     {}
func (PolicyEntry) entry()     {}
func (RenameEntry) entry()     {}
func (RetireEntry) entry()     {}
