package planner

// A Row is a row of a read, as texts.
type Row struct {
	Keys [][]byte
	// Measure is the index of the measure to whose units the row belongs, −1 if each unit has one row.
	Measure int
	Vector  int   // of the measure
	Levels  []int // levels of the units, by the norms of the measure
	// Units is the number of units of these levels, each counted in one row only; nil if the row does not have it.
	Units []byte
	// Weights is the weight for partition selection; nil if the row does not have it.
	Weights []byte
	Cells   []Cell
}

// A Cell is an integer of a read row, with its place among the integers of the grouping set. Directions is nil if it is not used.
type Cell struct {
	At              int
	Sum, Directions []byte
}

// Parse reads a row of a read in which each unit has one row. ok is false if the SQL of the read cannot have returned the row.
func (r *Read) Parse(row [][]byte) (out Row, ok bool) {
	ok = r.ParseInto(&out, row)
	return out, ok
}

// ParseInto is Parse, and reuses the memory of out.
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

// A levelColumn is a norm that gives units their levels.
type levelColumn struct {
	measure *Measure
	norm    int
	vector  int
}

// A sumColumn is a summand.
type sumColumn struct {
	place   int
	vector  int
	shared  bool // all vectors share it
	bounds  bool // a norm is taken of it, and it is not released
	measure *Measure
}

// width returns the number of columns of the sums of the read.
func (r *Read) width() int { return r.keys + len(r.levels) + 1 + 2*len(r.sums) }

// Has reports whether a unit can have a level.
func (n Norm) Has(level int) bool { return level >= -n.Grid.Below() && level <= n.Grid.Len() }
