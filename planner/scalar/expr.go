package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A Column is a column of a relation in scope. Two columns are the same if their
// pointers are.
type Column struct {
	Name    string
	Type    pgtype.Type
	NotNull bool
	// Untold says that no analyst may see the name: only the query of a view has it.
	Untold bool
	// Outer says that a join adds rows in which the column is NULL.
	Outer bool
	// Matched are the columns of the same relation, and whether they are never NULL in other rows than those; nil if
	// Outer is false.
	Matched map[*Column]bool
	// Declared bounds of values, or nil: a column of a table of the policy.
	Bounds *Bounds
	// Values are declared public values, in the order that they are shown in, or nil.
	Values []string
	// Only says that no row has another value than those, NULL aside, and Within that none has one beyond the bounds: constraints of the
	// database prove it. They decide which remarks an answer has, and nothing else.
	Only, Within bool
	// Step is the declared step that values are summed in, or nil.
	Step *big.Rat
	// Of are the expressions that a column of a derived table stands for, one for
	// each branch of its UNION ALL; nil for a column of a table. A column that stands for
	// a plain column of a table is like that column. The derived table's select list
	// writes them with [Writer.Target].
	Of []Expr
	// Row is the row of the table that the column is of; nil if no expression over its columns has bounds.
	Row *Row
	// SQL is how the column is written where it is in scope, e.g. t0."cost"; a column
	// of a domain with a cast to the domain's base type. Its value is [Column.Read].
	SQL string
	// Reach is how much of a text is read.
	Reach Reach
	// Whose is the column of the unit, if this one identifies the unit of each row on which it is not NULL, but rows on which it is
	// NULL count as well; else nil.
	Whose *Column
	// Number is what package core calls the column; 0 if it has no name there. Columns that stand for one have its number.
	Number int
	// List is the constant array of the values of a column of a relation of constants, else nil.
	List Expr
	// Extent is the constant array of the least and the greatest value of a column of a public table, nil where nothing asks
	// for it.
	Extent Expr
}

// Ellipsis stands where people would read a name that no analyst may see, or that none has written.
const Ellipsis = "…"

// Shown writes the name of the column for people.
func (c *Column) Shown() string {
	if c.Untold || strings.HasPrefix(c.Name, ast.OwnPrefix) {
		return Ellipsis
	}
	return c.Name
}

// Base returns the column of a table that c stands for, if it does for nothing
// else; otherwise c itself.
func (c *Column) Base() *Column {
	for len(c.Of) == 1 {
		ref, ok := c.Of[0].(*Ref)
		if !ok {
			return c
		}
		c = ref.Column
	}
	return c
}

// derived reports whether the column is computed below.
func (c *Column) derived() bool { return len(c.Base().Of) > 0 }

// Bounds are declared limits of a column: as numbers for numeric columns, as text
// for dates and timestamps.
type Bounds struct {
	Low, High         *big.Rat // nil for dates, timestamps and intervals
	LowText, HighText string
}

// An Expr is a resolved expression.
//
//sumtype:decl
type Expr interface {
	Type() pgtype.Type
	// Pos is its place in the statement, for messages.
	Pos() int
	// Columns returns the columns in it, each once; those below an inner aggregate as well.
	Columns() []*Column
	// free reports whether it is one for the mirror: of literals, parameters and sub-selects. Where
	// it meets a column it becomes a fold, printed as a whole.
	free() bool
}

// node has the fields of all expressions.
type node struct {
	typ       pgtype.Type
	at        int
	forMirror bool // see [Expr]
}

// Type implements Expr.
func (n node) Type() pgtype.Type { return n.typ }

// Pos implements Expr.
func (n node) Pos() int { return n.at }

func (n node) free() bool { return n.forMirror }

// A Ref is a column.
type Ref struct {
	Column *Column
	At     int
}

// Type implements Expr.
func (r *Ref) Type() pgtype.Type { return r.Column.Type }

// Pos implements Expr.
func (r *Ref) Pos() int { return r.At }

func (*Ref) free() bool { return false }

// A Query is a condition made of a sub-select, resolved by whoever knows relations, and written
// by [Writer.Query].
type Query struct {
	// Uses are the columns of the level around it that it mentions.
	Uses []*Column
	At   int
}

// Type implements Expr.
func (*Query) Type() pgtype.Type { return pgtype.Of(pgtype.Bool) }

// Pos implements Expr.
func (q *Query) Pos() int { return q.At }

func (*Query) free() bool { return false }

