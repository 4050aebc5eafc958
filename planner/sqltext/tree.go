package sqltext

// A Select is a query, with those that are united with it.
type Select struct {
	With     []Named
	Distinct bool
	First    []string // of DISTINCT ON
	Columns  []Column
	From     Item
	// Where are conditions on the rows of From, which must all hold: nil has no WHERE, an empty
	// one is TRUE.
	Where []string
	// Looks are the sub-selects in its expressions. There are no others.
	Looks   []*Look
	GroupBy []string
	Having  string // "" for none
	OrderBy []string
	// UnionAll are further queries, whose rows follow.
	UnionAll []*Select
	Limit    int // 0 for none
	// Fence has Postgres compute the query by itself (OFFSET 0), not as part of one around it.
	Fence bool
}

// A Look is a sub-select in a condition whose rows an index finds for each row that asks. Its SQL is part of an expression.
type Look struct {
	Table *Table
	// By is the equality with the row around it by which they are found, Key the column of the table in it.
	By, Key string
	// Other is the other side of that equality.
	Other string
	Where []string // further conditions
}

// Named is a query of WITH.
type Named struct {
	Name  string
	Query *Select
}

// A Column is an expression of a SELECT list, with the name that it gets; "" for none.
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
	// Own are those conditions of the query around it, or of its join, that are on its rows alone: for
	// [Even].
	Own []string
	// Most says that they leave most of its rows, Few that they leave few, as far as can be told without reading any.
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

	// The rest is said for [Even].

	// Links are the equalities between columns of both sides that hold on every row of the
	// join, be it by On or by a condition of the query around it.
	Links []Link
	// Units are equalities of the units of both sides, of an inner join, that follow from others.
	Units []Link
	// Beyond are conditions of the query around it on columns of both sides and no others.
	Beyond []string
	// LeftUnit is a column that is NULL only where the left side has no row; "" if no protected
	// row is in each of its rows.
	LeftUnit string
}

// A Kind is which rows without a match a join keeps.
type Kind uint8

// The kinds of joins.
const (
	Inner Kind = iota
	Left
	full // is no part of the meaning of a statement
)

// A Link is an equality between columns of two sides.
type Link struct {
	SQL         string
	Left, Right End
	// Looked is the same as SQL, "" for none, for Postgres to look the right end up by an index for each row: of an
	// equality it may make a hash table of all rows.
	Looked string
}

// An End is a column in a link.
type End struct {
	Of      string // names the relation
	Present string // SQL that is NULL where the column is
	Indexed bool   // an index of the relation's table begins with it
	Many    bool   // rows that are equal in it can be of many units
	Null    bool   // it can be NULL in a row of somebody: for a join such a row is none
	Foreign bool   // it is never NULL, and a foreign key of it alone refers to the other end: each row has a match
}

// Listed are the rows of an item beside elements of a public list of constants: beside the one that On finds, or NULL, or, if On
// is empty, beside each. The list is there whatever rows there are, so that such a join is read as it is.
type Listed struct {
	Item Item
	List *Table
	On   string
}

func (*Table) item()  {}
func (*Query) item()  {}
func (*Join) item()   {}
func (*Listed) item() {}

// Columns names columns of a relation, or of the only one if it is "".
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
