package ast

// An Output is an output column with noise of a statement.
type Output struct {
	Name string
	// Titled says that the statement gives it the name, for the aggregate that it alone is.
	Titled bool
	// Of are aggregates, one of which each of its values is as it was released. Without any it is computed of released values in another
	// way, and no formula has its error.
	Of []Place
	// Plus is how far rounding moves the values: infinity if that is not known.
	Plus float64
	// Chosen says that released values decide which rows are shown: those of the largest values are likely of the largest noise.
	Chosen bool
}

// Plain reports whether its error is that of one aggregate in one row of its block.
func (o Output) Plain() bool { return len(o.Of) == 1 && o.Plus == 0 && !o.Chosen }

// A Place is that of an aggregate: of a block of a statement, and of its Aggregates.
type Place struct{ Block, Aggregate int }
