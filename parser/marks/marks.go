package marks

// A Mark is the noise of a column.
type Mark int

// The marks, each of which includes those before it.
const (
	Label   Mark = iota // no noise
	Cell                // a released value as it is
	Noisy               // computed of released values whose noise can be drawn anew
	Most                // the largest of such values, which noise can only raise
	Least               // the smallest, which it can only lower
	Mixed               // computed of such extremes in another way, which noise may raise or lower
	Unknown             // noise that cannot be drawn anew, such as that of a percentile, or a value that is another one each time
)

// shown is the mark of an expression that shows a value as it is.
func (m Mark) shown() Mark {
	if m == Cell {
		return Noisy
	}
	return m
}

// computed is the mark of an expression over a value of which more is not known. Replicas of the largest value are too high as the answer
// is, and what is computed of it may be too high or too low.
func (m Mark) computed() Mark {
	if m == Most || m == Least {
		return Mixed
	}
	return m.shown()
}

// A Block is a released relation that a query reads by a name.
type Block struct {
	Name    string
	Columns []Column
	// Rows is Noisy if noise decides which rows it has.
	Rows Mark
}

// A Result is the relation that a query returns.
type Result struct {
	Columns []Column
	// Rows says whether noise decides which rows there are.
	Rows Mark
	// Ordered says that the query has ORDER BY.
	Ordered bool
	// Calls are the names of the functions that it calls, without their schemas.
	Calls []string
	// Names are those of its operators, tables and types, likewise: a function may stand behind each.
	Names []string
}

// A Column of a result.
type Column struct {
	Name string
	Mark Mark
}

// A relation has columns, and rows that noise decides or not. It is whole if the columns are all that it has.
type relation struct {
	columns []marked
	rows    Mark
	whole   bool
}

type marked struct {
	name string
	mark Mark
}

func relationOf(b Block) *relation {
	r := &relation{rows: b.Rows, whole: true}
	for _, c := range b.Columns {
		r.columns = append(r.columns, marked{c.Name, c.Mark})
	}
	return r
}

// renamed returns a relation whose first columns have other names.
func (r *relation) renamed(names []string) *relation {
	out := &relation{rows: r.rows, whole: r.whole}
	for i, c := range r.columns {
		if i < len(names) {
			c.name = names[i]
		}
		out.columns = append(out.columns, c)
	}
	for _, name := range names[min(len(names), len(r.columns)):] {
		out.columns = append(out.columns, marked{name: name})
	}
	return out
}

// any is the mark of an expression over all columns and rows.
func (r *relation) any() Mark {
	m := r.rows
	for _, c := range r.columns {
		m = max(m, c.mark.computed())
	}
	return m
}
