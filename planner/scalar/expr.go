package scalar

import (
	"math/big"

	"dpproxy/catalog"
	"dpproxy/parser"
)

// A Type is a type that may meet protected rows.
type Type struct {
	// OID is that of the base type: never a domain's. Of enums it is 0.
	OID uint32
	// Enum names an enum type; zero for all others.
	Enum catalog.Name
	// Mod is the type modifier, -1 without.
	Mod int32
	// Collation of a text; zero for types without.
	Collation catalog.Name
	// Deterministic is false where equal texts can differ in their bytes.
	Deterministic bool
}

// A Column is a column of a relation in scope. Two columns are the same if their
// pointers are.
type Column struct {
	Name    string
	Type    Type
	NotNull bool
	// Declared bounds of values, or nil: a column of a table of the policy.
	Bounds *Bounds
	// Of are the expressions that a column of a derived table stands for, one for
	// each branch of its UNION ALL; nil for a column of a table. A column that stands for
	// a plain column of a table is like that column.
	Of []Expr
	// PerUnit says that the column has one value in all rows of a privacy unit.
	PerUnit bool
	// SQL is how the column is written where it is in scope, e.g. t0."cost".
	SQL string
}

// Bounds are declared limits of a column: as numbers for numeric columns, as text
// for dates and timestamps.
type Bounds struct {
	Low, High         *big.Rat // nil for dates and timestamps
	LowText, HighText string
}

// An Interval is where the values of an expression lie if they are not NULL. Ends are
// exact, rounded outward: numbers as they are; false and true as 0 and 1; dates in
// days, timestamps and times in microseconds, both since 2000-01-01; intervals in
// microseconds.
type Interval struct {
	// Low and High are nil together where there are no bounds.
	Low, High *big.Rat
	// Null says that the expression may be NULL.
	Null bool
	// Least is the smallest non-zero absolute value that a number may have, nil if
	// nothing is known; it keeps products and quotients from underflow and overflow.
	Least *big.Rat
}

// Constant reports whether the expression has one value, or NULL.
func (i Interval) Constant() bool { return i.Low != nil && i.Low.Cmp(i.High) == 0 }

// A Fold is a column-free expression, printed by us. It is evaluated once on the
// mirror, in the analyst's session; only its value goes further.
type Fold struct {
	SQL  string
	Type Type
	At   int
}

// Constants collects the folds of a statement, equal ones once.
type Constants struct{ folds []Fold }

// Add returns the index of the fold.
func (c *Constants) Add(f Fold) int {
	for i, have := range c.folds {
		if have.SQL == f.SQL {
			return i
		}
	}
	c.folds = append(c.folds, f)
	return len(c.folds) - 1
}

// Folds returns what is to be evaluated, in order.
func (c *Constants) Folds() []Fold { return c.folds }

// A Value is a constant as the mirror evaluated it: nil Bytes are NULL.
type Value struct {
	OID    uint32
	Binary bool
	Bytes  []byte
}

// A Resolver gives the parser's expressions their meaning. Its errors are
// *pgerr.Error with positions in the statement.
type Resolver struct {
	Constants *Constants
	// Params are the types of $1, $2, ...
	Params []uint32
	// Column resolves a reference. Its error is the refusal of the name.
	Column func(*parser.Column) (*Column, error)
	// Condition resolves conditions with a query inside (InQuery, Exists); nil
	// refuses them.
	Condition func(parser.Expr) (Expr, error)
	// Unit is set where rows are grouped by their privacy unit: aggregates of one
	// unit's rows are allowed there, and columns that are neither grouped nor
	// aggregated are not.
	Unit *UnitGroup
}

// A UnitGroup is a grouping of rows by their privacy unit, and perhaps more.
type UnitGroup struct {
	// Keys are the grouping expressions.
	Keys []Expr
	// Rows bounds how many rows of a unit are aggregated: values of counts and sums
	// are clamped to what so many rows can reach.
	Rows int64
}

// An Expr is a resolved expression.
type Expr interface {
	Type() Type
	// Pos is its place in the statement, for messages.
	Pos() int
	// Columns returns the columns in it, each once; those below an inner aggregate as well.
	Columns() []*Column
	scalar()
}

// A Query is a condition made of a sub-select, resolved by whoever knows relations.
type Query struct {
	// SQL writes it.
	SQL func(w *Writer) (string, error)
	// Uses are the columns of the level around it that it mentions.
	Uses []*Column
	At   int
}

// An Env knows the values of the constants.
type Env struct {
	Values []Value
	// TimeZones are the names that the protected database accepts.
	TimeZones map[string]bool
}
