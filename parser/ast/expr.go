package ast

import (
	"math"

	"dpproxy/pgerr"
)

// An Expr is an expression inside a block. At is its byte offset, for
// messages only: two equal expressions may differ in it.
//
//sumtype:decl
type Expr interface {
	// Pos is the byte offset of the expression in the statement's Text.
	Pos() int
	expr()
}

type (
	// A Column reference; Qualifier is empty, an alias, or a table name; Schema
	// is set only when it was written.
	Column struct {
		Schema, Qualifier, Name string
		At                      int
	}
	// A Const is a literal as the grammar sees it.
	Const struct {
		Kind ConstKind
		Text string // digits, the string's content, "true"/"false", "" for NULL
		// Unknown says that it stands in a released result that is not known yet: its value is another one.
		Unknown bool
		At      int
	}
	// A Param is $N.
	Param struct {
		N  int
		At int
	}
	// A Cast to a type written by the client.
	Cast struct {
		X    Expr
		Type TypeName
		At   int
	}
	// An Op is an operator of pg_catalog by symbol: = <> < <= > >= + - * / % ^ ||
	// ~~ !~~ ~~* !~~* (LIKE, NOT LIKE, ILIKE, NOT ILIKE) @> <@ &&. Left is nil for a prefix operator.
	Op struct {
		Name        string
		Left, Right Expr
		At          int
	}
	// A Bool is AND, OR (two or more Args) or NOT (one).
	Bool struct {
		Kind BoolKind
		Args []Expr
		At   int
	}
	// An In is X [NOT] IN (list), with Values X IN (VALUES ...).
	In struct {
		X           Expr
		List        []Expr
		Not, Values bool
		At          int
	}
	// A Between is X [NOT] BETWEEN [SYMMETRIC] Low AND High.
	Between struct {
		X, Low, High   Expr
		Not, Symmetric bool
		At             int
	}
	// A Searched is a text that tests look at which stand for a regular expression: with the blanks that pad it.
	Searched struct {
		X      Expr
		Folded bool // case does not matter
		Wide   bool // the expression has characters beyond ASCII
		At     int
	}
	// A Field is a place in a document of JSON, X, to which keys lead, each in the object of the one before: with Text as ->> has it,
	// else as -> does.
	Field struct {
		X    Expr
		Keys []string
		Text bool
		At   int
	}
	// An IsNull is X IS [NOT] NULL.
	IsNull struct {
		X   Expr
		Not bool
		At  int
	}
	// A BoolTest is X IS [NOT] TRUE, FALSE or UNKNOWN.
	BoolTest struct {
		X    Expr
		Kind string // "TRUE", "NOT TRUE", "FALSE", ...
		At   int
	}
	// A Distinct is L IS [NOT] DISTINCT FROM R.
	Distinct struct {
		Left, Right Expr
		Not         bool
		At          int
	}
	// A Func is a call of a plain function, lower case, schema empty or pg_catalog.
	Func struct {
		Name string
		Args []Expr
		At   int
	}
	// A ValueFunc is CURRENT_DATE and its kin, in upper case.
	ValueFunc struct {
		Name string
		At   int
	}
	// A Case is CASE [X] WHEN ... END.
	Case struct {
		X     Expr // nil in CASE WHEN condition
		Whens []When
		Else  Expr // nil if none
		At    int
	}
	// An Array is ARRAY[...].
	Array struct {
		Elems []Expr
		At    int
	}
	// An AnyOf is Left Op ANY (Array), or ALL.
	AnyOf struct {
		Op          string
		Left, Array Expr
		All         bool
		At          int
	}
	// An InQuery is X [NOT] IN (query).
	InQuery struct {
		X     Expr
		Query Rows
		Not   bool
		At    int
	}
	// An Exists is EXISTS (query). Alike says that it compares one column of the query with one around it as INTERSECT and EXCEPT
	// do, for which NULLs are equal.
	Exists struct {
		Query Rows
		Alike bool
		At    int
	}
	// A ValueQuery is a sub-select of one column that is evaluated for each row around it: its value is that of its row, or NULL without
	// one.
	ValueQuery struct {
		Query *Select
		// Refusal is the error if no join has the value.
		Refusal *pgerr.Error
		At      int
	}
	// A Quantified is X Op ALL (query), or X Op ANY (query), of a query of one column that is evaluated for each row around it.
	Quantified struct {
		X     Expr
		Op    string
		All   bool
		Query *Select
		// Refusal is the error if no join stands for it.
		Refusal *pgerr.Error
		At      int
	}
	// A Subquery is a scalar sub-select that names no protected relation and no
	// column of the query around it. Text is the client's own, in
	// parentheses: the mirror evaluates it.
	Subquery struct {
		Text string
		At   int
	}
)

