package policy

import (
	"dpproxy/catalog"
	"dpproxy/planner/scalar"
)

// Limits bound the work of reading one block, from numbers that are known before: the size
// of public tables and the caps of the policy.
type Limits struct {
	// PublicFanout bounds the rows of a public relation that is joined otherwise than by
	// a key of its own.
	PublicFanout int64
	// Work bounds how many rows each row that is read can become.
	Work int64
	// PublicRows are the rows of the public tables on the mirror.
	PublicRows map[catalog.Name]int64
	// Values are those of constants: they say how often relations of constants have one value.
	Values scalar.Values
	// Answers are what the mirror said beyond the constants, once these were known.
	Answers []scalar.Value
}
