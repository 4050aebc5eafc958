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
		// Cols are the columns of the table. Facts can mention others, such as the unit at the end of a path that the catalogue proves.
		Cols []Col
		// Row identifies the row within the table.
		Row Col
		// Unit identifies the privacy unit of each row; it is 0 if the table is public.
		Unit Col
		// No two rows of the table agree in all columns of one of the Keys.
		Keys []Set
		// Values of a Spelled column can be equal without being identical.
		Spelled Set
		// Says and Deps hold of the rows, of the rows that they refer to, and of their paths to the unit, by the catalogue.
		Says Facts
		Deps []Dep
		// Reference says that the rows belong to no unit and are not public: they are only looked up, by a key, from rows that refer to
		// them.
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
	// A Map adds computed columns.
	Map struct {
		In   Rel
		Defs []Def
	}
	// A Join joins the rows that meet all conditions.
	Join struct {
		Kind Kind
		L, R Rel
		On   []Condition
	}
	// A Group has a row for each combination of values of the keys; if ByUnit is true, for each combination in each unit.
	Group struct {
		In     Rel
		Keys   Set
		ByUnit bool
		Aggs   []Def
		Row    Col
	}
	// A Rank numbers the rows that agree in By and in the unit. Order distinguishes all of these rows.
	Rank struct {
		In    Rel
		By    Set
		Order any
		Out   Col
	}
	// A Union is a UNION ALL. Out[i] takes its values from Left[i] on the rows of L, and from Also[i] on the rows of R.
	Union struct {
		L, R       Rel
		Out        []Col
		Left, Also []Col
		Row        Col
	}
	// An Unnest has a row for each of the first Most elements of the array of each row.
	Unnest struct {
		In    Rel
		Array Def
		Most  int64
		Row   Col
		// Outer says that a row without elements remains, with NULL as its element.
		Outer bool
	}
	// A Cap keeps at most Rows rows of each unit, chosen by a secret and the unit's own rows; it keeps all rows of a public relation.
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

// A Condition is a function of one row. Says holds of each row for which the condition is true, and Deps hold among all rows for which it
// is true, of whatever relations: x = y + 1 makes x depend on y.
type Condition struct {
	// Of is the condition itself. Package core does not look into it.
	Of   any
	Cols Set
	Says Facts
	Deps []Dep
}

// A Def is a column that is computed from a row, from a window of rows, or from a group of rows.
type Def struct {
	Out Col
	Of  any
	// The value is a function of the columns Cols of its row, unless it is Free: then it depends on other rows of a window or a group too.
	Cols Set
	Free bool
	// Over has, for each window function in the expression, the columns of its PARTITION BY.
	Over []Set
	// Same is the column that the expression copies, or 0.
	Same Col
	// Valued says that the value is never NULL; Spelled that two values can be equal without being identical.
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
	// Refers are the keys by which a row of a unit refers to rows of reference tables.
	Refers []Key
	Given  []Given
}

// A Pair is two columns that are equal. Identical says that they are identical too.
type Pair struct {
	A, B      Col
	Identical bool
}

// A Key is the columns that hold the value of a key of some table. Of names that table and its key, which fixes the order of Cols.
type Key struct {
	Of   string
	Cols []Col
}

// A Look says: if Key has no NULL, the row that it identifies has the values of Gives, by the names of its columns.
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

// Given are facts that hold of each row on which one of the columns of If is not NULL.
type Given struct {
	If   Set
	Says Facts
}

// A Dep is a functional dependency: rows that are identical in From are identical in To.
type Dep struct{ From, To Set }
