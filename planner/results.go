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

// An output is one aggregate of the released relation, with its estimator.
type output struct {
	*aggregate
	estimator
}

// results are the outputs of a grouping set, computed from the statistics of an aggregation.
type results struct {
	aggregation
	outputs []output
	alpha   float64 // one minus the confidence of error statements
	// showSmall says that values of small groups are not NULL.
	showSmall bool
	// nonnegative says that counts and sums are shown without negative cells, and add up.
	nonnegative bool
	cache       *estimators
	// whyNot says why all groups have noise where the top of them is asked for; "" else.
	whyNot string
	// choosable says that they would be chosen with dp.top = on.
	choosable bool
}

// observed is one partition as it was released.
func (r *results) observed(row integers) observation {
	return observation{r.statistics, r.cache, row, r.alpha}
}

// at is the partition, with errors that fail with another probability.
func (r observation) at(alpha float64) observation {
	r.alpha = alpha
	return r
}

// text writes an output of one of so many partitions, its value or its error, which fails with probability alpha; nil is NULL.
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

// reported is the error of an output.
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

// furthest is how far the value is from the end of its interval that is further away: that end is above it by what
// limits of contributions leave out, too. NaN is unknown.
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

// cut returns about how many units count for less than they have in a statistic of the output, and
// at most how many.
func (o *output) cut(r observation) (about, most float64) {
	for _, i := range o.statistics() {
		if e, ok := r.excess(i); ok {
			about, most = max(about, e.Units), max(most, math.Ceil(e.AtMost))
		}
	}
	return about, most
}

// refinable reports whether an output is computed from sums and counts, so that its error
// follows from theirs, and gets smaller with it.
func (r *results) refinable(o *output) bool {
	for _, i := range o.statistics() {
		if r.statistics[i].nodes() > 1 {
			return false
		}
	}
	return true
}

// shows reports whether a statistic is, but for its unit, a value that is shown.
func (r *results) shows(statistic int) bool {
	return slices.ContainsFunc(r.outputs, func(o output) bool {
		_, linear := o.linear()
		return o.report == "" && linear && o.statistics()[0] == statistic
	})
}

// together returns how many statistics, at most, one value is computed from that needs
// statistic i: their error probabilities add up.
func (r *results) together(i int) int {
	most := 1
	for k := range r.outputs {
		if of := r.outputs[k].statistics(); slices.Contains(of, i) {
			most = max(most, len(of))
		}
	}
	return most
}

// boundary is how far a statistic may be off so that no value that is computed of it
// has a larger error.
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

// errorsOf returns the errors of the grouping set's values with the given noise.
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

// bar has all of an error that is no figure.
func (o *output) bar() ErrorBar {
	return ErrorBar{Label: o.label, Unit: o.unit(), Least: -1, Most: -1, Said: o.said(), Clamped: o.clampedTo()}
}

// clampedTo has the bounds that values are clamped to, where any can be beyond them: no error has a part for that, be it known before or
// after, of a sum, a moment or a rank. It is one of the clamped values.
func (o *output) clampedTo() (bounds string) {
	for _, t := range o.cutTerms() {
		bounds = both(bounds, o.boundsOf(t)+t.computedOf())
	}
	return bounds
}

// both names the bounds of two kinds of values, each once.
func both(bounds, more string) string {
	switch {
	case strings.Contains(bounds, more):
		return bounds
	case bounds == "":
		return more
	}
	return bounds + " and " + more
}

// ofClamped says behind what is told of an error to which bounds the values are clamped that it is of.
func ofClamped(told, bounds string) string {
	switch {
	case bounds == "":
		return told
	case strings.Contains(told, ", ") || strings.HasSuffix(told, knownAfter):
		told += ","
	}
	return told + " of values clamped to " + bounds
}

// declared says which bounds of the policy there are for what the clamped values are computed of, beside those of columns.
func (o *output) declared() (said string) {
	for _, t := range o.cutTerms() {
		said += t.declared()
	}
	return said
}

// boundsOf writes the bounds of the values of a term; an interval is computed of seconds.
func (o *output) boundsOf(t term) string {
	if o.result.OID == pgtype.Interval {
		return t.bounds() + " " + string(inSeconds)
	}
	return t.bounds()
}

// cutTerms are the arguments whose values can be beyond the bounds that they are clamped to.
func (o *output) cutTerms() []term {
	var out []term
	for _, t := range o.clamped() {
		if !t.everyValue() {
			out = append(out, t)
		}
	}
	return out
}
