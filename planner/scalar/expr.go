package scalar

import (
	"math/big"
	"strconv"

	"dpproxy/parser/ast"
)

// A Column is a column of a relation in scope. Two columns are the same if their
// pointers are.
type Column struct {
	Name    string
	Type    Type
	NotNull bool
	// Outer says that a join adds rows in which the column is NULL.
	Outer bool
	// Declared bounds of values, or nil: a column of a table of the policy.
	Bounds *Bounds
	// Values are declared public values, in the order that they are shown in, or nil.
	Values []string
	// Of are the expressions that a column of a derived table stands for, one for
	// each branch of its UNION ALL; nil for a column of a table. A column that stands for
	// a plain column of a table is like that column. The derived table's select list
	// writes them with [Writer.Target].
	Of []Expr
	// SQL is how the column is written where it is in scope, e.g. t0."cost"; a column
	// of a domain with a cast to the domain's base type. Its value is [Column.Read].
	SQL string
	// Reach is how much of a text is read.
	Reach Reach
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
	Low, High         *big.Rat // nil for dates and timestamps
	LowText, HighText string
}

// A Fold is a column-free expression, printed by us. It is evaluated once on the
// mirror, in the analyst's session; only its value goes further.
type Fold struct {
	SQL  string
	Type Type
	At   int
	// Concealed says that the text holds what no analyst may see, and is evaluated in a
	// session of our own. It may name the values of the others: $1 is that of the first fold.
	Concealed bool
}

// Constants collects the folds of a statement, equal ones once.
type Constants struct {
	folds []Fold
	// assumed says that a sub-select was taken to have the type of what is beside it.
	assumed bool
}

// Add returns the index of the fold.
func (c *Constants) Add(f Fold) int {
	for i, have := range c.folds {
		if have.SQL == f.SQL && have.Type == f.Type && have.Concealed == f.Concealed {
			return i
		}
	}
	c.folds = append(c.folds, f)
	return len(c.folds) - 1
}

// Folds returns what is to be evaluated, in order.
func (c *Constants) Folds() []Fold { return c.folds }

// Inlined are constants as text for the mirror holds them.
type Inlined struct{ texts []string }

// Inlined returns the constants for text that is, or is not, concealed. One that is holds those
// that are not concealed themselves by the parameters of their values: the analyst's own text
// never runs beside what he may not see, in a session that has other rights than he.
func (c *Constants) Inlined(concealed bool) Inlined {
	texts := make([]string, len(c.folds))
	for i, f := range c.folds {
		texts[i] = "(" + f.SQL + ")"
		if concealed && !f.Concealed {
			texts[i] = f.apart(i)
		}
	}
	return Inlined{texts}
}

// apart writes the parameter of a fold's value, which is a text where its type is user-defined:
// that can be one of the analyst's own, whose checks call his functions.
func (f Fold) apart(i int) string {
	p := "($" + strconv.Itoa(i+1) + ")"
	if f.Type.Enum.Name == "" || f.Type.named() {
		return p
	}
	return castSQL(castSQL(p, typ(oidText)), f.Type)
}

// SQL writes the i-th constant.
func (in Inlined) SQL(i int) string { return in.texts[i] }

// A Value is a constant as the mirror evaluated it: nil Bytes are NULL. Values of
// user-defined types come as text.
type Value struct {
	OID    uint32
	Binary bool
	Bytes  []byte
}

