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
	// Clamped are the bounds to which values are clamped, if any value can be beyond them.
	Clamped string
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
	e.Clamped = both(e.Clamped, f.Clamped)
	if e.Said != f.Said || e.Unit != f.Unit {
		e.Said, e.Least, e.Most = "", math.Inf(1), math.Inf(1)
	}
	return e
}

const unknownError = "of unknown error"

// UnknownError says that nothing is known of an error.
func UnknownError(label string) string { return label + " " + unknownError }

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
		return UnknownError(e.Label)
	}
	half := e.Unit.figure(e.Least)
	if most := e.Unit.figure(e.Most); most != half {
		half += " to " + most
	}
	if e.Said != "" {
		return e.Label + ": " + ofClamped(fmt.Sprintf(e.Said, half), e.Clamped)
	}
	s := e.Label + " ± " + ofClamped(half, e.Clamped)
	if limits := e.limits(); limits != "" {
		s += ", " + limits
	}
	return s
}

// limits says how far limits may move the value beyond its noise; "" if they do not.
func (e ErrorBar) limits() string {
	do := "limits leave out "
	if e.Moves {
		do = "limits move it by "
	}
	switch {
	case math.IsInf(e.Beyond, 1):
		return do + "more than can be told"
	case e.Beyond > 0:
		return do + "up to " + e.Unit.about(e.Beyond) + " more"
	}
	return ""
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
		return fmt.Sprintf("The error of %s is not known.", e.Label)
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
	if limits := e.limits(); limits != "" {
		s += ", and " + limits
	}
	return s + "."
}
