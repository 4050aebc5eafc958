package planner

import "dpproxy/dp"

// A Cell is one integer of a read row: which of the part's integers it is, or Units.
type Cell struct {
	At   int
	Text []byte
}

// Units is the place of the number of units of a partition.
const Units = -1

// Parse splits a row of the read into its keys and its integers; ok is false for a row
// that the read's SQL cannot have returned.
func (r *Read) Parse(row [][]byte) (keys [][]byte, cells []Cell, ok bool) {
	n := r.part.Keys()
	if len(row) < n {
		return nil, nil, false
	}
	keys, row = row[:n], row[n:]
	if len(r.measures) == 1 && r.measures[0].kind == histogram {
		return r.parseNode(keys, row)
	}
	want := len(r.measures)
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
	for i, m := range r.measures {
		cells = append(cells, Cell{m.first, row[i]})
	}
	return keys, cells, true
}

// parseNode reads level, node and count.
func (r *Read) parseNode(keys, row [][]byte) ([][]byte, []Cell, bool) {
	m := r.measures[0]
	if len(row) != 3 {
		return nil, nil, false
	}
	level, ok1 := smallInt(row[0])
	node, ok2 := smallInt(row[1])
	if !ok1 || !ok2 || level >= m.shape.Levels() || node >= m.shape.Nodes(level) {
		return nil, nil, false
	}
	at := m.first + node
	for l := range level {
		at += m.shape.Nodes(l)
	}
	return keys, []Cell{{at, row[2]}}, true
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
func (p *Part) Partition(keys [][]byte) (at int, ok bool) {
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
func (p *Part) numbered(place, n int) bool {
	for _, l := range p.lists {
		for i, k := range l.keys {
			if k == p.set[place] {
				return n <= len(l.elements[i]) && (n > 0 || l.null[i])
			}
		}
	}
	return false
}

// A Measure is one exact aggregate of a part: Count integers of each partition, from First
// on, which one unit can change by the sensitivity. Of a histogram, that is the
// sensitivity of each level: in ℓ₁ and ℓ₂ norm over the nodes of one partition, LInf.
type Measure struct {
	Name        string
	First       int
	Levels      []int // how many integers each level has; one level unless it is a histogram
	Sensitivity dp.Sensitivity
}

// Measures lists what the part reads.
func (p *Part) Measures() []Measure {
	var out []Measure
	for _, m := range p.measures {
		levels := []int{1}
		if m.kind == histogram {
			levels = levels[:0]
			for l := range m.shape.Levels() {
				levels = append(levels, m.shape.Nodes(l))
			}
		}
		out = append(out, Measure{m.String(), m.first, levels, m.sensitivity})
	}
	return out
}
