// Package catalog holds the real database's catalogue of the tables in the
// policy: columns, types, keys and foreign keys, as plain values.
//
// Package mirror reads it and makes the mirror from it; package planner proves
// facts from it. It does no I/O and imports nothing of ours.
package catalog

import (
	"slices"
	"strings"
)

// A Name is a schema-qualified name of a relation or type.
type Name struct{ Schema, Name string }

// String writes schema.name, unquoted, for people and for map keys in files.
func (n Name) String() string { return n.Schema + "." + n.Name }

// Compare orders names by their text.
func (n Name) Compare(other Name) int { return strings.Compare(n.String(), other.String()) }

// A Schema is the catalogue as it was read in one snapshot.
type Schema struct {
	Tables map[Name]*Table
	Types  map[Name]*Type // types made by users that the tables use
	// Local are the tables of the local model, of which nothing is here but names, OIDs, partitions, and the columns that analysts see;
	// nil where an earlier version has not noted them.
	Local map[Name]*Table
	// Collations are those of columns that not every server has.
	Collations map[Name]*Collation
	// ServerVersion is server_version_num of the real database.
	ServerVersion int
	Database      string
	// Engine is what serves it at the moment.
	Engine Engine `json:"-"`
	// TimeZones are the names of time zones that the real database accepts, in lower
	// case, since it does not tell the cases apart.
	TimeZones map[string]bool
	// PublicRows are the rows that the public tables have on the mirror; nil where
	// nobody has counted them.
	PublicRows map[Name]int64
	// PublicRepeats are the most rows of a public table there that have one value of a column, by the
	// column's name; nothing is said of columns and tables that are not in it.
	PublicRepeats map[Name]map[string]int64
	// PublicLengths are the bytes of the longest text of a column there, likewise.
	PublicLengths map[Name]map[string]int64
}

// An Engine is a server as it describes itself.
type Engine struct {
	Version    string   // version()
	Extensions []string // of the database
}

// A Storage is a relation that holds rows.
type Storage struct {
	Name   Name
	Kind   byte   // as of a Table
	Method string // the access method of a table, e.g. heap
}

// A Table is a relation of the real database.
type Table struct {
	Name    Name
	Kind    byte // pg_class.relkind: 'r' table, 'p' partitioned, 'v' view, 'm' materialised view, 'f' foreign
	Comment string
	Columns []Column // in attnum order, dropped ones left out
	Keys    []Key
	Foreign []ForeignKey
	// Loose are foreign keys that rows need not satisfy: not validated, not enforced, of
	// periods, or of some partitions alone. They say which rows belong together, and prove nothing.
	Loose []ForeignKey
	// Checks are the CHECK constraints that all rows fulfil.
	Checks []Check `json:",omitempty"`
	// Constraints are the primary-key and unique constraints, Indexes the other
	// indexes, as the mirror shows them: those whose text could hold values, in a
	// predicate or an expression, are left out. They prove nothing: see Keys.
	Constraints, Indexes []Definition
	// Sorted are the indexes that have the rows in the order of a column. They say
	// which reads are fast, and prove nothing.
	Sorted []Index
	// RowSecurity says that row security is enabled for the reader.
	RowSecurity bool
	// Parents are the tables that this one inherits from, or is a partition of; Children are those that inherit from it, or
	// its partitions, at any depth.
	Parents, Children []Name
	// ChildOIDs are those of the children, in their order.
	ChildOIDs []uint32 `json:",omitempty"`
	// Stored are the relations that hold the rows of a table: the table itself, or its partitions.
	Stored []Storage
	// PartitionOf is the partitioned table of the policy that lists this partition:
	// they have one policy, one unit and one budget. It is zero for other tables.
	PartitionOf Name
	// View is the query of a view that the policy lists as such, with every name
	// qualified, and without a semicolon. Such a view stands for its query; a view
	// without it is a table of rows. Reads are the relations that it names directly.
	View  string
	Reads []Name
	// ViewShown says that analysts may see the query.
	ViewShown bool
	// Fingerprint is a digest of all that proofs use, as the real database states it; package introspect
	// says what it covers.
	Fingerprint string
	// OID in the real database at the time of reading.
	OID uint32
}

// Column returns the column of that name.
func (t *Table) Column(name string) (*Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return nil, false
	}
	return &t.Columns[i], true
}

// KeysHold reports whether keys and foreign keys hold of all rows that a read of the table sees. A key of a partitioned table holds
// in each partition and across them; a key of a table says nothing of the tables that inherit from it.
func (t *Table) KeysHold() bool { return t.Kind == 'p' || t.Kind == 'r' && len(t.Children) == 0 }

// AddForeign notes a foreign key; holds says whether rows satisfy it.
func (t *Table) AddForeign(f ForeignKey, holds bool) {
	if holds {
		t.Foreign = append(t.Foreign, f)
	} else {
		t.Loose = append(t.Loose, f)
	}
}

