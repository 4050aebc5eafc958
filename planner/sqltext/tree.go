package sqltext

// A Select is a query, together with the queries that are united with it.
type Select struct {
	With     []Named
	Distinct bool     // then each column has a name
	First    []string // of DISTINCT ON; it begins with those of [Parted]
	Columns  []Column
	From     Item
	// Where are conditions on the rows of From, all of which must hold. If it is nil there is no WHERE; if it is empty, WHERE is TRUE.
	Where []string
	// Looks are all sub-selects in its expressions.
	Looks   []*Look
	GroupBy []string
	Having  string // "" for none
	OrderBy []string
	// UnionAll are further queries, whose rows follow.
	UnionAll []*Select
	Limit    int // 0 for none
	// Fence makes Postgres compute the query separately (OFFSET 0), and not as part of a query around it.
	Fence bool
}

// A Look is a sub-select in a condition. For each row of the query around it, an index finds the rows of the sub-select. Its SQL is part of
// an expression.
type Look struct {
	Table *Table
	// By is an equality with the row around, by which the index finds rows; Key is the column of the table in it.
	By, Key string
	// Other is the other side of the equality.
	Other string
	Where []string // further conditions
}

// Named is a query of WITH.
type Named struct {
	Name  string
	Query *Select
}

// A Column is an expression of a SELECT list, with its name; "" for none.
type Column struct{ SQL, As string }

// An Item is read by a query: a [Table], a [Query], a [Join] or a [Listed].
//
//sumtype:decl
type Item interface{ item() }

// A Table is a table, a query of WITH, or a function, as SQL.
type Table struct {
	SQL string
	As  string // "" for its own name
	// Protected says that its rows belong to privacy units.
	Protected bool
	// Own are the conditions on its rows alone that the query around it or its join has. [Even] uses them.
	Own []string
	// Most says that these conditions leave most of its rows, and Few that they leave few, as far as the planner knows without reading
	// rows.
	Most, Few bool
}

// A Query is a sub-select.
type Query struct {
	Select *Select
	As     string
	Own    []string // as of a [Table]
	Most   bool
}

// A Join joins two items.
type Join struct {
	Kind        Kind
	Left, Right Item
	On          []string // nil for a cross join

	// The remaining fields are for [Even].

	// Links are the equalities between columns of both sides that hold on every row of the join, because of On or of a condition of the
	// query around it.
	Links []Link
	// Units are equalities between the units of both sides of an inner join. They follow from other equalities.
	Units []Link
	// Beyond are conditions of the query around it on columns of both sides alone.
	Beyond []string
	// LeftUnit is a column that is NULL only if the left side has no row; "" if no protected relation has a row in each of its rows.
	LeftUnit string
}

// A Kind says which rows without a match a join keeps.
type Kind uint8

// The kinds of joins.
const (
	Inner Kind = iota
	Left
	full // never part of the meaning of a statement
)

// A Link is an equality between columns of two sides.
type Link struct {
	SQL         string
	Left, Right End
	// Looked means the same as SQL, but makes Postgres look the right end up by an index for each row; "" for none. For an equality,
	// Postgres may make a hash table of all rows.
	Looked string
}

// An End is a column in a link.
type End struct {
	Of      string // the name of the relation
	Present string // SQL that is NULL if the column is
	Indexed bool   // an index of the relation's table begins with it
	Many    bool   // rows that are equal in it can be of many units
	Null    bool   // it can be NULL in a row of somebody: such a row joins nothing
	Foreign bool   // it is never NULL, and a foreign key of it alone refers to the other end: each row has a match
}

// Listed joins the rows of an item with a public list of constants: each row with the element that On finds, or with NULL, or, if On is
// empty, with every element. The list does not depend on any row, so that such a join is read as it is written.
type Listed struct {
	Item Item
	List *Table
	On   string
}

func (*Table) item()  {}
func (*Query) item()  {}
func (*Join) item()   {}
func (*Listed) item() {}

// Columns names columns of a relation, or of the only relation if it is "".
func Columns(relation string, names ...string) []Column {
	list := make([]Column, len(names))
	for i, n := range names {
		list[i].SQL = n
		if relation != "" {
			list[i].SQL = Of(relation, n)
		}
	}
	return list
}
