package suggest

import (
	"dpproxy/catalog"
)

// Choices are somebody's answers where the catalogue says nothing, or the defaults.
type Choices struct {
	// Unit is the table that has one row for each privacy unit, and UnitColumn the column, or "" for the key; the zero Name: the
	// one that is clear.
	Unit       catalog.Name
	UnitColumn string
	// UnitName is the word for a row of it, such as student; empty: as the table is called.
	UnitName string
	// Epsilon is the budget of the unit.
	Epsilon string
	// Public are tables without a way to the unit that everybody may read; AllClear adds those that nothing speaks against.
	Public   map[catalog.Name]bool
	AllClear bool
	// References are tables of nobody's in particular.
	References map[catalog.Name]bool
	// Ways are the columns, with commas, that lead from a table to the unit: the people behind
	// others are knowingly not protected by the table's rows.
	Ways map[catalog.Name]string
	// Given are the ways that a policy has already.
	Given map[catalog.Name]Way
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
		Public: map[catalog.Name]bool{}, References: map[catalog.Name]bool{}, Ways: map[catalog.Name]string{},
		Dropped: map[catalog.Name]string{}, Hidden: map[Place]string{},
	}
}

// DefaultEpsilon is the budget of the unit where nobody says another.
const DefaultEpsilon = "5"
