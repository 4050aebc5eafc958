package scalar

import (
	"errors"

	"dpproxy/parser"
)

type function struct{}

var errStub = errors.New("not built yet")

// Expr resolves an expression.
func (r *Resolver) Expr(e parser.Expr) (Expr, error) { return nil, errStub }

// Boolean resolves a condition; anything else is refused.
func (r *Resolver) Boolean(e parser.Expr) (Expr, error) { return nil, errStub }

// An Env knows the values of the constants. It is for one goroutine.
type Env struct {
	Values []Value
	// TimeZones are the names that the protected database accepts.
	TimeZones map[string]bool
	// UTF8 says that the protected database is encoded in UTF8; letters are turned
	// into upper or lower case only there.
	UTF8 bool
}

// Bounds returns where the values of e lie, from declared bounds and constants.
func (env *Env) Bounds(e Expr) Interval { return Interval{} }

// Narrowed returns where the values of e lie in rows on which all conditions are
// true. It may bound a sensitivity, but proves nothing about what can raise:
// Postgres evaluates conditions in any order.
func (env *Env) Narrowed(e Expr, where []Expr) Interval { return Interval{} }

// Check compares the types of values with those that the folds must have.
func (c *Constants) Check(values []Value) error { return nil }

// A Writer writes expressions as SQL that is total.
type Writer struct {
	Env *Env
	// Fold returns the placeholder of a fold's value, e.g. $3.
	Fold func(i int) string
}

// Expr writes an expression as it is: a plain column unclamped.
func (w *Writer) Expr(e Expr) (string, error) { return "", errStub }

// Value is Expr that also tells the type of the SQL text. It may differ from the type
// of the expression: whole numbers are computed as int8, or as numeric if they may not
// fit; float4 as float8.
func (w *Writer) Value(e Expr) (string, Type, error) { return "", Type{}, errStub }

// Bounded writes a value that lies within the interval, or is NULL.
func (w *Writer) Bounded(e Expr, within Interval) (string, Type, error) { return "", Type{}, errStub }

// Target writes what column c of a derived table stands for in a branch of its query,
// in the type that references to the column expect.
func (w *Writer) Target(c *Column, branch int) (string, error) { return "", errStub }

// Canonical writes a value as bytes.
func Canonical(t Type, sql string) string { return "" }

// KeyText writes a private group key as text, the same for equal values.
func KeyText(t Type, sql string) (string, error) { return "", errStub }

// PlainColumn returns the column that e is, that of the table for a column that stands for one.
func PlainColumn(e Expr) (*Column, bool) { return nil, false }

// Conjuncts returns the conditions that must all be true for e to be true.
func Conjuncts(e Expr) []Expr { return []Expr{e} }

// Equality returns the two columns of a condition a = b by the types' own equality.
func Equality(e Expr) (a, b *Column, ok bool) { return nil, nil, false }

// Fixed returns the column of a condition column = constant.
func Fixed(e Expr) (*Column, bool) { return nil, false }

// NeverNull reports whether e is not NULL wherever all conditions are true.
func NeverNull(conditions []Expr, e Expr) bool { return false }

// Equal reports whether two expressions are the same, of the same columns and constants.
func Equal(a, b Expr) bool { return false }
