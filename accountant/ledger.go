package accountant

import (
	"context"
	"errors"
	"fmt"

	"dpproxy/dp"
)

// A Scope names one budget. The privacy unit's scope is the guarantee; the
// others are limits under it (the package comment says why).
type Scope struct {
	Kind ScopeKind
	Name string // unit name, schema.table, or analyst
}

// A ScopeKind is a kind of budget.
type ScopeKind string

// The kinds of scopes.
const (
	UnitScope    ScopeKind = "unit"
	TableScope   ScopeKind = "table"
	AnalystScope ScopeKind = "analyst"
	// LocalScope is the budget of each object of a local table. Nothing is ever debited from it: what an object has
	// lost follows from its answers. It is there for its limit, which takes a decision to be raised, and to be frozen.
	LocalScope ScopeKind = "local"
)

// String writes kind:name.
func (s Scope) String() string { return string(s.Kind) + ":" + s.Name }

// A Table is a table of the protected database. Its name changes when it is renamed, and its ID when a dump of it is restored:
// a budget is that of a table with one of its names or one of its IDs.
type Table struct {
	Name string // schema.table
	ID   string // of the database and of the table in it; empty: not known
}

// Is reports whether two tables have the same name or the same ID.
func (t Table) Is(u Table) bool { return t.Name == u.Name || t.ID != "" && t.ID == u.ID }

// A Link says that a budget is that of a table. Budgets of other kinds have their name, and their former ones, in its place.
type Link struct {
	Scope Scope
	Table Table
}

// A Charge debits every listed scope, or none of them.
type Charge struct {
	// Tables are those that the releases read. Every budget that the ledger has of them, of the unit and of the analyst must be
	// debited. None is given if the debits are debts of the analyst alone.
	Tables []Table
	// Analyst and Shape go to the audit trail; they hold no data. Shape is a
	// digest of the plan without its constants.
	Analyst, Shape string
	// Events describe the releases that will follow.
	Events []string
	// Debits are at most one for each scope, each in its scope's measure.
	Debits []Debit
	// Question is a digest of all that the releases depend on but the data, and of who asks.
	// Empty, nothing can be prepaid, now or later.
	Question string
	// Prepaid is the amount that a charge which was left unanswered has paid for the same question. It is used up
	// by this charge, whose debits are beside it, if any.
	Prepaid Prepaid
}

// Prepaid is the amount that was paid for a question for which nothing has been drawn. The zero Prepaid is
// nothing.
type Prepaid struct {
	Charge ChargeID // that was left unanswered
	Debits []Debit
}

// A Debit is the amount for one scope.
type Debit struct {
	Scope Scope
	Loss  dp.Loss
}

// A Limit is the most that one scope may ever spend.
type Limit struct {
	Scope Scope
	Loss  dp.Loss
}

// A Balance is the state of one scope. Amounts that are held count against the limit
// like those that are spent, but can be given back. The amounts that the steps of a
// hold have spent are still among the held ones until the hold is settled: how far
// its chain is shows only then.
type Balance struct {
	Scope              Scope
	Limit, Spent, Held dp.Loss
	Frozen             bool // nothing more is charged, until the administrator decides otherwise
	Retired            bool // it limits nothing any more, unless it is frozen or a policy gives it a limit again
}

// Counts reports whether charges must debit the budget.
func (b Balance) Counts() bool { return !b.Retired || b.Frozen }

// Remaining returns the loss that may still be charged: nothing, in a parameter
// whose limit was lowered below the amount spent.
func (b Balance) Remaining() dp.Loss {
	pico := max(0, b.Limit.Pico()-b.Spent.Pico()-b.Held.Pico())
	atto := max(0, b.Limit.Atto()-b.Spent.Atto()-b.Held.Atto())
	left, err := dp.NewLoss(b.Limit.Measure(), pico, atto)
	if err != nil {
		return dp.Zero(b.Limit.Measure())
	}
	return left
}

// A ChargeID identifies a recorded charge or hold. No ledger uses one twice, not
// even after a restart, and zero is none.
type ChargeID uint64

