package planner

// A Row is a row of a read, as texts.
type Row struct {
	Keys [][]byte
	// Measure is that of the set whose units the row is of, −1 where units have one row.
	Measure int
	Vector  int   // of the measure
	Levels  []int // of the units, by the norms of the measure
	// Units is the number of units of these levels, each counted in one row alone; nil where the row
	// does not have it.
	Units []byte
	// Weights is what the selection of partitions is tried on; nil where the row does not have it.
	Weights []byte
	Cells   []Cell
}

// A Cell is one integer of a read row, and which of the integers of its grouping set it is. Directions
// are nil where they are not used.
type Cell struct {
	At              int
	Sum, Directions []byte
}

// Parse reads a row of units with one row each; ok is false for a row that the read's SQL cannot have returned.
func (r *Read) Parse(row [][]byte) (out Row, ok bool) {
	ok = r.ParseInto(&out, row)
	return out, ok
}

// ParseInto is Parse into the memory of another row.
func (r *Read) ParseInto(out *Row, row [][]byte) (ok bool) {
	if len(row) < r.keys {
		return false
	}
	*out = Row{Keys: row[:r.keys], Measure: -1, Levels: out.Levels[:0], Cells: out.Cells[:0]}
	row = row[r.keys:]
	var own valueForm
	if len(r.statistics) == 1 {
		own = r.statistics[0].own()
	}
	if own == nil {
		return r.parsePlain(out, row)
	}
	out.Cells, ok = own.places(row)
	for i := range out.Cells {
		out.Cells[i].At += r.statistics[0].place
	}
	return ok
}

// parsePlain reads the integers of plain statistics.
func (r *Read) parsePlain(out *Row, row [][]byte) bool {
	want := len(r.statistics)
	if r.units {
		want++
	}
	if len(row) != want {
		return false
	}
	if r.units {
		out.Weights, row = row[0], row[1:]
	}
	for i, s := range r.statistics {
		out.Cells = append(out.Cells, Cell{At: s.place, Sum: row[i]})
	}
	return true
}

// A levelColumn is a norm by which units have levels.
type levelColumn struct {
	measure *Measure
	norm    int
	vector  int
}

// A sumColumn is a summand.
type sumColumn struct {
	place   int
	vector  int
	shared  bool // by all vectors
	bounds  bool // units by its norm, and is not released
	measure *Measure
}

// width is how many columns the sums of the read have.
func (r *Read) width() int { return r.keys + len(r.levels) + 1 + 2*len(r.sums) }

// Has reports whether units can have a level.
func (n Norm) Has(level int) bool { return level >= -n.Grid.Below() && level <= n.Grid.Len() }
