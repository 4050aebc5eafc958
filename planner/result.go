package planner

import "dpproxy/dp"

// A Cell is one integer of a read row: which of the integers of its grouping set it is, or Units.
type Cell struct {
	At   int
	Text []byte
}

// Units is the place of the number of units of a partition.
const Units = -1

// Parse splits a row of the read into its keys and its integers; ok is false for a row
// that the read's SQL cannot have returned.
func (r *Read) Parse(row [][]byte) (keys [][]byte, cells []Cell, ok bool) {
	n := r.set.Keys()
	if len(row) < n {
		return nil, nil, false
	}
	keys, row = row[:n], row[n:]
	if len(r.statistics) == 1 {
		if own := r.statistics[0].own(); own != nil {
			cells, ok = own.places(row)
			for i := range cells {
				cells[i].At += r.statistics[0].first
			}
			return keys, cells, ok
		}
	}
	want := len(r.statistics)
	if r.units {
		want++
	}
	if len(row) != want {
		return nil, nil, false
	}
	if r.units {
		cells = append(cells, Cell{Units, row[0]})
		row = row[1:]
	}
	for i, s := range r.statistics {
		cells = append(cells, Cell{s.first, row[i]})
	}
	return keys, cells, true
}

// smallInt reads digits.
func smallInt(text []byte) (int, bool) {
	if len(text) == 0 || len(text) > 9 {
		return 0, false
	}
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// Partition returns the partition that the keys of a read row name, of a part with public
// keys, or -1 if they are each public, but not together; ok is false for keys that the
// read's SQL cannot have returned.
func (p *GroupingSet) Partition(keys [][]byte) (at int, ok bool) {
	numbers := make([]int, len(keys))
	for i, k := range keys {
		n, ok := smallInt(k)
		if !ok || !p.numbered(i, n) {
			return 0, false
		}
		numbers[i] = n
	}
	if at, ok = p.Index(numbers); !ok {
		at = -1
	}
	return at, true
}

// numbered reports whether the key at a place of the set has a value of that number.
func (p *GroupingSet) numbered(place, n int) bool {
	for _, l := range p.lists {
		for i, k := range l.keys {
			if k == p.keys[place] {
				return n <= len(l.elements[i]) && (n > 0 || l.null[i])
			}
		}
	}
	return false
}

// A Statistic is one exact aggregate of a grouping set, from First on among the integers of each
// partition, which one unit can change by the sensitivity. Of a histogram, that is the
// sensitivity of each level: in ℓ₁ and ℓ₂ norm over the nodes of one partition, LInf.
type Statistic struct {
	Name        string
	First       int
	Levels      []int // how many integers each level has; one level unless it is a histogram
	Sensitivity dp.Sensitivity
}

// Statistics lists those of the grouping set.
func (p *GroupingSet) Statistics() []Statistic {
	var out []Statistic
	for _, s := range p.statistics {
		out = append(out, Statistic{s.String(), s.first, s.shape(), s.sensitivity})
	}
	return out
}
