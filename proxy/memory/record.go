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
	if p.Private() {
		s.Keys = [][]*string{}
	} else if len(kept.Partitions) != p.Size() && len(p.Reads) > 0 {
		return nil
	}
	independent := p.Reduction != nil && p.Reduction.Independent()
	if p.Reduction != nil && !independent && (s.Level < 0 || s.Level >= p.Reduction.Levels()) {
		return nil
	}
	for _, group := range kept.Partitions {
		if p.Private() {
			if len(group.Key) != p.Keys() {
				return nil
			}
			s.Keys = append(s.Keys, group.Key)
		}
		if !independent {
			if len(group.Values) != len(p.Mechanisms) {
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
