package fold

import "math/big"

// Sums are numbers of rows and sums of numbers. A unit counts with one weight in each vector.
type Sums struct {
	// Summed has the kinds of the sums in a row that has all sums of one unit, in one group: whole numbers, or numerics without decimals.
	// The sums take the places of the additions, and rows have no other column. Summed is nil if rows are added up.
	Summed []NumberKind
	// Columns are the columns after the keys.
	Columns   []Number
	Additions []Addition
	Summands  []Summand
	Norms     []Bound
	Vectors   []Vector
	Weights   Weights
}

// An Addition is the sum over the rows of a unit and group of the product of the factors, divided by Unit toward zero, less Offset. Only
// rows count for which the column Filter is true, if there is a Filter, and no factor is NULL. Without factors each row adds 1.
type Addition struct {
	Filter  int // −1 if there is none
	Factors []Factor
	Unit    int64
	Offset  int64
}

// A Factor is a multiple of a column, less a number.
type Factor struct {
	Column      int
	Times, Less int64
}

// A Summand is what a unit adds to the sum of a group: its [Addition] over all its rows there, within bounds. They are applied once, at the
// end, so that the order of rows does not matter.
type Summand struct {
	Addition int
	// Most bounds its size.
	Most *big.Int
	// Each bounds its size by Each times the sum of the Addition Count, of which at most Rows count. If Each is 0, it is no bound.
	Each, Rows int64
	// About says that the summand is twice the sum, less Centre times the sum of the Addition Count, before it is bounded by Most. The sum
	// is first bounded by Reach, and the count by Rows, unless Reach is 0.
	About         bool
	Centre, Reach int64
	Count         int
	// Norm is the norm by which its direction is found; −1 if it has no direction.
	Norm int
	// Fraction is the number of fraction bits of the direction.
	Fraction uint
}

// A Bound is a norm of a unit's summand over all of its groups. It gives units their levels.
type Bound struct {
	Summand int
	Kind    BoundKind
	// Limits are ascending; a root has the squares of its limits. The level of a unit is the number of limits it is above.
	Limits []*big.Int
	// Level is the level of all units if there are no limits.
	Level int
	// Counted says that the root of a square is the nearest double's.
	Counted bool
	// Signed says that directions have both signs, so that the length leaves room for rounding in all sums of them.
	Signed bool
	// Coarser are further norms. The largest norm counts.
	Coarser []Coarser
}

// A BoundKind is the form of a norm.
type BoundKind uint8

const (
	// Largest is the size of the largest summand. Each group has its own level, and the unit has the level of the largest group.
	Largest BoundKind = iota + 1
	// Absolute is the sum of the sizes of summands.
	Absolute
	// Root is the root of the sum of the squares of summands.
	Root
)

// roomBits is the number of fraction bits of a direction in sums. A unit with directions is in fewer than 2^roomBits groups.
const roomBits = 14

// Coarser is the norm over groups of some of the keys, divided by √Square, rounded up.
type Coarser struct {
	Square int64
	Keys   []int
}

// A Vector has some of the summands, and up to three norms by which units have levels in it. The last norm is the vector's own.
type Vector struct{ Norms, Summands []int }

// Weights are the weights by which groups of private keys are selected.
type Weights struct {
	Kind WeightKind
	// Nobody begins the text of units that have no weight. A NULL unit then has no weight either. It is empty if all units weigh.
	Nobody string
}

// A WeightKind says how much a unit weighs in each of its groups.
type WeightKind uint8

const (
	// Weightless groups are public.
	Weightless WeightKind = iota
	// Single units are in one group, and weigh 1.
	Single
	// Spread units weigh 2^20 divided by the root of the number of their groups, rounded down.
	Spread
)

// A Total is a part of the result: the sums of all units of the same levels in one group, the number of units of the same levels, or the
// weight of a group.
type Total struct {
	Keys   [][]byte
	Vector int
	Levels []int
	// Units is the number of units; nil if the part is a group's.
	Units *int64
	// Weight is the weight of the group, over all levels; nil if the part has sums.
	Weight *int64
	// Sums are the sums of the vector's summands, and Directions the sums of their directions.
	Sums, Directions []*big.Int
}