// HasRows reports whether the relation is a table, with rows of its own or of its partitions. The rows of all others are computed
// from those of other relations.
func (t *Table) HasRows() bool { return t.Kind == 'r' || t.Kind == 'p' }

// Only returns what stands before the name of the relation in FROM and in LOCK. Of an ordinary table only its own rows are read:
// another table can become its child at any time, under a lock that no reader excludes. A partitioned table has no rows but those
// of its partitions.
func (t *Table) Only() string {
	if t.Kind == 'r' {
		return "ONLY "
	}
	return ""
}

// Scope returns the table whose budget a read of the table debits: its own, or that
// of the table it is a partition of.
func (t *Table) Scope() Name {
	if t.PartitionOf != (Name{}) {
		return t.PartitionOf
	}
	return t.Name
}

// A Column of a table.
type Column struct {
	Name string
	// Number is that of the column in its table (pg_attribute.attnum): it stays when the column is renamed. 0 is unknown.
	Number  int
	Type    TypeRef
	NotNull bool
	Comment string
	// Collation is set when it is not the type's default. Deterministic is
	// false for a non-deterministic collation.
	Collation     Name
	Deterministic bool
	Generated     bool
	// Virtual says that a generated column is computed when it is read.
	Virtual bool
	// From are the columns of the table that the expression of a generated column names.
	From []string
	// Serial is the sequence that the column owns and that its default asks, as that of a
	// serial column does. It is of the table's schema.
	Serial string
	// Identity is ALWAYS or BY DEFAULT for an identity column, else empty.
	Identity string
	// Checks are the expressions of the CHECK constraints of its domain, and of one that this is over, which all values fulfil. They call
	// the column VALUE.
	Checks []string `json:",omitempty"`
}

// A Check is a validated CHECK constraint: it is true of every row, or NULL.
type Check struct {
	Expr    string   // as Postgres prints it
	Columns []string // that it names
}

// A TypeRef is a use of a type by a column.
type TypeRef struct {
	Name Name   // as in pg_type, e.g. pg_catalog.int4
	OID  uint32 // in the real database; equal on the mirror only below 16384
	Mod  int32  // typmod, -1 for none
	// Display is format_type(oid, mod), e.g. "numeric(12,2)".
	Display string
	// Base is the built-in type below a domain, else Name. BaseMod likewise.
	Base    Name
	BaseOID uint32
	BaseMod int32
	Kind    byte // pg_type.typtype of Name: 'b' base, 'e' enum, 'd' domain, ...
	// NotNull says that a domain, or one that it is over, takes no NULL.
	NotNull bool
}

// A Type is a user-defined type.
type Type struct {
	Name    Name
	Kind    byte     // 'e' enum, 'd' domain, 'c' composite, 'r' range
	Labels  []string // enum labels in order
	Base    TypeRef  // that a domain is over, or the subtype of a range
	NotNull bool
	Comment string
	// Attributes of a composite; only their names and types are known.
	Attributes []Column
	// Multirange is the type that Postgres made with a range.
	Multirange Name
}

// A Collation was made by a user, or from the locales of the server's system.
type Collation struct {
	Name          Name
	Provider      byte // pg_collation.collprovider: 'c' libc, 'i' ICU, 'b' Postgres itself
	Deterministic bool
	// Collate and Ctype are the locales of libc; the other providers have Locale, and ICU
	// may have Rules.
	Collate, Ctype, Locale, Rules string
}

// A Definition is a constraint or an index with the text that Postgres prints of it, and
// the columns that it is about, those of INCLUDE among them.
type Definition struct {
	Name, Text string
	Columns    []string
}

// An Index is a valid B-tree without predicate and expressions whose first column is in
// the order of its type.
type Index struct {
	Name    string
	Columns []string // key columns, then those beside them
}

// A Key is a unique index that proves uniqueness: unique, valid, ready,
// immediate, without predicate and expressions. That of a partitioned table is so on each partition.
type Key struct {
	Name    string
	Columns []string
	Primary bool
}

// A ForeignKey is a validated foreign-key constraint.
type ForeignKey struct {
	Name       string
	Columns    []string
	References Name
	Target     []string
	// Forgets says that the columns become NULL, or another row's, where the row that they refer to is deleted, or its key changed:
	// ON DELETE and ON UPDATE SET NULL and SET DEFAULT.
	Forgets bool
	// Definition is the constraint as Postgres prints it, actions included; it is empty where the table itself has none.
	Definition string
}

// Same reports whether the same columns refer to the same others, whatever their order.
func (f ForeignKey) Same(other ForeignKey) bool {
	if f.References != other.References || len(f.Columns) != len(other.Columns) {
		return false
	}
	for i, column := range f.Columns {
		if j := slices.Index(other.Columns, column); j < 0 || other.Target[j] != f.Target[i] {
			return false
		}
	}
	return true
}