// A When is one branch of a Case.
type When struct{ If, Then Expr }

// A ConstKind is a kind of literal.
type ConstKind uint8

// The kinds of literals. A Number is one that is no 32-bit integer.
const (
	Integer ConstKind = iota + 1
	Number
	String
	Boolean
	Null
)

// A BoolKind is AND, OR or NOT.
type BoolKind uint8

// The kinds of Bool.
const (
	And BoolKind = iota + 1
	Or
	Not
)

// A TypeName is a type as the client wrote it, after the grammar's own renaming
// (int becomes pg_catalog.int4).
type TypeName struct {
	Schema, Name string
	Mods         []int32
	Array        bool
}

// Pos implements Expr.
func (x *Column) Pos() int { return x.At }

// Pos implements Expr.
func (x *Const) Pos() int { return x.At }

// Pos implements Expr.
func (x *Param) Pos() int { return x.At }

// Pos implements Expr.
func (x *Cast) Pos() int { return x.At }

// Pos implements Expr.
func (x *Op) Pos() int { return x.At }

// Pos implements Expr.
func (x *Bool) Pos() int { return x.At }

// Pos implements Expr.
func (x *In) Pos() int { return x.At }

// Pos implements Expr.
func (x *Between) Pos() int { return x.At }

// Pos implements Expr.
func (x *Searched) Pos() int { return x.At }

func (*Searched) expr() {}

// Pos implements Expr.
func (x *Field) Pos() int { return x.At }

func (*Field) expr() {}

// Pos implements Expr.
func (x *IsNull) Pos() int { return x.At }

// Pos implements Expr.
func (x *BoolTest) Pos() int { return x.At }

// Pos implements Expr.
func (x *Distinct) Pos() int { return x.At }

// Pos implements Expr.
func (x *Func) Pos() int { return x.At }

// Pos implements Expr.
func (x *ValueFunc) Pos() int { return x.At }

// Pos implements Expr.
func (x *Case) Pos() int { return x.At }

func (*Case) expr() {}

// Pos implements Expr.
func (x *Array) Pos() int { return x.At }

func (*Array) expr() {}

// Pos implements Expr.
func (x *AnyOf) Pos() int { return x.At }

func (*AnyOf) expr() {}

// Pos implements Expr.
func (x *InQuery) Pos() int { return x.At }

func (*InQuery) expr() {}

// Pos implements Expr.
func (x *Exists) Pos() int { return x.At }

func (*Exists) expr() {}

// Pos implements Expr.
func (x *ValueQuery) Pos() int { return x.At }

func (*ValueQuery) expr() {}

// Pos implements Expr.
func (x *Quantified) Pos() int { return x.At }

func (*Quantified) expr() {}

// Pos implements Expr.
func (x *Subquery) Pos() int { return x.At }

func (*Subquery) expr() {}

// Pos implements Expr.
func (x *Aggregate) Pos() int { return x.At }

func (*Aggregate) expr() {}
func (*Column) expr()    {}
func (*Const) expr()     {}
func (*Param) expr()     {}
func (*Cast) expr()      {}
func (*Op) expr()        {}
func (*Bool) expr()      {}
func (*In) expr()        {}
func (*Between) expr()   {}
func (*IsNull) expr()    {}
func (*BoolTest) expr()  {}
func (*Distinct) expr()  {}
func (*Func) expr()      {}
func (*ValueFunc) expr() {}

// A Window is a call over the rows of its partition: f(...) OVER (...). It stands in the targets of a Select that
// does not aggregate, and not in an argument of another.
type Window struct {
	// Func is row_number, rank, dense_rank, ntile, lag, lead, first_value, last_value, or an aggregate.
	Func string
	Star bool // count(*)
	Args []Expr
	// Filter is nil if there is none.
	Filter    Expr
	Partition []Expr
	Order     []Sort
	// Frame is nil for that of the standard: from the first row of the partition to the last that ORDER BY does not
	// tell from the current one.
	Frame *Frame
	// Ends has where a frame by distance ends and, before that, where it begins unless that is the first row of the partition.
	Ends []Distance
	At   int
}

// A Sort is an item of ORDER BY.
type Sort struct {
	X                      Expr
	Descending, NullsFirst bool
}

// A Frame are rows of a partition, counted from the current one: -1 is the one before.
type Frame struct{ From, To int }

// A Distance is how far before or after the current row, in the value of ORDER BY, a frame begins or ends.
type Distance struct {
	X     Expr
	After bool
}

// The ends of a partition.
const (
	FirstRow = math.MinInt
	LastRow  = math.MaxInt
)

// Pos implements Expr.
func (x *Window) Pos() int { return x.At }

func (*Window) expr() {}