type (
	// term is a literal, a parameter, a sub-select or CURRENT_DATE and its kin: SQL of the mirror.
	term struct {
		node
		sql  string
		bare bool // a sub-select, whose type nobody has said
	}
	// constant is a fold by its index.
	constant struct {
		node
		fold int
	}
	// call is an operator, a function or a test with arguments of its own types.
	call struct {
		node
		fn   *function
		args []Expr
		// zone is the fold with the session's time zone, -1 where it does not matter.
		zone int
		// whole says that it is a numeric without decimals, of one spelling: a part of a date that is a whole number.
		whole bool
	}
	// cast is a conversion, written by the client or implied.
	cast struct {
		node
		x    Expr
		mods []int32 // the type's modifiers as the client wrote them
		zone int
	}
	// logic is AND, OR or NOT.
	logic struct {
		node
		kind ast.BoolKind
		args []Expr
	}
	// choice has the value of one of its results, or is NULL.
	choice struct {
		node
		kind    choiceKind
		results []Expr // of CASE one for each test, and the ELSE
		// tests are the conditions of CASE, or values that x is compared with; of NULLIF
		// the value that makes it NULL.
		tests []Expr
		x     Expr // of CASE x WHEN value, else nil
	}
	// bounded is an operator or function of one row of a table whose values the policy bounds.
	bounded struct {
		node
		x  Expr
		by *Bounded
	}
	// aggregate is an aggregate over the rows of one group of one unit, or a window function over those of a partition.
	aggregate struct {
		node
		name     string
		x        Expr // nil in count(*)
		distinct bool
		filter   Expr // nil if none
		rows     int64
		over     *window // nil if rows are grouped
		// limited says that the number of a row counts to so many rows at most.
		limited bool
	}
)

// A choiceKind is the keyword of a choice.
type choiceKind string

const (
	coalesce choiceKind = "COALESCE"
	greatest choiceKind = "GREATEST"
	least    choiceKind = "LEAST"
	nullIf   choiceKind = "NULLIF"
	caseWhen choiceKind = "CASE"
)

// Columns implements Expr.
func (r *Ref) Columns() []*Column { return columnsOf(r) }

// Columns implements Expr.
func (q *Query) Columns() []*Column { return columnsOf(q) }

// Columns implements Expr.
func (*term) Columns() []*Column { return nil }

// Columns implements Expr.
func (*constant) Columns() []*Column { return nil }

// Columns implements Expr.
func (e *call) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *cast) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *logic) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *choice) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *bounded) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *aggregate) Columns() []*Column { return columnsOf(e) }

// operands returns the expressions directly below e.
func operands(e Expr) []Expr {
	switch e := e.(type) {
	case *Ref, *Query, *term, *constant:
		return nil
	case *call:
		return e.args
	case *cast:
		return []Expr{e.x}
	case *logic:
		return e.args
	case *choice:
		return e.operands()
	case *bounded:
		return []Expr{e.x}
	case *aggregate:
		return e.operands()
	}
	return nil
}

func (e *aggregate) operands() []Expr {
	list := present(e.x, e.filter)
	if e.over != nil {
		list = append(list, e.over.told()...)
	}
	return list
}

// operands are in the order in which SQL has them.
func (e *choice) operands() []Expr {
	if e.kind != caseWhen {
		return append(slices.Clone(e.results), e.tests...)
	}
	all := present(e.x)
	for i, t := range e.tests {
		all = append(all, t, e.results[i])
	}
	return append(all, e.results[len(e.tests)])
}

// compared returns the values that CASE compares with each other: nothing where it has conditions.
func (e *choice) compared() []Expr {
	if e.x == nil {
		return nil
	}
	return append([]Expr{e.x}, e.tests...)
}

// present leaves out nils.
func present(list ...Expr) []Expr {
	return slices.DeleteFunc(list, func(e Expr) bool { return e == nil })
}

func columnsOf(e Expr) []*Column { return addColumns(nil, e) }

// addColumns adds the columns of an expression to others, each once.
func addColumns(all []*Column, e Expr) []*Column {
	var own []*Column
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only below
	case *Ref:
		own = []*Column{e.Column}
	case *Query:
		own = e.Uses
	}
	for _, c := range own {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, o := range operands(e) {
		all = addColumns(all, o)
	}
	return all
}

// zoneConstant is the fold with a time zone.
func zoneConstant(fold, at int) *constant {
	return &constant{node{typ: pgtype.Of(pgtype.Text), at: at}, fold}
}

func isConstant(e Expr) bool {
	_, ok := e.(*constant)
	return ok
}

func allConstant(list []Expr) bool {
	return !slices.ContainsFunc(list, func(e Expr) bool { return !isConstant(e) })
}
