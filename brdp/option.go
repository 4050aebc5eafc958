package brdp

// An Option is the cheapest design of one kind that meets a goal.
type Option struct {
	Design

	// Gaussian says that the kernel is a Gaussian one, else it is a Laplace one.
	Gaussian bool
}

// wish is a goal, with recycling or without.
type wish struct {
	goal    Goal
	recycle bool
}

// Options returns the choices for a goal: of each kernel that the measure admits the
// cheapest plain design, and with recycle also the cheapest recycled one, if recycling is
// possible at all. It may cost more than the plain one: the caller compares.
func (d *Designer) Options(g Goal, recycle bool) ([]Option, error) {
	return d.options.get(wish{g, recycle}, func() ([]Option, error) {
		p, err := g.problem()
		if err != nil {
			return nil, err
		}
		var all []Option
		for _, f := range p.families() {
			var plain, recycled []Design
			for _, found := range p.reach(f, g.Acceptance, recycle) {
				if found.Recycled {
					recycled = append(recycled, found)
				} else {
					plain = append(plain, found)
				}
			}
			_, isGaussian := f.(gaussianFamily)
			for _, kind := range [][]Design{plain, recycled} {
				if best, err := choose(kind, cheaper); err == nil {
					all = append(all, Option{best, isGaussian})
				}
			}
		}
		return all, nil
	})
}
