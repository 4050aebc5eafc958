// Package work meters the planning of statements.
//
// Analysts are adversaries, and a statement that is only planned is free. So planning counts its steps: in the loops that grow faster than
// the statement does, and for each expression that is resolved, bounded or written. A statement that takes too many is refused, for
// whichever reason it takes them. The count follows from the statement, the policy and the catalogue. So does the refusal: no clock
// decides.
package work

import (
	"context"

	"dpproxy/pgerr"
)

// Most is how many steps the analysis of a statement may take, and each plan of it: about half a second of a processor.
const Most = 10_000_000

// Brief is how many steps work may take that nobody waits for, or that begins before it is known how long the client waits. Nearly all
// statements take fewer.
const Brief = Most / 10

// A Meter counts the steps of one analysis or plan. A nil Meter counts nothing.
//
// Once Spend returns an error it does so always, and nothing that is computed from there on is of use: whoever began the work returns
// the error in its place. A loop that cannot return an error ends early.
type Meter struct {
	ctx         context.Context //nolint:containedctx // it ends the work that is metered, and lives no longer
	most, spent int64
	err         error
}

// New returns a meter of at most so many steps. The end of ctx ends the work as well, with its cause.
func New(ctx context.Context, most int64) *Meter { return &Meter{ctx: ctx, most: most} }

// Spend counts steps, each of some 50 nanoseconds. It fails when there are too many, or when the context has ended.
func (m *Meter) Spend(steps int) error {
	if m == nil || m.err != nil {
		return m.Err()
	}
	before := m.spent
	m.spent += int64(steps)
	switch {
	case m.spent > m.most:
		m.err = errTooMuch()
	case m.spent/looks != before/looks || before == 0:
		m.err = context.Cause(m.ctx)
	}
	return m.err
}

// looks is how many steps lie between two looks at the context.
const looks = 1000

// Err returns the error that ended the work, nil while it goes on.
func (m *Meter) Err() error {
	if m == nil {
		return nil
	}
	return m.err
}

// Spent returns how many steps were counted.
func (m *Meter) Spent() int64 { return m.spent }

// errTooMuch refuses a statement.
func errTooMuch() *pgerr.Error {
	return pgerr.New(pgerr.StatementTooComplex, "the statement is too complex to be planned").
		WithHint("Shorten it: join fewer relations, select fewer columns in sub-selects, ask for fewer aggregates or percentiles; " +
			"or split it.")
}
