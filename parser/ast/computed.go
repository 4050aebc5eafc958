package ast

// A Computed is an output column of a statement whose error is not that of one aggregate in one row of its block.
type Computed struct {
	Name string
	// Of are aggregates, one of which each of its values is as it was released. Without any it is computed of released values in another
	// way, and its error is not known.
	Of []Place
	// Plus is how far rounding moves the values.
	Plus float64
	// Chosen says that released values decide which rows are shown: those of the largest values are likely of the largest noise.
	Chosen bool
}

// A Title is the name of an output column whose values are those of an aggregate.
type Title struct {
	Name string
	Of   Place
}

// A Place is that of an aggregate: of a block of a statement, and of its Aggregates.
type Place struct{ Block, Aggregate int }
