package planner

import (
	"slices"

	"dpproxy/contribution"
	"dpproxy/dp"
)

// A Norm is a norm of what a unit adds, with its possible limits.
type Norm struct {
	// Grid has the limits.
	Grid contribution.Grid
	// Choice chooses one of the first Choices limits. If it is nil, the limit is the public limit Fixed.
	Choice         *contribution.Choice
	Choices, Fixed int
	// Again, if not nil, chooses a limit once more if the first leaves out too much.
	Again *contribution.Choice

	cuts bool    // a unit can be above the limits
	row  float64 // the bound of one row, or 0 if limits below it gain nothing
	// saturation is the most that a unit adds to a group; larger contributions are clamped to it.
	saturation int64
}

// last returns the largest level that the limit can have.
func (n Norm) last() int { return max(n.Fixed, n.Choices-1) }

// Norms bound the weight of the units of a measure: one norm, two of an average, or two or three of second moments.
type Norms []Norm

// cuts reports whether a unit can be above the limits.
func (n Norms) cuts() bool {
	return slices.ContainsFunc(n, func(one Norm) bool { return one.cuts })
}

// chosen reports whether a limit is chosen privately.
func (n Norms) chosen() bool {
	return slices.ContainsFunc(n, func(one Norm) bool { return one.Choices > 0 })
}

// grids returns the grids of the norms.
func (n Norms) grids() []contribution.Grid {
	var out []contribution.Grid
	for _, norm := range n {
		out = append(out, norm.Grid)
	}
	return out
}

// leastLevels returns the level of the smallest possible limit of each norm.
func (n Norms) leastLevels() []int {
	out := make([]int, len(n))
	for i, norm := range n {
		out[i] = norm.Fixed
	}
	return out
}

// levels returns leastLevels with one level replaced.
func (n Norms) levels(norm, level int) []int {
	out := n.leastLevels()
	out[norm] = level
	return out
}

// dividing returns the norms whose limits are chosen, or the first norm if none is.
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