// A Ledger records charges durably. A charge that was recorded counts for ever,
// whatever becomes of the answer.
//
// Methods are safe for concurrent use. A ledger fails closed: after ErrUnavailable
// the embedded one stays unusable, and so does a shared one that has diverged; one
// that could not be reached works again when it can be.
type Ledger interface {
	// Charge checks every scope and records the charge, all or nothing. When
	// it returns nil the charge is durable. It returns an *InsufficientError
	// when a scope has too little left, ErrUnknownScope (wrapped) when one has
	// no budget at all, ErrLeftOut when a budget that must be debited is not, ErrFrozen, ErrSuspended, ErrQuarantined or ErrFenced
	// (wrapped) where they apply, ErrNotPrepaid (wrapped) when another charge has
	// used what was prepaid, and ErrUnavailable (wrapped) when the charge could not
	// be made durable. After ErrUnavailable, and after the error of a context
	// that ended while the charge was being written, it may or may not count,
	// and nothing may be released.
	Charge(ctx context.Context, c Charge) (ChargeID, error)
	// Admit returns the error that a charge of the analyst's for a plan of this
	// shape would have whatever it costs: ErrSuspended, ErrQuarantined, ErrFenced or
	// ErrUnavailable (wrapped). A question that costs nothing is answered only if it
	// is nil.
	Admit(ctx context.Context, analyst, shape string) error
	// Hold reserves the most that a chain of releases can cost, like Charge and
	// with its errors; Analyst, Shape and Events are those of the chain.
	Hold(ctx context.Context, c Charge) (ChargeID, error)
	// Step spends a part of a hold, before the next draw of its chain. That part is never given
	// back; balances show it when the hold is settled. It returns ErrNotHeld (wrapped) where the
	// hold does not go on or has too little left; nothing may be drawn then.
	Step(ctx context.Context, hold ChargeID, events []string, debits []Debit) error
	// Settle ends a hold and gives back the part that no step spent.
	Settle(ctx context.Context, hold ChargeID) error
	// Unanswered records that nothing was drawn for a charge of this run, or for the first step of a
	// hold, and nothing will be: its read was interrupted, and no row has a part in that. The amount that it has
	// spent stays spent, and is prepaid for its question. A hold is settled by it. It returns
	// ErrNotPrepaid (wrapped) of a charge that has no question, that is of another run, or of which
	// this was said before.
	Unanswered(ctx context.Context, charge ChargeID) error
	// Prepaid returns the amount that is prepaid for a question, the zero Prepaid if nothing is.
	Prepaid(ctx context.Context, question string) (Prepaid, error)
	// Balances returns the state of the given scopes, or of all when none is
	// given (then ordered by kind and name), from one moment.
	Balances(ctx context.Context, scopes ...Scope) ([]Balance, error)
	// Links returns the tables of the budgets, and the names of those that are not of tables.
	Links(ctx context.Context) ([]Link, error)
	// Incident records that a read of protected data failed after its charge.
	Incident(ctx context.Context, in Incident) error
	// Incidents returns those that were recorded and not cleared.
	Incidents(ctx context.Context) ([]Incident, error)
	// ClearIncidents clears those of one analyst, or of all when it is empty,
	// with the administrator's reason.
	ClearIncidents(ctx context.Context, analyst, reason string) error
	// Close releases the ledger.
	Close() error
}

// An Incident is a failed read of protected data, told to the administrator alone.
type Incident struct {
	Charge  ChargeID
	Analyst string
	Shape   string
	// Tables are the names of the tables that the statement read, with commas between.
	Tables string
	// Class is that of the SQLSTATE, or another cause in a word.
	Class string
	// Statement is the statement without its constants.
	Statement string
}

// ErrUnknownScope is wrapped where a scope has no recorded limit. That means no
// budget, never an unlimited one.
var ErrUnknownScope = errors.New("accountant: the scope has no budget")

// ErrLeftOut is wrapped where a charge does not debit a budget that the ledger has of the unit, of the analyst or of one of the
// tables that are read.
var ErrLeftOut = errors.New("accountant: a charge leaves out a budget of the ledger")

// ErrPolicy is wrapped where a policy does not name the budgets that the ledger has: that takes a decision.
var ErrPolicy = errors.New("accountant: the budgets of the policy are not those of the ledger")

// A MissingError names a budget of the ledger that a policy does not have. It is an [ErrPolicy].
type MissingError struct {
	Scope Scope
	// Stated is what the policy has in its place, if that is known: the unit, or the table by its new name.
	Stated Scope
}

// Error implements error.
func (e *MissingError) Error() string {
	if e.Stated == (Scope{}) {
		return fmt.Sprintf("the ledger has a budget of %v, and the policy leaves it out", e.Scope)
	}
	return fmt.Sprintf("the ledger has a budget of %v, and the policy has %v in its place", e.Scope, e.Stated)
}

// Unwrap implements errors.Unwrap.
func (*MissingError) Unwrap() error { return ErrPolicy }

// ErrNotHeld is wrapped where a hold cannot be spent or settled: it does not
// exist, belongs to another process run, was settled, or has too little left.
var ErrNotHeld = errors.New("accountant: the ledger does not hold that")

// ErrNotPrepaid is wrapped where a charge names an amount as prepaid that is not, or was used before, and
// where one cannot be left unanswered.
var ErrNotPrepaid = errors.New("accountant: that is not prepaid")

// ErrFrozen is wrapped where an administrator has frozen a budget.
var ErrFrozen = errors.New("accountant: the budget is frozen")

// MaxIncidents is how many failed reads suspend an analyst.
const MaxIncidents = 3

// ErrSuspended is wrapped where an analyst has caused [MaxIncidents] incidents
// that were not cleared.
var ErrSuspended = errors.New("accountant: the analyst is suspended")

// ErrQuarantined is wrapped where a charge has the shape of one that failed, and
// the incident was not cleared.
var ErrQuarantined = errors.New("accountant: this shape of statement is quarantined")

// ErrFenced is wrapped where the process run was ended by an administrator or by
// a later run. It may charge nothing any more.
var ErrFenced = errors.New("accountant: this run has ended")

// ErrLimitRaise is wrapped where a configuration asks for more than the ledger
// allows.
var ErrLimitRaise = errors.New("accountant: a configuration can lower a limit, never raise it")

// ErrUnavailable is wrapped by the errors of a ledger that cannot record.
var ErrUnavailable = errors.New("accountant: the ledger is unavailable")

// An InsufficientError says which scope refused a charge. Nothing was charged.
type InsufficientError struct {
	Scope                Scope
	Requested, Remaining dp.Loss
}

// Error implements error.
func (e *InsufficientError) Error() string {
	return fmt.Sprintf("accountant: %v has %v left, %v requested", e.Scope, e.Remaining, e.Requested)
}
