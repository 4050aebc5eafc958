package planner

import (
	"fmt"
	"math"
)

// An ErrorBar is the error of one aggregate at the plan's confidence, for each row
// of the released relation alone.
type ErrorBar struct {
	Label string // e.g. "avg(cost)"
	// Unit is what Least, Most and Beyond are measured in.
	Unit errorUnit
	// Least and Most are the half-widths of the narrowest and the widest interval
	// over the rows, in units of the value (days or seconds of times). They are negative
	// where they are known with the answer only, or not at all.
	Least, Most float64
	// Hidden says that all values are NULL, of small groups, None that there are no groups, and Unanswered that the values are NULL
	// since a limit leaves out too much.
	Hidden, None, Unanswered bool
	// Said is what the error means where it is a number of rows, written %s: of a value that was chosen.
	Said string
	// Beyond is how much more the limits of contributions may leave out of a row, if what units
	// have goes on above them as it does below. Moves says that the value is no sum, of which something is left out.
	Beyond float64
	Moves  bool
	// Clamped are the bounds of the values that it is of, if any can be beyond them.
	Clamped string
}

// Known reports whether anything is known of the error.
func (e ErrorBar) Known() bool { return e.Least >= 0 }

// sameAs reports whether two errors are written alike.
func (e ErrorBar) sameAs(f ErrorBar) bool { return e.String() == f.String() }

// or is the error of a value that has one of two in each row; first says that there is no other one yet.
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

// String writes the error as "count(*) ± 20", or "avg(cost) ± 2.5 to 31 of values clamped to [0, 20000]".
func (e ErrorBar) String() string {
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
		return e.Label + " of unknown error"
	}
	half := e.Unit.figure(e.Least)
	if most := e.Unit.figure(e.Most); most != half {
		half += " to " + most
	}
	if e.Said != "" {
		return e.Label + ": " + ofClamped(fmt.Sprintf(e.Said, half), e.Clamped)
	}
	s := e.Label + " ± " + ofClamped(half, e.Clamped)
	do := ", limits leave out "
	if e.Moves {
		do = ", limits move it by "
	}
	if math.IsInf(e.Beyond, 1) {
		return s + do + "more than can be told"
	}
	if e.Beyond > 0 {
		s += do + "up to " + e.Unit.about(e.Beyond) + " more"
	}
	return s
}
