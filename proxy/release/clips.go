package release

import (
	"math/big"

	"dpproxy/contribution"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// clipped draws where the units of each measure of a grouping set are cut, and how many are: their limits, and
// the numbers of units above them. It is paid for, and comes before the integers, whose noise follows
// from it. Measures that share the limits of the finest set have those that were drawn there.
func clipped(set *planner.GroupingSet, e *reader.Exact, finest []planner.Clip, src mechanisms.Source) ([]planner.Clip, error) {
	clips := make([]planner.Clip, len(set.Measures))
	for i, m := range set.Measures {
		if m.Shared() {
			clips[i] = finest[i]
			continue
		}
		units := make([]*contribution.Cells, m.Vectors)
		for v := range units {
			units[v] = e.Units(i, v)
		}
		var err error
		if clips[i], err = clip(m, units, src); err != nil {
			return nil, err
		}
		if again := m.Norms[0].Again; again != nil && set.Loses(m, clips[i], set.Confidence()) {
			if err := clipAgain(m, again, &clips[i], units[0], src); err != nil {
				return nil, err
			}
		}
	}
	return clips, nil
}

// clipAgain draws a larger limit, and the numbers of units about it, where those that were released tell that a limit leaves out too
// much. They also tell how many units there are to be saved. It was paid for, whether it is drawn or not.
func clipAgain(m *planner.Measure, again *contribution.Choice, c *planner.Clip, units *contribution.Cells, src mechanisms.Source) error {
	surely := m.Tail.Surely([contribution.TailNumbers]*big.Int(c.Tail))
	var err error
	if c.Levels[0], err = again.ChooseAgain(src, c.Levels[0], surely, units.Above(0, m.Norms[0].Choices)); err != nil {
		return err
	}
	tail := m.Tail.Release(src, m.TailUnits(*c, units))
	c.Tail = tail[:]
	return nil
}

// clip draws that of one measure, from the units by level in each of its vectors.
func clip(m *planner.Measure, units []*contribution.Cells, src mechanisms.Source) (planner.Clip, error) {
	c := planner.Clip{Levels: make([]int, len(m.Norms))}
	last := len(m.Norms) - 1
	for i, n := range m.Norms {
		if n.Choice == nil {
			c.Levels[i] = n.Fixed
			continue
		}
		of := units[:1] // all vectors have the norms before the last
		if i == last {
			of = units
		}
		var above [][]mechanisms.Private
		for _, u := range of {
			above = append(above, u.Above(i, n.Choices))
		}
		var err error
		if c.Vector, c.Levels[i], err = n.Choice.Choose(src, above...); err != nil {
			return c, err
		}
	}
	if m.Tail != nil {
		tail := m.Tail.Release(src, m.TailUnits(c, units[c.Vector]))
		c.Tail = tail[:]
	}
	return c, nil
}
