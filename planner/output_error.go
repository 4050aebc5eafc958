package planner

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"dpproxy/parser/ast"
)

// An OutputError is the error of an output column, as one interval around each of its values: that of dp.lower and dp.upper, which includes
// what limits of contributions leave out.
type OutputError struct {
	Name  string
	title string // that is told; empty: the name
	// Known says that a formula has it; Instead is said in the place of intervals, such as "withheld".
	Known   bool
	Instead string

	unit     errorUnit
	replayed bool // the ends are observed, and known less exactly
	values   int  // that are shown
	// The distance of a value from the farther end of its interval is between nearest and farthest. In the row of farthest, the value and
	// its distances from both ends are these. Infinite distances are not known.
	nearest, farthest   float64
	value, below, above float64
}

// OutputErrors returns the errors of all output columns with noise, in their order. Released has the relations of each block.
func OutputErrors(p *Plan, released [][]*Released) (all []OutputError) {
	if !noisy(p) {
		return nil
	}
	for _, c := range p.outputs {
		e := outputError(p, c, released)
		e.title = titleOf(p, c)
		all = append(all, e)
	}
	return all
}

// titleOf names an output column for people: by its aggregate if another column has the same name.
func titleOf(p *Plan, c ast.Output) string {
	same := 0
	for _, other := range p.outputs {
		if other.Name == c.Name {
			same++
		}
	}
	if same == 1 || !c.Plain() {
		return c.Name
	}
	return p.Blocks[c.Of[0].Block].block.aggregates[c.Of[0].Aggregate].label
}

// outputError is the error of an output column.
func outputError(p *Plan, c ast.Output, released [][]*Released) OutputError {
	e := OutputError{Name: c.Name, Known: len(c.Of) > 0}
	for _, at := range c.Of {
		b := p.Blocks[at.Block]
		if !b.none {
			e.widen(b, at.Aggregate, released[at.Block], c.Plus)
		}
		if e.values == 0 {
			e.Instead = instead(b.errorOf(at.Aggregate, released[at.Block]), c.Plus)
		}
	}
	if e.values > 0 {
		e.Instead = ""
	}
	return e
}

// instead is said of a column none of whose values is shown with an interval. Plus is what the statement adds to errors by rounding.
func instead(bar ErrorBar, plus float64) string {
	switch {
	case bar.Withheld:
		return "withheld"
	case bar.Hidden:
		return "hidden, of too few rows for the noise"
	case bar.Unanswered:
		return "not answered"
	case bar.None:
		return "of no group"
	case !bar.Known() || math.IsInf(bar.Least, 1):
		return unknownError
	case bar.Said != "":
		return fmt.Sprintf(bar.Said, Grouped(bar.Most))
	}
	if math.IsInf(bar.Most+bar.Beyond, 1) {
		return unknownError
	}
	figure := func(half float64) string {
		if bar.Unit != "" {
			return bar.Unit.figure(half + bar.Beyond + plus)
		}
		return Grouped(upward(half+bar.Beyond+plus, 3))
	}
	if least, most := figure(bar.Least), figure(bar.Most); least != most {
		return "± " + least + " to " + most
	}
	return "± " + figure(bar.Most)
}

// widen has the error include those of the values of an aggregate which are shown.
func (e *OutputError) widen(b *BlockPlan, aggregate int, released []*Released, plus float64) {
	eachInterval(b, aggregate, released, func(o *output, seen observation, value, low, high float64) {
		e.unit = o.unit()
		e.Add(value, value-low+plus, high-value+plus)
	})
}

// eachInterval calls visit with the values of an aggregate that are shown and have an interval.
func eachInterval(
	b *BlockPlan, aggregate int, released []*Released, visit func(o *output, seen observation, value, low, high float64),
) {
	alpha := atConfidence(b, released)
	for j, rows := range b.judged(released) {
		g := b.Sets[j]
		o := &g.outputs[aggregate]
		if o.form.reports() == noReports { // an interval is of numbers of rows
			continue
		}
		if len(rows) > 0 && g.unanswered(o, rows[0].clips) {
			continue
		}
		for _, row := range rows {
			if g.hides(o, row, len(rows)) {
				continue
			}
			seen := g.observed(row).at(alpha)
			if value, low, high, ok := o.interval(seen); ok {
				visit(o, seen, value, low, high)
			}
		}
	}
}

// interval returns a value and the ends of its interval; ok is false if it has none.
func (o *output) interval(seen observation) (value, low, high float64, ok bool) {
	low, high = o.ends(seen)
	value = o.number(seen)
	return value, low, high, !math.IsNaN(value) && !math.IsNaN(low) && !math.IsNaN(high)
}

// ReplayedError returns that of a column whose errors are observed in replays of the statement. It has no value yet.
func ReplayedError(name string) OutputError { return OutputError{Name: name, replayed: true} }

// Bounded reports whether a formula bounds the error of some value.
func (e OutputError) Bounded() bool { return e.Known && e.values > 0 && !math.IsInf(e.nearest, 1) }

// Add includes the error of one more value, by its distances from the ends of its interval.
func (e *OutputError) Add(value, below, above float64) {
	far := max(below, above)
	if e.values == 0 {
		e.nearest = far
	}
	if e.values == 0 || far > e.farthest {
		e.farthest, e.value, e.below, e.above = far, value, below, above
	}
	e.nearest = min(e.nearest, far)
	e.values++
}

// asPercent is the error from which that of a single number is told as a part of it.
const asPercent = 100_000

// String writes "n ± 1,130", "revenue ± 2.1 %", "n (- 110 / + 650)", of several rows "n ± 20 to 310", and "top withheld".
func (e OutputError) String() string {
	name := cmp.Or(e.title, e.Name)
	if e.values == 0 {
		return name + " " + cmp.Or(e.Instead, unknownError)
	}
	much := 0.95
	if e.replayed {
		much = 0.6 // of few replicas an end is off by a third
	}
	even := min(e.below, e.above) >= much*max(e.below, e.above)
	switch {
	case math.IsInf(e.nearest, 1) && (e.values > 1 || even):
		return name + " " + unknownError
	case e.values == 1 && !even:
		return name + " (- " + e.figure(e.below) + " / + " + e.figure(e.above) + ")"
	case e.figure(e.nearest) != e.figure(e.farthest):
		return name + " ± " + e.figure(e.nearest) + " to " + e.figure(e.farthest)
	}
	return name + " ± " + e.figure(e.farthest)
}

// figure rounds a distance up to three digits, of replays to two.
func (e OutputError) figure(f float64) string {
	switch size := math.Abs(e.value); {
	case math.IsInf(f, 1):
		return "unknown"
	case e.unit != "":
		return e.unit.figure(f)
	case e.values == 1 && e.farthest >= asPercent && e.farthest < size:
		return TwoDigits(100*f/size, math.Ceil) + " %"
	}
	digits := 3
	if e.replayed {
		digits = 2
	}
	return Grouped(upward(f, digits))
}

// upward rounds a number up to so many digits.
func upward(f float64, digits int) float64 {
	const slack = 1e-9 // of a double that should be whole
	if f <= 0 {
		return 0
	}
	scale := math.Pow(10, math.Floor(math.Log10(f))-float64(digits-1))
	return math.Ceil(f/scale-slack) * scale
}

// Grouped writes a figure for people, from a thousand on with its digits in groups: "12,300".
func Grouped(f float64) string {
	text := Number(f)
	if f < 1000 || strings.Trim(text, "0123456789") != "" {
		return text
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