// A Resolver gives the parser's expressions their meaning. Its errors are
// *pgerr.Error with positions in the statement.
type Resolver struct {
	Constants *Constants
	// Concealed says that no analyst may see what is resolved.
	Concealed bool
	// Params are the types of $1, $2, ...
	Params []uint32
	// Column resolves a reference. Its error is the refusal of the name.
	Column func(*ast.Column) (*Column, error)
	// Condition resolves conditions with a query inside (InQuery, Exists); nil
	// refuses them.
	Condition func(ast.Expr) (Expr, error)
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
//
//sumtype:decl
type Expr interface {
	Type() Type
	// Pos is its place in the statement, for messages.
	Pos() int
	// Columns returns the columns in it, each once; those below an inner aggregate as well.
	Columns() []*Column
	scalar()
}

// node is what all expressions have.
type node struct {
	typ Type
	at  int
}

// Type implements Expr.
func (n node) Type() Type { return n.typ }

// Pos implements Expr.
func (n node) Pos() int { return n.at }

func (node) scalar() {}

// A Ref is a column.
type Ref struct {
	Column *Column
	At     int
}

// Type implements Expr.
func (r *Ref) Type() Type { return r.Column.Type }

// Pos implements Expr.
func (r *Ref) Pos() int { return r.At }

func (*Ref) scalar() {}

// A Query is a condition made of a sub-select, resolved by whoever knows relations.
type Query struct {
	// SQL writes it.
	SQL func(w *Writer) (string, error)
	// Uses are the columns of the level around it that it mentions.
	Uses []*Column
	At   int
}

// Type implements Expr.
func (*Query) Type() Type { return typ(oidBool) }

// Pos implements Expr.
func (q *Query) Pos() int { return q.At }

func (*Query) scalar() {}

type (
	// constant is a fold by its index.
	constant struct {
		node
		fold int
	}
	// comparison is = <> < <= > >=.
	comparison struct {
		node
		op          string
		left, right Expr
	}
	// distinct is IS [NOT] DISTINCT FROM.
	distinct struct {
		node
		left, right Expr
		not         bool
	}
	// among is X [NOT] IN (list).
	among struct {
		node
		x    Expr
		list []Expr
		not  bool
	}
	// between is X [NOT] BETWEEN [SYMMETRIC] low AND high.
	between struct {
		node
		x, low, high   Expr
		not, symmetric bool
	}
	// like is [NOT] LIKE or ILIKE, by its operator; the pattern is a constant.
	like struct {
		node
		op         string
		x, pattern Expr
	}
	// anyOf compares with the elements of a constant array: op ANY, or ALL.
	anyOf struct {
		node
		op       string
		x, array Expr
		all      bool
		filled   bool // the array has an element
	}
	// logic is AND, OR or NOT.
	logic struct {
		node
		kind ast.BoolKind
		args []Expr
	}
	// null is IS [NOT] NULL.
	null struct {
		node
		x   Expr
		not bool
	}
	// truth is IS [NOT] TRUE, FALSE or UNKNOWN.
	truth struct {
		node
		x    Expr
		kind string
	}
	// call is an operator or a function with arguments of its own types.
	call struct {
		node
		fn   *function
		args []Expr
		// zone is the fold with the session's time zone, -1 where it does not matter.
		zone int
	}
	// cast is a conversion, written by the client or implied.
	cast struct {
		node
		x    Expr
		zone int
	}
	// choice is COALESCE, GREATEST or LEAST.
	choice struct {
		node
		kind string
		args []Expr
	}
	// nullIf is NULLIF.
	nullIf struct {
		node
		left, right Expr
	}
	// branches is CASE.
	branches struct {
		node
		x         Expr // nil in CASE WHEN condition
		whens     []when
		otherwise Expr // nil for NULL
	}
	// aggregate is an aggregate over the rows of one group of one unit.
	aggregate struct {
		node
		name     string
		x        Expr // nil in count(*)
		distinct bool
		filter   Expr // nil if none
		rows     int64
	}
)

type when struct{ cond, then Expr }

// Columns implements Expr.
func (r *Ref) Columns() []*Column { return columnsOf(r) }

// Columns implements Expr.
func (q *Query) Columns() []*Column { return columnsOf(q) }

// Columns implements Expr.
func (e *constant) Columns() []*Column { return nil }

// Columns implements Expr.
func (e *comparison) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *distinct) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *among) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *between) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *like) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *anyOf) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *logic) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *null) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *truth) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *call) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *cast) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *choice) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *nullIf) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *branches) Columns() []*Column { return columnsOf(e) }

// Columns implements Expr.
func (e *aggregate) Columns() []*Column { return columnsOf(e) }
