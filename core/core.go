package core

// A Rel is a relation: one of the operators below.
//
//sumtype:decl
type Rel interface{ rel() }

// A Kind is a kind of [Join].
type Kind int

// The kinds of joins.
const (
	Inner Kind = iota
	Left
	Semi
	Anti
)

type (
	// A Scan reads a table.
	Scan struct {
		Table string
		// Cols are the columns of the table. Others can follow from a row: the unit at the end of the path that the catalogue proves.
		Cols []Col
		// Row stands for the row itself: no other row of the table has the same.
		Row Col
		// Unit identifies the privacy unit of each row; it is 0 of a public table.
		Unit Col
		// Keys are sets of columns that no two rows have alike.
		Keys []Set
		// Equal values of Spelled columns need not be identical.
		Spelled Set
		// The catalogue proves Says and Deps, of the rows, their references and their paths to the unit.
		Says Facts
		Deps []Dep
		// Reference says that the rows are nobody's and not public either: they are only looked up, by a key, from rows that refer to them.
		Reference bool
	}
	// Values are rows of constants.
	Values struct {
		Cols    []Col
		Row     Col
		Valued  Set
		Spelled Set
	}
	// A Filter keeps the rows that meet conditions.
	Filter struct {
		In Rel
		If []Condition
	}
	// A Map computes columns, and keeps those that it has.
	Map struct {
		In   Rel
		Defs []Def
	}
	// A Join joins rows that meet conditions.
	Join struct {
		Kind Kind
		L, R Rel
		On   []Condition
	}
	// A Group has one row for each different value of the keys, and of the unit: ByUnit says that this makes a difference.
	Group struct {
		In     Rel
		Keys   Set
		ByUnit bool
		Aggs   []Def
		Row    Col
	}
	// A Rank numbers the rows that agree in By and the unit, in an order that tells all of them apart.
	Rank struct {
		In    Rel
		By    Set
		Order any
		Out   Col
	}
	// A Union has the rows of both. Each column of Out is one of the left and one of the right.
	Union struct {
		L, R       Rel
		Out        []Col
		Left, Also []Col
		Row        Col
	}
	// An Unnest has a row for each of the first elements of an array, at most Most of each row.
	Unnest struct {
		In    Rel
		Array Def
		Most  int64
		Row   Col
		// Outer says that a row without elements stays, with NULL.
		Outer bool
	}
	// A Cap keeps at most Rows rows of each unit, by an order that depends on a secret and the unit's own rows.
	Cap struct {
		In   Rel
		Rows int64
	}
)

func (*Scan) rel()   {}
func (*Values) rel() {}
func (*Filter) rel() {}
func (*Map) rel()    {}
func (*Join) rel()   {}
func (*Group) rel()  {}
func (*Rank) rel()   {}
func (*Union) rel()  {}
func (*Unnest) rel() {}
func (*Cap) rel()    {}

// A Condition is a function of one row. Says holds of each row on which it is true.
type Condition struct {
	// Of is the condition itself, for those who evaluate or write it.
	Of   any
	Cols Set
	Says Facts
}

// A Def is a column that is computed from a row, from the rows of a unit, or from a group of them.
type Def struct {
	Out Col
	Of  any
	// Cols are the columns of the row that the value is a function of; Free says that it depends on other rows as well: those of
	// windows, or of a group.
	Cols Set
	Free bool
	// Over are the columns that partition the rows of each window function in it.
	Over []Set
	// Same is the column that it is itself, else 0.
	Same Col
	// Valued says that it is never NULL; Spelled that equal values of it need not be identical.
	Valued, Spelled bool
}

// Facts hold of each row of a relation.
type Facts struct {
	Equal []Pair
	// Fixed columns are identical on all rows.
	Fixed Set
	// Valued columns are not NULL.
	Valued Set
	Looks  []Look
	// Refers are the keys of rows of reference tables that a row of a unit refers to.
	Refers []Key
	Given  []Given
}

// A Pair is two columns that are equal. They are identical as well if Identical is true.
type Pair struct {
	A, B      Col
	Identical bool
}

// A Key is the values that a row of a table has in a key. Of names the table and the key, whose order the columns are in.
type Key struct {
	Of   string
	Cols []Col
}

// A Look says: the row which has a key, if that is not NULL, has the values of Gives.
type Look struct {
	Key
	Gives map[string]Col
}

func (l Look) gives() (s Set) {
	for _, c := range l.Gives {
		s = s.Or(Of(c))
	}
	return s
}

// Given are facts of each row on which one of the columns is not NULL.
type Given struct {
	If   Set
	Says Facts
}

// A Dep says that rows which are identical in From are identical in To.
type Dep struct{ From, To Set }
