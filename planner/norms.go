package planner

import (
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
)

// A Norm is a norm with the limits that it can have.
type Norm struct {
	// Grid tells norms apart.
	Grid contribution.Grid
	// Choice chooses one of the first Choices limits. Where it is nil the limit is the public one at
	// Fixed.
	Choice         *contribution.Choice
	Choices, Fixed int
	// Again chooses another one, once more, where that one leaves out too much; nil where it may not.
	Again *contribution.Choice

	cuts bool    // a unit can be above the limits
	row  float64 // is the bound of one row; 0 where nothing is gained by limits below it
	// saturation is the most that a unit adds to a group: more is taken as so much.
	saturation int64
}

// last returns the largest level that the limit can have.
func (n Norm) last() int { return max(n.Fixed, n.Choices-1) }

// Norms are those that bound the weights of the units of a measure: one, or of an average two, of second moments two or three.
type Norms []Norm

// cuts reports whether a unit can be above the limits.
func (n Norms) cuts() bool {
	return slices.ContainsFunc(n, func(one Norm) bool { return one.cuts })
}

// chosen reports whether a limit is chosen privately.
func (n Norms) chosen() bool {
	return slices.ContainsFunc(n, func(one Norm) bool { return one.Choices > 0 })
}

// grids lists those of the norms.
func (n Norms) grids() []contribution.Grid {
	var out []contribution.Grid
	for _, norm := range n {
		out = append(out, norm.Grid)
	}
	return out
}

// leastLevels are those of the least limits that there can be.
func (n Norms) leastLevels() []int {
	out := make([]int, len(n))
	for i, norm := range n {
		out[i] = norm.Fixed
	}
	return out
}

// levels are those of all norms, of which one is given.
func (n Norms) levels(norm, level int) []int {
	out := n.leastLevels()
	out[norm] = level
	return out
}

// dividing returns the norms whose limits are chosen, or one where none is.
func (n Norms) dividing() (norms []*Norm) {
	for i := range n {
		if n[i].Choices > 0 {
			norms = append(norms, &n[i])
		}
	}
	if norms == nil {
		return []*Norm{&n[0]}
	}
	return norms
}

// chooseBy gives a norm whose limit is chosen its choices.
func (n *Norm) chooseBy(m dp.Measure, s contribution.Shares, of contribution.Asked) error {
	if n.Choices < 1 {
		return nil
	}
	c, err := contribution.NewChoice(m, s, of)
	n.Choice = &c
	if err != nil || s.Again < 1 {
		return err
	}
	s.Choice = s.Again
	again, err := contribution.NewChoice(m, s, of)
	n.Again = &again
	return err
}
