package planner

import (
	"fmt"
	"math"
)

// An ErrorBar is the error of an aggregate at the confidence of the plan, for each single row of the released relation.
type ErrorBar struct {
	Label string // e.g. "avg(cost)"
	// Unit is the unit of Least, Most and Beyond.
	Unit errorUnit
	// Least and Most are the half-widths of the narrowest and the widest interval over the rows. They are negative if they are known only
	// with the answer or not at all, and +Inf if they are unknown.
	Least, Most float64
	// Hidden says that all values are NULL because their groups are small, or, with Withheld, because these are withheld; None that there
	// are no groups, and Unanswered that the values are NULL because a limit leaves out too much.
	Hidden, Withheld, None, Unanswered bool
	// Said is a format (with one %s) for an error that is a number of rows, of a value that was chosen.
	Said string
	// Beyond bounds what the limits of contributions leave out of a row on top of the error, if norms above a limit are distributed as they
	// are below it. Moves says that the value is not a sum, so that limits move it.
	Beyond float64
	Moves  bool
	// Widest is the widest interval, of Rows rows, hidden ones included.
	Widest Parts
	Rows   int
	// Clamped are the bounds to which values are clamped, if any value can be beyond them.
	Clamped string
}

// Parts are those of an interval around a value: how far noise moves the value, and how far limits of contributions may have it below and
// above on top of that. Low and High are the distances of the ends, which may be nearer than the parts together, at the bounds of values.
type Parts struct{ Noise, Below, Above, Low, High float64 }

// add returns the parts with an error that moves both ends.
func (w Parts) add(plus float64) Parts {
	w.Noise, w.Low, w.High = w.Noise+plus, w.Low+plus, w.High+plus
	return w
}

// wider returns the parts of the wider of two intervals.
func (w Parts) wider(v Parts) Parts {
	if max(v.Low, v.High) > max(w.Low, w.High) {
		return v
	}
	return w
}

// Known reports whether the error is known to be something, if only that it is unbounded.
func (e ErrorBar) Known() bool { return e.Least >= 0 }

// sameAs reports whether two errors read alike.
func (e ErrorBar) sameAs(f ErrorBar) bool { return e.String() == f.String() }

// or returns the error of a value that is one of two values in each row; first says that e is not set yet.
func (e ErrorBar) or(f ErrorBar, first bool) ErrorBar {
	if first || e.Hidden || e.None {
		return f
	}
	if f.Hidden || f.None {
		return e
	}
	e.Least, e.Most = min(e.Least, f.Least), max(e.Most, f.Most)
	e.Beyond, e.Moves, e.Unanswered = max(e.Beyond, f.Beyond), e.Moves && f.Moves, e.Unanswered || f.Unanswered
	e.Widest, e.Rows = e.Widest.wider(f.Widest), max(e.Rows, f.Rows)
	e.Clamped = both(e.Clamped, f.Clamped)
	if e.Said != f.Said || e.Unit != f.Unit {
		e.Said, e.Least, e.Most = "", math.Inf(1), math.Inf(1)
	}
	return e
}

const unknownError = "of unknown error"

// NotKnown says that nothing is known of an error.
func NotKnown(label string) string { return "The error of " + label + " is not known." }

// String writes the error as "count(*) ± 20", or "avg(cost) ± 2.5 to 31 of values clamped to [0, 20000]".
func (e ErrorBar) String() string {
	if e.Withheld {
		return e.Label + " withheld"
	}
	if e.Hidden {
		return e.Label + " of too few rows for its noise"
	}
	if e.Unanswered {
		return e.Label + " not answered"
	}
	if e.None {
		return e.Label + " of no group"
	}
	if !e.Known() {
		return e.Label + " with an error " + ofClamped(knownAfter, e.Clamped)
	}
	if math.IsInf(e.Least, 1) {
		return e.Label + " " + unknownError
	}
	half := e.Unit.figure(e.Least)
	if most := e.Unit.figure(e.Most); most != half {
		half += " to " + most
	}
	if e.Said != "" {
		return e.Label + ": " + ofClamped(fmt.Sprintf(e.Said, half), e.Clamped)
	}
	return e.Label + " ± " + ofClamped(half, e.Clamped)
}

// Sentence is the error of a released value in a sentence, at a confidence in per cent. The bounds to which values are clamped are not in
// it.
func (e ErrorBar) Sentence(percent string) string {
	switch {
	case e.Withheld:
		return fmt.Sprintf("%s is withheld.", e.Label)
	case e.Hidden:
		return fmt.Sprintf("%s is not shown: its groups have too few rows for the noise.", e.Label)
	case e.Unanswered:
		return fmt.Sprintf("%s is not answered: its limit leaves out too much.", e.Label)
	case e.None:
		return fmt.Sprintf("There is no group with a value of %s.", e.Label)
	case !e.Known(), math.IsInf(e.Least, 1):
		return NotKnown(e.Label)
	}
	least, most := e.Unit.grouped(e.Least), e.Unit.grouped(e.Most)
	if e.Said != "" {
		if most != least {
			least += " to " + most
		}
		return fmt.Sprintf("Of %s it is known (%s): %s.", e.Label, percent, fmt.Sprintf(e.Said, least))
	}
	s := fmt.Sprintf("The noise moves %s by at most %s (%s)", e.Label, least, percent)
	if most != least {
		s = fmt.Sprintf("The noise moves %s by at most %s in the best group and %s in the worst (%s)", e.Label, least, most, percent)
	}
	return s + e.together() + "."
}

// together says how far limits may move the value in the widest interval, and to which ends that and the noise add up; "" if they do not
// move it.
func (e ErrorBar) together() string {
	w := e.Widest
	if w.Below == 0 && w.Above == 0 {
		return ""
	}
	moved := e.moved()
	if math.IsInf(max(w.Low, w.High), 1) {
		return ", and nothing bounds " + map[bool]string{false: "what limits leave out", true: "how far limits move it"}[e.Moves]
	}
	ends := "together - " + e.Unit.grouped(w.Low) + " / + " + e.Unit.grouped(w.High)
	if e.Unit.grouped(w.Low) == e.Unit.grouped(w.High) {
		ends = "together ± " + e.Unit.grouped(w.Low)
	}
	if cut := max(w.Below-(w.Low-w.Noise), w.Above-(w.High-w.Noise)); !math.IsInf(cut, 1) && cut > unshown*max(w.Low, w.High) {
		ends += ", since values have bounds"
	}
	if e.Rows > 1 {
		return fmt.Sprintf(". In the group with the widest interval %s: with noise of %s %s", moved, e.Unit.grouped(w.Noise), ends)
	}
	return ", and " + moved + ": " + ends
}

// moved says how far limits may move the value in the widest interval.
func (e ErrorBar) moved() string {
	w := e.Widest
	below, above := e.Unit.grouped(w.Below)+" down", e.Unit.grouped(w.Above)+" up"
	switch {
	case math.IsInf(max(w.Below, w.Above), 1):
		return "limits may move it to any value within its bounds"
	case w.Below == 0 && !e.Moves:
		return "limits leave out up to " + e.Unit.grouped(w.Above) + " more"
	case w.Below == 0:
		return "limits move it by up to " + above
	case w.Above == 0:
		return "limits move it by up to " + below
	}
	return "limits move it by up to " + below + " and " + above
}
