package planner

// Units is the place of the number of units of a partition.
const Units = -1

// Parse splits a row of the read into its keys and its integers; ok is false for a row
// that the read's SQL cannot have returned.
func (r *Read) Parse(row [][]byte) (keys [][]byte, cells []Cell, ok bool) {
	n := r.keys
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
