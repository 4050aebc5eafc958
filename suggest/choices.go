package suggest

import (
	"dpproxy/catalog"
)

// Choices are the answers of an administrator to what the catalogue does not say, or their defaults.
type Choices struct {
	// Unit is the table with one row for each privacy unit, and UnitColumn its column, or "" for the key. The zero Name stands for the
	// candidate that is clear.
	Unit       catalog.Name
	UnitColumn string
	// UnitName is the word for a row of the table, such as student; if it is empty the name of the table decides.
	UnitName string
	// Epsilon is the budget of the unit.
	Epsilon string
	// Public are tables without a way to the unit that everybody may read. AllClear adds the tables for which there is no objection.
	Public   map[catalog.Name]bool
	AllClear bool
	// References are tables whose rows belong to nobody in particular.
	References map[catalog.Name]bool
	// Ways are the columns, separated by commas, that lead from a table to the unit. It is accepted that the rows do not protect people
	// whom other columns name.
	Ways map[catalog.Name]string
	// Given are the ways that a policy has already.
	Given map[catalog.Name]Way
	// Dropped are relations that are left out, and Hidden columns that are hidden, each with the reason.
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

// Service has the parts of a policy that no catalogue contains.
type Service struct {
	Listen, Data, Mirror, Ledger string
	// Analyst and Verifier are a login; if they are empty there is none.
	Analyst, Verifier string
}

// NewChoices returns the defaults, which make nothing public.
func NewChoices(s Service) *Choices {
	return &Choices{
		Epsilon: DefaultEpsilon, Service: s,
		Public: map[catalog.Name]bool{}, References: map[catalog.Name]bool{}, Ways: map[catalog.Name]string{},
		Dropped: map[catalog.Name]string{}, Hidden: map[Place]string{},
	}
}

// DefaultEpsilon is the default budget of the unit.
const DefaultEpsilon = "5"
