package policy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A PublicKey is the column of a public table to which a foreign key refers. It is shown, and each of its values has one spelling, which a
// column that refers to it has too. The mirror has the rows that the table had when it was copied: rows of people that refer to newer ones
// are in no group, as they are where the table is joined.
type PublicKey struct {
	Table  *Table
	Column *Column
	Rows   int64 // on the mirror
}

// lookUp finds the public keys that columns of a table refer to.
func lookUp(m *Model, t *Table) {
	if !t.Source.KeysHold() {
		return
	}
	for _, fk := range t.Source.Foreign {
		if len(fk.Columns) != 1 {
			continue
		}
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == fk.Columns[0] })
		if key := publicKey(m, fk); i >= 0 && key != nil && sameSpelling(&t.Columns[i], key.Column) {
			t.Columns[i].Among = key
		}
	}
}

// publicKey returns the public key that a foreign key of one column refers to; nil if there is none.
func publicKey(m *Model, fk catalog.ForeignKey) *PublicKey {
	to := m.tables[fk.References]
	rows, known := m.publicRows[fk.References]
	if to == nil || !to.Public || !known {
		return nil
	}
	j := slices.IndexFunc(to.Columns, func(c Column) bool { return c.Name == fk.Target[0] && !c.Hidden })
	if j < 0 {
		return nil
	}
	return &PublicKey{to, &to.Columns[j], rows}
}

// sameSpelling reports whether equal values of two columns are identical.
func sameSpelling(a, b *Column) bool {
	of := func(c *Column) *scalar.Column {
		return &scalar.Column{Type: pgtype.OfColumn(c.Type, c.Collation, c.Deterministic)}
	}
	return scalar.Identical(of(a), of(b))
}
