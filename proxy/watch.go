package proxy

import (
	"context"
	"errors"
	"strings"

	"dpproxy/accountant"
	"dpproxy/parser/lex"
	"dpproxy/proxy/reader"
)

// A watch observes a statement from its charge until it has been drawn. When the veil is lifted it records an incident,
// unless the statement was drawn, cut, or interrupted: any other failure after the charge, also a panic, may depend on
// a row.
type watch struct {
	d        *drawing
	began    uint64
	incident accountant.Incident
	outcome  outcome
}

// outcome is what became of a statement behind its charge.
type outcome int

const (
	failed     outcome = iota // also by a panic
	unanswered                // its read was interrupted
	late                      // its read was ended by the policy's limit
	gone                      // its read was ended with its client
	drawn
)

// beginWatch begins the watch of a statement that was charged.
func (d *drawing) beginWatch(ctx context.Context) {
	w := &watch{d: d, began: d.began, incident: accountant.Incident{
		Charge: d.payment.ID, Analyst: d.analyst, Shape: d.plan.Shape, Class: "defect",
	}}
	d.watch = w
	d.veil.then(func() { w.report(context.WithoutCancel(ctx)) })
}

// tables names the tables that the statement reads.
func (d *drawing) tables() string {
	var names []string
	for _, t := range d.plan.Tables {
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}

// through says that the statement has been drawn.
func (w *watch) through() { w.outcome = drawn }

// interrupted reports whether a read was interrupted by something that nobody is to blame for.
func (w *watch) interrupted(by *reader.InterruptedError) bool {
	w.incident.Class = by.Class
	if by.Suspect && w.d.p.incidents.suspects(w.d.analyst, w.d.bill.Question, w.began) {
		return false
	}
	w.outcome = unanswered
	return true
}

// cut says that a read was ended early.
func (w *watch) cut(by error) {
	w.outcome = gone
	if _, ok := errors.AsType[*reader.LimitError](by); ok {
		w.outcome, w.incident.Class = late, "timeout"
	}
}

// report tells the outcome to the log, and incidents to the ledger.
func (w *watch) report(ctx context.Context) {
	log := w.d.p.cfg.Log.With("analyst", w.d.analyst, "shape", w.incident.Shape, "class", w.incident.Class)
	switch w.outcome {
	case drawn, gone:
	case late:
		log.Warn("a read of protected data was ended by limits.statement_timeout")
	case unanswered:
		log.Warn("a read of protected data was interrupted")
	case failed:
		log.Warn("a read of protected data failed")
		w.incident.Tables, w.incident.Statement = w.d.tables(), lex.Words(w.d.text.stmt.Text)
		if err := w.d.p.incidents.record(ctx, w.incident); err != nil {
			log.Error("an incident could not be recorded", "error", err)
		}
	}
}
