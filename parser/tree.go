package parser

import (
	"slices"

	"dpproxy/pgerr"
)

// A Catalog tells the parser which relations are protected and what columns
// relations have. A name that it does not know is a relation of the mirror
// (a system catalogue, a temporary table) and public.
type Catalog interface {
	// Relation returns what is known of the relation that a range variable
	// names. Schema is empty when the client did not write one; then ok is true
	// if a relation of that name is known in any schema, a protected one first.
	// Whether the name really means that relation is checked in the session,
	// before anything is charged.
	Relation(schema, name string) (r Relation, ok bool)
}

// A Relation is what the parser must know of a table.
type Relation struct {
	Schema, Name string
	Protected    bool
	// Unit is the column that identifies the privacy unit, or empty.
	Unit    string
	Columns []string
	// View is the query of a view, as the real database's catalogue prints it; it
	// takes the view's place. Empty for tables.
	View string
	// Concealed says that no client may see that query.
	Concealed bool
}

// A Script is the text of one Query or Parse message.
type Script struct {
	Statements []*Statement
}

// A Class says what becomes of a statement.
type Class uint8

const (
	// Relay means that the mirror gets the client's text unchanged.
	Relay Class = iota + 1
	// Release means that the statement holds release blocks and executes now.
	Release
	// Explain is EXPLAIN of a statement with release blocks.
	Explain
	// Refused has a Refusal that says why; it is raised when the statement would run.
	Refused
	// Empty means that the statement reads protected relations only as a metadata probe
	// (constant-false WHERE, or LIMIT 0): its answer has no rows.
	Empty
	// Set is SET, SET LOCAL, RESET or ALTER of a setting named dp.something.
	Set
	// Execution is EXECUTE of a prepared statement, which the session alone knows.
	Execution
)

// A Form is the shape of a statement of class Release or Explain.
type Form uint8

const (
	// Query is SELECT, VALUES, TABLE, or INSERT, UPDATE, DELETE, MERGE: it can
	// be described as it is and takes parameters.
	Query Form = iota + 1
	// Utility is COPY TO, DECLARE CURSOR, CREATE TABLE AS, SELECT INTO,
	// REFRESH: the query inside it is described, and literals are used instead of parameters.
	Utility
)

// A Statement is one statement of a Script.
type Statement struct {
	// Text is the statement's own bytes; Offset is where they begin in the
	// message.
	Text   string
	Offset int
	Class  Class
	Form   Form
	// Inner is the query inside a Utility or Explain, as offsets into Text; the
	// whole of Text for a Query.
	Inner Span
	// Blocks are the release blocks, in text order. The refusal of one block's
	// content is in its Err; such a statement still has class Release.
	Blocks []*Block
	// InTransaction says that Postgres takes the statement in a transaction block
	// only: a cursor without HOLD.
	InTransaction bool
	// Protected are the protected relations that the statement names anywhere, and
	// the views over them, whose queries took their places. A relation that a
	// view reads is there too, as its query names it.
	Protected []TableRef
	// Refusal is set when Class is Refused; its position counts from the start of Text.
	Refusal *pgerr.Error
	// OnlyRows says that nothing but rows of protected tables in its answer is refused.
	OnlyRows bool
	// Setting is set when Class is Set.
	Setting *Setting
	// Execute is set when Class is Execution.
	Execute *Execute
	// Unless is set in CREATE TABLE IF NOT EXISTS AS: nothing is run if it exists.
	Unless *NewTable
	// Plans are the calls of dp.plan.
	Plans []PlanCall
	// Comments are those behind the first word.
	Comments []Comment

	// Concealed are the views whose queries no client may see and that are left in the
	// spliced text, since they aggregate themselves, in text order.
	Concealed []TableRef

	// whole and inner are the text and the inner query with places for the relations.
	whole, inner []piece
	into         Span // the INTO clause of SELECT INTO
}

// Named returns those of Protected that the client wrote.
func (s *Statement) Named() []TableRef {
	return slices.DeleteFunc(slices.Clone(s.Protected), func(t TableRef) bool { return t.Within })
}

// A Comment is one with its marks. Its place counts from the start of the statement's Text,
// and can be behind that.
type Comment struct {
	Text string
	At   int
	// Query says that it stands before the query of an EXPLAIN.
	Query bool
}

// A Span is a range of byte offsets [Start, End).
type Span struct{ Start, End int }

// A TableRef is a relation as the client wrote it.
type TableRef struct {
	Schema, Name string // as written, case folded; Schema may be empty
	// Resolved is what the catalogue said.
	Resolved Relation
	At       int
	// Within says that the query of a view names it, with its schema, and not the client.
	Within bool
}

// A NewTable is the name of a table to be made. An empty Schema is the current one.
type NewTable struct{ Schema, Name string }

// A Setting is an assignment to a dp. setting.
type Setting struct {
	Name  string // with the "dp." prefix, lower case
	Value string // text of the single argument; meaningless if Reset
	Reset bool   // RESET, SET ... TO DEFAULT
	At    int
}

