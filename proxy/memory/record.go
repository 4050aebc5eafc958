package memory

import (
	"dpproxy/answers"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/release"
)

// record writes a set as it is kept.
func record(s *release.Set) answers.GroupingSet {
	partitions := make([]answers.Partition, max(len(s.Rows), len(s.Measured)))
	out := answers.GroupingSet{Level: s.Level, PaidPico: s.PaidPico, Partitions: partitions}
	for _, c := range s.Clips {
		out.Clips = append(out.Clips, answers.Clip(c))
	}
	for i := range out.Partitions {
		p := &out.Partitions[i]
		if s.Keys != nil {
			p.Key = s.Keys[i]
		}
		if s.Measured == nil {
			p.Values = s.Rows[i]
			continue
		}
		p.Measured = make([][]answers.Measurement, len(s.Measured[i]))
		for k, list := range s.Measured[i] {
			p.Measured[k] = make([]answers.Measurement, len(list))
			for l, m := range list {
				p.Measured[k][l] = answers.Measurement{Variance: m.Variance, Value: m.Value}
			}
		}
	}
	return out
}

// setsOf is the inverse of record for all grouping sets of a block, nil if the release is none of
// the block.
func setsOf(r *answers.Release, b *planner.BlockPlan) []*release.Set {
	if r == nil || len(r.Sets) != len(b.Sets) {
		return nil
	}
	sets := make([]*release.Set, len(b.Sets))
	for j, set := range b.Sets {
		if sets[j] = setOf(r.Sets[j], set); sets[j] == nil {
			return nil
		}
	}
	for _, p := range r.Payments {
		if !valid(p, len(b.Sets)) {
			return nil
		}
	}
	return sets
}

// setOf reads one, nil if it is not of the grouping set.
func setOf(kept answers.GroupingSet, p *planner.GroupingSet) *release.Set {
	s := &release.Set{Level: kept.Level, PaidPico: kept.PaidPico}
	var ok bool
	if s.Clips, ok = clips(kept.Clips, p.Measures); !ok {
		return nil
	}
	if p.ShowsKeys() {
		s.Keys = [][]*string{}
	}
	if n := p.Shows(); len(kept.Partitions) != n && n >= 0 && (len(p.Reads) > 0 || p.Totals() != nil) {
		return nil
	}
	independent := p.Reduction != nil && p.Reduction.Independent()
	if p.Reduction != nil && !independent && (s.Level < 0 || s.Level >= p.Reduction.Levels()) {
		return nil
	}
	for _, group := range kept.Partitions {
		if p.ShowsKeys() {
			if len(group.Key) != p.Keys() {
				return nil
			}
			s.Keys = append(s.Keys, group.Key)
		}
		if !independent {
			if len(group.Values) != p.Integers() {
				return nil
			}
			s.Rows = append(s.Rows, group.Values)
			continue
		}
		measured := measurements(group.Measured, len(p.Reduction.Statistics))
		if measured == nil {
			return nil
		}
		s.Measured = append(s.Measured, measured)
	}
	return s
}

// clips reads where units were cut, false if it is not of the measures: a release that says nothing of limits is none of a set that has
// them.
func clips(kept []answers.Clip, measures []*planner.Measure) ([]planner.Clip, bool) {
	if len(kept) != len(measures) {
		return nil, false
	}
	var out []planner.Clip
	for i, m := range measures {
		c := planner.Clip(kept[i])
		if c.Vector < 0 || c.Vector >= m.Vectors || len(c.Levels) != len(m.Norms) || len(c.Tail) != m.Tail.Numbers() {
			return nil, false
		}
		for k, level := range c.Levels {
			n := m.Norms[k]
			if n.Choice == nil && level != n.Fixed || n.Choice != nil && (level < 0 || level >= n.Choices) {
				return nil, false
			}
		}
		out = append(out, c)
	}
	return out, true
}

// measurements reads the measurements of each statistic of a partition, nil if they are none of it.
func measurements(kept [][]answers.Measurement, measures int) [][]mechanisms.Measurement {
	if len(kept) != measures {
		return nil
	}
	out := make([][]mechanisms.Measurement, measures)
	for k, list := range kept {
		out[k] = make([]mechanisms.Measurement, len(list))
		for l, m := range list {
			if m.Variance.Sign() <= 0 {
				return nil
			}
			out[k][l] = mechanisms.Measurement{Variance: m.Variance, Value: m.Value}
		}
	}
	return out
}
