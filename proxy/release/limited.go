package release

import (
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// limited is noise reduction within the limits of measures, which are drawn once: before its first
// round, and never in a later read that goes on from it.
type limited struct {
	set       *planner.GroupingSet
	clips     []planner.Clip
	reduction *planner.NoiseReduction // within them; nil until they are known
}

// choose draws the limits.
func (l *limited) choose(e *reader.Exact, src mechanisms.Source) (err error) {
	l.clips, err = clipped(l.set, e, nil, src)
	return err
}

// within takes limits that were drawn.
func (l *limited) within(clips []planner.Clip) (err error) {
	l.clips = clips
	l.reduction, err = l.set.Reduction.Within(clips)
	return err
}

// exact returns the exact values of each statistic within the limits, one for each partition.
func (l *limited) exact(partitions []*reader.Partition) [][]mechanisms.Private {
	exact := make([][]mechanisms.Private, len(l.reduction.Statistics))
	for m := range exact {
		exact[m] = make([]mechanisms.Private, len(partitions))
		for i, p := range partitions {
			exact[m][i] = p.At(l.set, m, l.clips)
		}
	}
	return exact
}
