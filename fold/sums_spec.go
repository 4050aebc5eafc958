package fold

import "math/big"

// Sums are numbers of rows and sums of numbers, of which each unit counts with one weight for each vector.
type Sums struct {
	// Summed are the kinds of the sums that a row has where it is all of one unit, in one group: whole numbers, or numerics without
	// decimals. They are in the places of additions, and rows have no other column. Nil where rows are added up.
	Summed []NumberKind
	// Columns are those behind the keys.
	Columns   []Number
	Additions []Addition
	Summands  []Summand
	Norms     []Bound
	Vectors   []Vector
	Weights   Weights
}

// An Addition is added up of the rows of a unit and group: of each for which the column Filter is true, if there is one, and no factor is
// NULL, the product of the factors, divided by Unit toward zero, less Offset. Without factors it is 1.
type Addition struct {
	Filter  int // −1 if there is none
	Factors []Factor
	Unit    int64
	Offset  int64
}

// A Factor is so many times a column, less a number.
type Factor struct {
	Column      int
	Times, Less int64
}

// A Summand is the part of a unit in the sum of a group: that of an [Addition] over all its rows there, within bounds that are applied
// once, at the end, so that the order of rows does not matter.
type Summand struct {
	Addition int
	// Most bounds it, in size.
	Most *big.Int
	// Each bounds it, in size, by so many times the sum of the Addition Count, Rows at most; 0 does not.
	Each, Rows int64
	// About says that it is twice the sum, less Centre times the sum of the Addition Count, before it is bounded by Most. Both are
	// bounded before, by Reach and Rows, unless these are 0.
	About         bool
	Centre, Reach int64
	Count         int
	// Norm is that by which its direction is found; −1 if none is.
	Norm int
	// Fraction is the bits behind the point of the direction.
	Fraction uint
}

// A Bound is a norm of the summand of a unit in all of its groups, by which units have levels.
type Bound struct {
	Summand int
	Kind    BoundKind
	// Limits are ascending; of squares their squares. The level of a unit is the number of those that it is above.
	Limits []*big.Int
	// Level is that of all units where there are no limits.
	Level int
	// Counted says that the root of a square is that of the nearest double.
	Counted bool
	// Signed says that directions have both signs, so that the length has room for their roundings in all sums of them.
	Signed bool
	// Coarser are further norms. The largest counts.
	Coarser []Coarser
}

// A BoundKind tells norms apart.
type BoundKind uint8

const (
	// Largest is the largest summand, in size: each group has a level of its own, and the unit that of the largest.
	Largest BoundKind = iota + 1
	// Absolute is the sum of the sizes of summands.
	Absolute
	// Root is the root of the sum of the squares of summands.
	Root
)

// roomBits are those of a sum's direction, of which a unit is in fewer groups.
const roomBits = 14

// Coarser is the norm over groups of some of the keys, divided by √Square, rounded up.
type Coarser struct {
	Square int64
	Keys   []int
}

// A Vector is some of the summands, with the norms by which units have levels in it: up to three, the last of which is its own.
type Vector struct{ Norms, Summands []int }

// Weights are those by which groups of private keys are selected.
type Weights struct {
	Kind WeightKind
	// Nobody is how the text begins of a unit that has no weight, if there are such.
	Nobody string
}

// A WeightKind says how much a unit weighs in each of its groups.
type WeightKind uint8

const (
	// Weightless groups are public.
	Weightless WeightKind = iota
	// Single units are in one group, and weigh 1.
	Single
	// Spread ones weigh 2^20 divided by the root of the number of their groups, rounded down.
	Spread
)

// A Total is a part of the result: the integers of units of the same levels in one group, or the number of such units, or the
// weight of a group.
type Total struct {
	Keys   [][]byte
	Vector int
	Levels []int
	// Units is the number of units; nil where it is of a group.
	Units *int64
	// Weight is that of the group, of whatever levels; nil where it has sums.
	Weight *int64
	// Sums are those of the summands of the vector, Directions those of the parts that they are of the norm.
	Sums, Directions []*big.Int
}
