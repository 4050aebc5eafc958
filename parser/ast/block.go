package ast

import "dpproxy/pgerr"

// A Relation is a table as the parser knows it.
type Relation struct {
	Schema, Name string
	Protected    bool
	// Reference says that its rows are looked up alone, by those that refer to them.
	Reference bool
	Columns   []string
	// View is the query of a view, as the real database's catalogue prints it; it
	// takes the view's place. Empty for tables.
	View string
	// Concealed says that no client may see that query.
	Concealed bool
	// Derived says that its rows are those of a query, of public rows.
	Derived bool
}

// A TableRef is a relation as the client wrote it.
type TableRef struct {
	Schema, Name string // as written, case folded; Schema may be empty
	// Resolved is the relation in the catalogue.
	Resolved Relation
	At       int
	// Within says that the query of a view names it, with its schema, and not the client.
	Within bool
	// Concealed is the view whose query names it, if no client may see that.
	Concealed string
}

// OwnPrefix begins names of columns that no client has written: neither a bare name nor a star means them.
const OwnPrefix = "dp$own$"

// WholeRow is the name of a column that has a value in each row of a protected table. It stands for the whole row where rows are counted.
const WholeRow = OwnPrefix + "row"

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
	// Top says that of all groups those with the largest values of an aggregate are shown; nil where
	// something else decides, or nothing.
	Top *Top
	// Having are conditions of HAVING without columns: they hold for all groups or for none.
	Having []Expr
	// Counts are the places of aggregates above the block that count its rows, whatever was measured of them.
	Counts []int
	// Summed says that a statistic of released values in several of its rows is computed above the block, such as a sum over groups.
	Summed bool
	// Present says that something is computed above the block to which a group without rows is not as no group: how many groups there are,
	// their average or order, a sum over what they are joined with.
	Present bool
	// Running says in which order the values of its groups are added up above the block; nil if they are not.
	Running *Running
	// Fields are the keys of the fields of documents that the block names, in sub-selects too.
	Fields [][]string
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

// A Top is ORDER BY an aggregate DESC LIMIT k, where k is a literal whole number or a parameter.
type Top struct {
	Aggregate int // of Aggregates
	Limit     Expr
}

// A Running says that sums of values of groups up to each group are computed above a block: in the order of a key, of all groups
// that have the same other keys.
type Running struct {
	Key        int // of Groups
	Descending bool
	// Alone says that nothing else is computed from values of the block, and none is shown.
	Alone bool
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
	// instead of its value: stderr, lower, upper, noise_scale, cut or cut_upper; empty for the value.
	// Level is its second argument, nil if there is none.
	Report string
	Level  Expr
	// Weight is what dp.weight weighs it with, here or where the same aggregate stands else; nil if nothing does.
	Weight Expr
	At     int
}

// A From is an item of a FROM clause: *Table, *Join, *Derived, *Lateral, *Row, *Listed or *Elements.
//
//sumtype:decl
type From interface{ from() }

// A Table in FROM.
type Table struct {
	Ref     TableRef
	Alias   string   // the name its columns are reached by; never empty
	Columns []string // new names of its first columns
	Only    bool
	// Hidden says that no bare name or star means its columns.
	Hidden bool
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

// A Lateral is a query in FROM that is evaluated for each row of the items before it: the right side of a Join.
type Lateral struct {
	Query   *Select
	Alias   string   // the name its columns are reached by
	Columns []string // new names of its first columns
	// Refusal is the error if no join of all rows has its rows, and Untied if more than equalities ties it to the row around.
	Refusal, Untied *pgerr.Error
	At              int
}

// A Row in FROM has one row: a query without FROM of its own, of constants, or with LATERAL of columns of the items before it.
type Row struct {
	Targets []Target
	Alias   string   // the name its columns are reached by
	Columns []string // new names of its first columns
	Lateral bool
	At      int
}

// A Listed relation in FROM hangs on no table: the mirror lists its rows.
type Listed struct {
	// Lists are its columns; those of VALUES are of one length.
	Lists []List
	// Key are several columns, none of which has a NULL, that no two rows have the same values of; nil if none are known.
	// Whoever relies on it checks it when the values are known.
	Key   []int
	Alias string // the name its columns are reached by
	At    int
}

// Elements is unnest of an array column of a relation before it: the right side of a Join, of which each row is that of the
// relation beside one element of its array.
type Elements struct {
	Array *Column
	Alias string // the name its column is reached by
	Name  string // of the column
	// Hidden says that the statement has it elsewhere: no bare name or star means its column.
	Hidden bool
	At     int
}

// A List has the values of a column of a Listed relation, in one of three forms. No column of a
// table occurs in it.
type List struct {
	Name string
	// Array is an array of the values.
	Array Expr
	// Series are the arguments of generate_series.
	Series []Expr
	// Query is the client's own text of a query of one column, which the mirror runs, and Like an expression
	// that has the type of the column.
	Query string
	Like  Expr
	// Distinct says that no value is there twice, and NotNull that none is NULL. Whoever relies on it checks it
	// when the values are known.
	Distinct, NotNull bool
}

// Rows are those of a query below a block: *Select or *UnionAll.
//
//sumtype:decl
type Rows interface{ rows() }

// A Select is one level of a query below a block. It aggregates if it has Groups or Having, or
// an Aggregate in Targets. Then each column of its own in Targets and Having stands in an
// aggregate or in one of Groups.
type Select struct {
	Targets  []Target
	Distinct bool
	// First are the expressions of DISTINCT ON: of the rows that agree in them the first one by Order is kept.
	First  []Expr
	Order  []Sort
	From   From // nil if none
	Where  Expr // nil if none
	Groups []Expr
	Having Expr // nil if none
	// Limit numbers rows by Order, of a query that is evaluated for each row around it; nil if there is none.
	Limit *Limit
	// Tied says that rows count where they are equal, in columns of the groups or of First, to a row around: none with NULL does.
	Tied bool
	At   int
}

// A Limit has so many rows, after those that it skips. WITH TIES has those that are equal to the last as well.
type Limit struct {
	Rows, Skipped int
	WithTies      bool
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
func (*Lateral) from()  {}
func (*Row) from()      {}
func (*Listed) from()   {}
func (*Elements) from() {}
func (*Select) rows()   {}
func (*UnionAll) rows() {}
