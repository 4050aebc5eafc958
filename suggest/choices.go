package suggest

import (
	"dpproxy/catalog"
)

// Choices stand where the catalogue tells nothing: somebody's answers, or the defaults.
type Choices struct {
	// Unit is the table that has one row for each privacy unit; the zero Name: the likeliest.
	Unit catalog.Name
	// UnitName is the word for a row of it, such as student; empty: as the table is called.
	UnitName string
	// Epsilon is the budget of the unit.
	Epsilon string
	// Public are tables without a way to the unit that everybody may read.
	Public map[catalog.Name]bool
	// Ways are the foreign keys, by name, that lead from a table to the unit, where several do: the people behind
	// the others are knowingly not protected by the table's rows.
	Ways map[catalog.Name]string
	// Rows are max_rows_per_group of tables; empty: auto.
	Rows map[catalog.Name]string
	// Bounds are the bounds of columns, as a policy writes them.
	Bounds map[Place][2]string
	// Dropped are relations that stay out, and Hidden columns that are hidden, each with the reason.
	Dropped map[catalog.Name]string
	Hidden  map[Place]string
	// Service has connections and analysts.
	Service Service
}

// A Place is a column of a table.
type Place struct {
	Table  catalog.Name
	Column string
}

// Service are the parts of a policy that no catalogue knows.
type Service struct {
	Listen, Data, Mirror, Ledger string
	// Analyst and Verifier are a login; empty: none.
	Analyst, Verifier string
}

// NewChoices are the defaults, which make nothing public.
func NewChoices(s Service) *Choices {
	return &Choices{
		Epsilon: DefaultEpsilon, Service: s,
		Public: map[catalog.Name]bool{}, Ways: map[catalog.Name]string{}, Rows: map[catalog.Name]string{},
		Bounds: map[Place][2]string{}, Dropped: map[catalog.Name]string{}, Hidden: map[Place]string{},
	}
}

// DefaultEpsilon is the budget of the unit where nobody says another.
const DefaultEpsilon = "5"