// A Block is a release block: the smallest SELECT level that aggregates
// protected rows. Its expressions are small trees of our own; nothing outside
// this allow-listed subset exists in them. Offsets count from the start of the
// statement's Text.
type Block struct {
	// From is the FROM item; in a block whose Err is nil it is allowed syntax,
	// not yet allowed meaning.
	From From
	// Where is nil when there is none.
	Where Expr
	// Groups are the distinct grouping expressions, positions and aliases
	// resolved; column gN of the released relation is Groups[N-1]. A SELECT DISTINCT
	// without aggregates is grouped by its targets.
	Groups []Expr
	// Sets are the grouping sets, as indices into Groups, in the order in which
	// Postgres expands them; nil for a plain GROUP BY, which has one set of all.
	Sets [][]int
	// Groupings are the distinct calls of GROUPING, as indices into Groups; column sN
	// of the released relation is Groupings[N-1].
	Groupings [][]int
	// Aggregates are the distinct aggregate calls of targets, HAVING, ORDER BY
	// and windows; column aN of the released relation is Aggregates[N-1].
	Aggregates []*Aggregate
	// Offsets are parameters that stand after OFFSET in sub-selects: they must be 0.
	Offsets []Expr
	// Grouped says that there is a GROUP BY. Without one there is always exactly one row.
	Grouped bool
	// Concealed is the view that the block is of, if no client may see its query.
	Concealed string
	// Err refuses the content of the block (unknown syntax, function, node).
	// Then the trees have gaps: nil where something was refused.
	Err *pgerr.Error
	At  int
}

// An Aggregate is one aggregate call.
type Aggregate struct {
	Func     string // lower case, without schema: count, sum, avg
	Star     bool   // count(*)
	Distinct bool
	Args     []Expr
	// Within is the expression of WITHIN GROUP (ORDER BY ...), nil if there is none;
	// Descending is its direction.
	Within     Expr
	Descending bool
	Filter     Expr // nil if none
	// Report is the function of the schema dp that asks for the error of the aggregate
	// instead of its value: stderr, lower, upper or noise_scale; empty for the value.
	// Level is its second argument, nil if there is none.
	Report string
	Level  Expr
	At     int
}

// A From is an item of a FROM clause: *Table, *Join or *Derived.
//
//sumtype:decl
type From interface{ from() }

// A Table in FROM.
type Table struct {
	Ref     TableRef
	Alias   string   // the name its columns are reached by; never empty
	Columns []string // new names of its first columns
	Only    bool
}

// A Join of two items.
type Join struct {
	Kind        JoinKind
	Left, Right From
	On          Expr     // nil if none
	Using       []string // nil if none
	Natural     bool
	At          int
}

// A Derived table is a query in FROM, or a reference to a WITH query, whose query
// then stands here.
type Derived struct {
	Query   Rows
	Alias   string   // the name its columns are reached by, or empty
	Columns []string // new names of its first columns
	At      int
	// Concealed is the view that the query is of, if no client may see that.
	Concealed string
}

// Rows are what a query below a block yields: *Select or *UnionAll.
//
//sumtype:decl
type Rows interface{ rows() }

// A Select is one level of a query below a block. It aggregates if it has Groups or Having, or
// an Aggregate in Targets. Then each column of its own in Targets and Having stands in an
// aggregate or in one of Groups.
type Select struct {
	Targets  []Target
	Distinct bool
	From     From // nil if none
	Where    Expr // nil if none
	Groups   []Expr
	Having   Expr // nil if none
	At       int
}

// A Target is one item of a SELECT list: an expression, or all columns of the items of
// FROM (of those that Qualifier names, if it is not empty).
type Target struct {
	X         Expr   // nil for a star
	Name      string // of the output column; empty for a star
	Qualifier string
	At        int
}

// A UnionAll is UNION ALL of two queries.
type UnionAll struct {
	Left, Right Rows
	At          int
}

// A JoinKind is a kind of join.
type JoinKind uint8

// The kinds of joins.
const (
	Inner JoinKind = iota + 1
	Left
	Right
	Full
	Cross
)

func (*Table) from()    {}
func (*Join) from()     {}
func (*Derived) from()  {}
func (*Select) rows()   {}
func (*UnionAll) rows() {}

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
		At   int
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
	// ~~ !~~ ~~* !~~* (LIKE, NOT LIKE, ILIKE, NOT ILIKE). Left is nil for a prefix operator.
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
	// An In is X [NOT] IN (list).
	In struct {
		X    Expr
		List []Expr
		Not  bool
		At   int
	}
	// A Between is X [NOT] BETWEEN [SYMMETRIC] Low AND High.
	Between struct {
		X, Low, High   Expr
		Not, Symmetric bool
		At             int
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
	// An Exists is EXISTS (query).
	Exists struct {
		Query Rows
		At    int
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
