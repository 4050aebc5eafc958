package planner

import "math"

// A KnownError is that of one value of an output column, whose error follows from its aggregates by a formula.
type KnownError struct {
	// Text is the value as it was released.
	Text string
	// Below and Above are its distances from the ends of its interval, and Deviation that of its noise; NaN is unknown.
	Below, Above, Deviation float64
}

// KnownErrors returns those of an output column of that name; none if it has no formula. Equal values have the same error, the larger one.
func KnownErrors(p *Plan, released [][]*Released, name string) (all []KnownError) {
	at := map[string]int{}
	for _, c := range p.outputs {
		if c.Name != name {
			continue
		}
		for _, place := range c.Of {
			b := p.Blocks[place.Block]
			if b.none || released[place.Block] == nil {
				continue
			}
			eachInterval(b, place.Aggregate, released[place.Block], func(o *output, seen observation, value, low, high float64) {
				text := o.text(seen)
				if text == nil {
					return
				}
				e := KnownError{*text, value - low + c.Plus, high - value + c.Plus, math.NaN()}
				if o.form.reports() == allReports {
					e.Deviation = o.standardError(seen)
				}
				if i, ok := at[*text]; ok {
					all[i] = all[i].or(e)
					return
				}
				at[*text] = len(all)
				all = append(all, e)
			})
		}
		return all
	}
	return nil
}

// or is the larger of two errors, on each side.
func (e KnownError) or(f KnownError) KnownError {
	return KnownError{e.Text, max(e.Below, f.Below), max(e.Above, f.Above), max(e.Deviation, f.Deviation)}
}
