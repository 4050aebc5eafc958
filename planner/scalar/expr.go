package scalar

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// A Column is a column of a relation in scope. Two columns are the same if their pointers are equal.
type Column struct {
	Name    string
	Type    pgtype.Type
	NotNull bool
	// Untold says that no analyst may see the name, which only the query of a concealed view has.
	Untold bool
	// Outer says that an outer join adds rows in which the column is NULL.
	Outer bool
	// Matched has the columns of the same relation, with true for columns that are never NULL in other rows than those that the outer join
	// adds; nil if Outer is false.
	Matched map[*Column]bool
	// Bounds are the declared bounds of values, or nil.
	Bounds *Bounds
	// Values are the declared public values, in the order in which they are shown, or nil.
	Values []string
	// Only says that constraints of the database prove that no row has another value than Values, NULL aside; Within that none has a value
	// beyond Bounds. They decide which remarks an answer has, and which conditions no row meets. They bound no sensitivity.
	Only, Within bool
	// Step is the declared step in which values are summed, or nil.
	Step *big.Rat
	// Of are the expressions that define a column of a derived table, one for each branch of its UNION ALL; nil for a column of a table. A
	// column that is defined as a plain column of a table is treated like that column. The select list of the derived table writes them
	// with [Writer.Target].
	Of []Expr
	// Row is the row of the table to which the column belongs; nil if no expression over its columns has bounds.
	Row *Row
	// SQL is the text of the column in scope, e.g. t0."cost"; for a column of a domain it includes a cast to the base type of the domain.
	// [Column.Read] returns its value.
	SQL string
	// Reach says how much of a text is read.
	Reach Reach
	// Whose, if not nil, is the column of the unit: this column identifies the unit of each row in which it is not NULL, and rows in which
	// it is NULL count too.
	Whose *Column
	// Number is the number of the column in package core, or 0. Columns that stand for the same column have the same number.
	Number int
	// Fields are the fields of a column of documents, as columns, and Path are the keys that lead to one; nil of any other column.
	Fields []*Column
	Path   []string
	// List is the constant array of the values of a column of a relation of constants, or nil.
	List Expr
	// Among has every value of a column of a table but NULL, since a foreign key says so; nil without.
	Among *PublicKey
	// Extent is the constant array of the smallest and the largest value of a column of a public table, or of Among; nil if no expression
	// needs it.
	Extent Expr
}

// A PublicKey is a column of a public table in which each value is alone, as the mirror has it.
type PublicKey struct {
	Table catalog.Name
	Type  pgtype.Type
	SQL   string // reads it
	From  string
	Rows  int64
}

// Ellipsis replaces a name in texts for people if no analyst may see the name, or nobody wrote it.
const Ellipsis = "…"

// Shown writes the name of the column for people.
func (c *Column) Shown() string {
	if c.Untold || strings.HasPrefix(c.Name, ast.OwnPrefix) {
		return Ellipsis
	}
	return c.Name
}

// Base returns the column of a table for which c stands, or c itself if it is not defined as a plain column.
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

// derived reports whether a derived table computes the column.
func (c *Column) derived() bool { return len(c.Base().Of) > 0 }

// Bounds are declared bounds of a column: numbers for numeric columns, and texts for dates and timestamps.
type Bounds struct {
	Low, High         *big.Rat // nil for dates, timestamps and intervals
	LowText, HighText string
}

// An Expr is a resolved expression.
//
//sumtype:decl
type Expr interface {
	Type() pgtype.Type
	// Pos is the position in the statement, for messages.
	Pos() int
	// Columns returns the columns in the expression, each once, including columns in inner aggregates.
	Columns() []*Column
	// free reports whether the expression is for the mirror: it consists of literals, parameters and sub-selects. When it meets a column it
	// becomes a fold, printed as a whole.
	free() bool
}

// node has the fields of all expressions.
type node struct {
	typ       pgtype.Type
	at        int
	forMirror bool // free returns it
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

// A Query is a condition made of a sub-select. Package source resolves it, and [Writer.Query] writes it.
type Query struct {
	// Uses are the columns of the outer level that it mentions.
	Uses []*Column
	At   int
}

// Type implements Expr.
func (*Query) Type() pgtype.Type { return pgtype.Of(pgtype.Bool) }

// Pos implements Expr.
func (q *Query) Pos() int { return q.At }

func (*Query) free() bool { return false }

type (
	// term is SQL of the mirror: a literal, a parameter, a sub-select, or CURRENT_DATE or one of its kin.
	term struct {
		node
		sql     string
		bare    bool // a sub-select of unknown type
		unknown bool // a constant of a released result that is not known yet
	}
	// constant is a fold, by its index.
	constant struct {
		node
		fold int
	}
	// call is an operator, a function or a test, with arguments of the types that it takes.
	call struct {
		node
		fn   *function
		args []Expr
		// zone is the fold of the session's time zone, or −1 if it does not matter.
		zone int
		// whole says that the call is a numeric that is always a whole number with one spelling: a field of a date.
		whole bool
		calledAs
	}
	// cast is an explicit or an implicit conversion.
	cast struct {
		node
		x    Expr
		mods []int32 // the modifiers of the type as the client wrote them
		zone int
		calledAs
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
		results []Expr // for CASE, one for each test, and then the ELSE
		// tests are the conditions of CASE, or the values with which x is compared; for NULLIF, the value that makes it NULL.
		tests []Expr
		x     Expr // the operand of a simple CASE, or nil
		calledAs
	}
	// bounded is an expression over a row of a table for which the policy declares bounds.
	bounded struct {
		node
		x  Expr
		by *Bounded
	}
	// aggregate is an aggregate over the rows of one group of one unit, or a window function over the rows of a partition.
	aggregate struct {
		node
		name     string
		x        Expr // nil for count(*)
		distinct bool
		filter   Expr // nil if none
		rows     int64
		over     *window // nil if rows are grouped
		// limited says that a row number is clamped to rows.
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

// operands returns the direct operands of e.
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
		list = append(list, e.over.exprs()...)
	}
	return list
}

// operands returns the operands in the order of the SQL.
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

// compared returns the values that a simple CASE compares with each other.
func (e *choice) compared() []Expr {
	if e.x == nil {
		return nil
	}
	return append([]Expr{e.x}, e.tests...)
}

// present removes nils.
func present(list ...Expr) []Expr {
	return slices.DeleteFunc(list, func(e Expr) bool { return e == nil })
}

func columnsOf(e Expr) []*Column { return addColumns(nil, e) }

// addColumns appends the columns of an expression that are not in all.
func addColumns(all []*Column, e Expr) []*Column {
	var own []*Column
	switch e := e.(type) { //nolint:gochecksumtype // the others have columns only in operands
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

// zoneConstant is the constant of a fold with a time zone.
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
