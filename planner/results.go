package planner

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
	"dpproxy/planner/pgtype"
)

// An output is an aggregate of the released relation, with its estimator.
type output struct {
	*aggregate
	estimator
	// unsettled says that its values are computed with a released result that is not known. All that follows from their bounds is of
	// another value then.
	unsettled bool
}

// results are the outputs of a grouping set, computed from the statistics of an aggregation.
type results struct {
	aggregation
	outputs []output
	alpha   float64 // one minus the confidence of statements about errors
	judge   *judge  // which groups are shown; nil if all are
	// showSmall shows values of small groups, which are NULL otherwise.
	showSmall bool
	// nonnegative says that counts and sums are shown without negative cells, and add up.
	nonnegative bool
	cache       *estimators
	// whyNot says why all groups get noise although the statement asks for the top groups; otherwise it is "".
	whyNot string
	// remedy says how the top groups can be chosen, if that may make them more precise.
	remedy string
}

// observed returns a partition as it was released.
func (r *results) observed(row integers) observation {
	return observation{r.statistics, r.cache, row, r.alpha}
}

// at returns the observation with another error probability.
func (r observation) at(alpha float64) observation {
	r.alpha = alpha
	return r
}

// text writes an output of one of so many partitions: its value, or its error, which fails with probability alpha. nil is NULL.
func (r *results) text(output int, row integers, groups int, alpha float64) *string {
	o, seen := &r.outputs[output], r.observed(row)
	if r.hides(o, row, groups) || r.unanswered(o, row.clips) && !o.asksCut() {
		return nil
	}
	if o.report == "" {
		return o.text(seen)
	}
	if o.level > 0 { // the call has a confidence of its own
		alpha *= (1 - o.level) / r.alpha
	}
	f := o.reported(seen.at(alpha))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	return &s
}

// reported returns the error of an output.
func (o *output) reported(r observation) float64 {
	switch o.report {
	case "error":
		return o.furthest(r)
	case "lower":
		low, _ := o.ends(r)
		return low
	case "upper":
		_, high := o.ends(r)
		return high
	case "cut":
		about, _ := o.cut(r)
		return about
	case "cut_upper":
		_, most := o.cut(r)
		return most
	}
	return o.standardError(r)
}

// furthest returns the distance from the value to the farther end of its interval, which includes what limits of contributions leave out.
// NaN is unknown.
func (o *output) furthest(r observation) float64 {
	if o.silent {
		return math.NaN()
	}
	low, high := o.ends(r)
	if value := o.number(r); !math.IsNaN(value) || math.IsNaN(low) || math.IsNaN(high) {
		return max(value-low, high-value)
	}
	return o.radius(r) // of values by their ranks
}

// cut returns about how many units limits cut in a statistic of the output, and an upper bound.
func (o *output) cut(r observation) (about, most float64) {
	for _, i := range o.statistics() {
		if e, ok := r.excess(i); ok {
			about, most = max(about, e.Units), max(most, math.Ceil(e.AtMost))
		}
	}
	return about, most
}

// refinable reports whether an output is computed from sums and counts, so that its error follows from their errors and decreases with
// them.
func (r *results) refinable(o *output) bool {
	for _, i := range o.statistics() {
		if r.statistics[i].nodes() > 1 {
			return false
		}
	}
	return true
}

// shows reports whether a statistic, up to its unit, is a value that is shown.
func (r *results) shows(statistic int) bool {
	return slices.ContainsFunc(r.outputs, func(o output) bool {
		_, linear := o.linear()
		return o.report == "" && linear && o.statistics()[0] == statistic
	})
}

// together returns the largest number of statistics from which a value is computed that needs statistic i: their error probabilities add
// up.
func (r *results) together(i int) int {
	most := 1
	for k := range r.outputs {
		if of := r.outputs[k].statistics(); slices.Contains(of, i) {
			most = max(most, len(of))
		}
	}
	return most
}

// boundary returns how far a statistic may be off if no value that is computed from it may have a larger error than most.
func (r *results) boundary(statistic int, most float64) int64 {
	const largest = 1 << 52
	least := float64(largest)
	for i := range r.outputs {
		if o := &r.outputs[i]; slices.Contains(o.statistics(), statistic) {
			factor, _ := o.linear()
			least = math.Min(least, math.Floor(most/factor))
		}
	}
	return int64(least)
}

// errorsOf returns the errors of the values of the grouping set with the given noise.
func (r *results) errorsOf(designs []mechanisms.Mechanism) []ErrorBar {
	var bars []ErrorBar
	for i := range r.outputs {
		o := &r.outputs[i]
		if o.report != "" {
			continue
		}
		factor, _ := o.linear()
		at := o.statistics()[0]
		noise := contribution.Noise{Of: designs[at]}
		if s := r.statistics[at]; s.measure != nil {
			noise.Bits = s.measure.lattice(s)
		}
		half := noise.Quantile(r.alpha) * factor
		bar := o.bar()
		bar.Least, bar.Most = half, half
		bars = append(bars, bar)
	}
	return bars
}

// bar returns an error without its figures.
func (o *output) bar() ErrorBar {
	return ErrorBar{Label: o.label, Unit: o.unit(), Least: -1, Most: -1, Said: o.said(), Clamped: o.clampedTo()}
}

// clampedTo returns the bounds to which values are clamped, if any value can be beyond them. No error includes the effect of clamping,
// neither before nor after the answer, neither of a sum nor of a moment or a rank. Bounds that a result decides that is not known are left
// out.
func (o *output) clampedTo() (bounds string) {
	if o.unsettled {
		return ""
	}
	for _, t := range o.cutTerms() {
		bounds = both(bounds, o.boundsOf(t)+t.computedOf())
	}
	return bounds
}

// both joins two lists of bounds, each named once.
func both(bounds, more string) string {
	switch {
	case strings.Contains(bounds, more):
		return bounds
	case bounds == "":
		return more
	}
	return bounds + " and " + more
}

// ofClamped appends to the text of an error the bounds to which its values are clamped.
func ofClamped(told, bounds string) string {
	switch {
	case bounds == "":
		return told
	case strings.Contains(told, ", ") || strings.HasSuffix(told, knownAfter):
		told += ","
	}
	return told + " of values clamped to " + bounds
}

// declared names the bounds that the policy declares for expressions in the clamped values.
func (o *output) declared() (said string) {
	for _, t := range o.cutTerms() {
		said += t.declared()
	}
	return said
}

// boundsOf writes the bounds of the values of a term; the bounds of an interval are in seconds.
func (o *output) boundsOf(t term) string {
	if o.result.OID == pgtype.Interval {
		return t.bounds() + " " + string(inSeconds)
	}
	return t.bounds()
}

// cutTerms returns the arguments whose values can be beyond the bounds to which they are clamped.
func (o *output) cutTerms() []term {
	var out []term
	for _, t := range o.clamped() {
		if !t.everyValue() {
			out = append(out, t)
		}
	}
	return out
}
