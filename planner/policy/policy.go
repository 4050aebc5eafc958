package policy

import (
	"math/big"

	"dpproxy/catalog"
)

// A Policy has the administrator's decisions about the protected database.
type Policy struct {
	Unit string // name of the privacy unit, e.g. "patient"
	// Units is about how many there are, as everybody may know; 0 is unsaid.
	Units  int64 `json:",omitzero"`
	Tables []TablePolicy
	// JoinRows bounds the rows of one unit that a join takes of a table whose MaxRows is undeclared;
	// 0 is DefaultJoinRows.
	JoinRows int64 `json:",omitzero"`
	// Trusted are extensions, and builders of Postgres, that change neither planning nor storage, says the administrator.
	Trusted []string `json:"-"`
}

// DefaultJoinRows is JoinRows where a policy says nothing.
const DefaultJoinRows = 1000

// A TablePolicy is the policy of one table. Its JSON is part of what makes two questions the
// same: a field that is new is encoded only where it is set (omitzero), so that the answers
// that a site remembers outlive an upgrade.
type TablePolicy struct {
	Name   catalog.Name
	Public bool
	// Reference says that rows of the policy refer to those of the table, which are nobody's in particular: they are looked up.
	Reference bool `json:",omitzero"`

	// UnitColumn is the table's own column that identifies the unit. If it is
	// empty, Via references To, but for public and reference tables.
	UnitColumn string
	Via        string
	To         ColumnName
	// ViaKey are the columns that refer to a key of several columns; then Via and the column of To are empty.
	ViaKey []string `json:",omitzero"`
	// Nobody says what becomes of rows without a unit; if it is empty they are left out.
	Nobody Nobody `json:",omitzero"`

	MaxRows       int64 // rows of one unit counted in one group; 0 is undeclared, or a limit that is chosen
	MaxPartitions int64 // groups one unit may touch; 0 is undeclared
	// AutoRows bounds a limit that is chosen, by the rows in each group that it has to admit at most;
	// 0 does not.
	AutoRows int64 `json:",omitzero"`
	// NotProtected names foreign-key columns to protected tables whose other
	// person is knowingly not protected by this table's rows.
	NotProtected []string
	// Refers are references that no foreign key states, SameUnit columns of references that lead to rows of the same unit.
	Refers   []ReferencePolicy `json:",omitzero"`
	SameUnit []string          `json:",omitzero"`
	Columns  map[string]ColumnPolicy
	// HidesUnlisted says that columns that Columns lacks are hidden, as [TablePolicy.Says] has it. Questions are the same by the columns
	// that follow, which [Stated] has.
	HidesUnlisted bool `json:"-"`
	// Dates are the bounds of columns of dates that say nothing else, or nil. Questions are the same by the bounds that follow, which
	// [Stated] has.
	Dates *Dates `json:"-"`
	// Derived are expressions over the columns that have bounds of their own.
	Derived []DerivedPolicy `json:",omitzero"`
}

// A DerivedPolicy bounds an expression over the columns of a table, as if it were one.
type DerivedPolicy struct {
	Name, Is string
	Bounds   *Bounds
}

// A ColumnName is a column of a table.
type ColumnName struct {
	Table  catalog.Name
	Column string
}

// A ColumnPolicy is the policy of one column.
type ColumnPolicy struct {
	// Hidden columns do not exist for analysts.
	Hidden bool
	// Bounds are the limits that values are clamped to, or nil.
	Bounds *Bounds
	// Unbounded says that the column has not those of a default either.
	Unbounded bool `json:"-"`
	// Values is the public domain of the column, in the order it is shown in.
	Values []string
	// EnumValues makes all labels of the column's enum type its public domain.
	EnumValues bool
	// Step is the step that values are summed in, or nil for that of the type.
	Step *big.Rat `json:",omitzero"`
	// Fields are those of a column of documents.
	Fields []FieldPolicy `json:",omitzero"`
}

// A FieldPolicy is the policy of a place in the documents of a column, to which keys lead. Its type is the name of one of [FieldTypes].
type FieldPolicy struct {
	// Path is how the policy writes Keys.
	Path string
	Keys []string
	Type string
	ColumnPolicy
}

// Bounds of a column: as numbers for numeric columns. Text keeps the policy's
// own spelling, for people and for dates.
type Bounds struct {
	Low, High         *big.Rat // nil for dates, timestamps and intervals
	LowText, HighText string
}
