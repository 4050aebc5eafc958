package planner

import (
	"fmt"
	"math/big"
)

// A group is judged by a released count: of its people, if the policy or the session wants a minimum of them, or of its people or rows, if
// the session wants no values of public groups without any. Let w be what the noise of the count exceeds with a probability β. A count n
// shows the group if n − w is at least the minimum, which is 1 if only rows are wanted. Otherwise the group is withheld whole.
//
// The rule sees the released count and public numbers, and nothing else, so it is post-processing: what an answer costs is the price of its
// releases, of which the count is one. Of fewer people than the minimum a group is shown with probability β at most, since the noise has to
// exceed w. Of as many as the minimum and 2w it is withheld with probability β at most.
//
// A withheld group of public keys is a row of NULLs, or is left out as the session wants. One of private keys is left out. Without GROUP BY
// there always is a row.

// A judge decides which groups of a grouping set are withheld.
type judge struct {
	statistic int     // the count
	fewest    int64   // people or rows
	beyond    float64 // β
	people    bool    // a minimum of people is wanted
	hides     bool    // public groups that are withheld are left out
	added     bool    // no aggregate needs the count
	part      float64 // of the budget that an added count has; 0 is unknown
}

// noise is what the noise of the count of a group exceeds with probability β at most.
func (j *judge) noise(r observation) float64 {
	noise := r.noise(j.statistic)
	if m, reduced := noise.(Margin); reduced {
		return m.exceeds(j.beyond)
	}
	return noise.Quantile(2 * j.beyond) // on both sides
}

// exceeds returns what the noise exceeds with a probability.
func (m Margin) exceeds(probability float64) float64 {
	if m.noise != nil {
		return m.noise.Quantile(2 * probability)
	}
	return m.Sigma*normal(2*probability) + 0.5 // it is rounded
}

// origin says what the count costs.
func (j *judge) origin() string {
	switch {
	case !j.added:
		return "which the answer has"
	case j.part > 0:
		return fmt.Sprintf("released for this, %s %% of the budget", Number(100*j.part))
	}
	return "released for this, as precisely as a statement of the policy's epsilon would"
}

// withholds reports whether the count withholds a group.
func (j *judge) withholds(r observation) bool {
	n, _ := new(big.Float).SetInt(r.integer(j.statistic)).Float64()
	return n-j.noise(r) < float64(j.fewest)
}
