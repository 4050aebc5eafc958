package policy

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// A Nobody says how rows of a table count that belong to no unit, since the column that leads to it is NULL. If it is empty they are left
// out.
//
// Otherwise such a row, with the rows of other tables whose way to the unit leads to it, is a unit of its own. Its identifier is the pair
// of the table and the row's key. So it is bounded as a person is. It is no person: it is not counted where people are.
type Nobody string

const (
	// NobodyRows says that each is protected as one row. None of them selects a private group.
	NobodyRows Nobody = "rows"
	// NobodyPublic says that the rows concern nobody: they select private groups as well.
	NobodyPublic Nobody = "public"
)

// A Counting is how rows of a table without a unit are told apart.
type Counting struct {
	As Nobody
	// Key are the columns of a key of the table.
	Key []string
	// Of names the table in a text that no other has; a partition has that of its whole.
	Of string
}

// nobody finds out how rows without a unit count: not at all, unless the policy says so.
func (c *checker) nobody(t *Table, p *TablePolicy) {
	whole := wholeOf(c.model, t)
	if c.policyOf(whole).Nobody != p.Nobody {
		c.problem(p.Name, "nobody", "%s is a partition of %s: the same rows must count in the same way", p.Name, whole.Name)
	}
	switch {
	case p.Nobody == "":
		return
	case len(t.Unit.Steps) > 0:
		c.problem(p.Name, "nobody", "the unit of these rows is that of rows of %s: rows of %s without a unit count by its own nobody, and "+
			"with them the rows here that lead to them; rows that lead to none are left out",
			t.Unit.Steps[0].To.Name, t.Unit.Steps[len(t.Unit.Steps)-1].To.Name)
		return
	case !nullable(t, []string{t.Unit.Column}):
		return // there are none
	}
	t.Counting = &Counting{p.Nobody, rowKey(whole, t), whole.SQL()}
	if t.Counting.Key == nil {
		c.problem(p.Name, "nobody", "%s has no unique index over NOT NULL columns, of types whose different values have different bytes: "+
			"nothing tells its rows without a %s apart", whole.Name, c.model.unit)
	}
	if fk := forgets(t); fk != nil && p.Nobody == NobodyPublic {
		c.problem(p.Name, "nobody", "the foreign key %s sets (%s) to NULL or to a default where the row that it refers to is deleted or "+
			"changed: rows of an erased %s would be public; leave nobody out, or write nobody: rows",
			fk.Name, strings.Join(fk.Columns, ", "), c.model.unit)
	}
}

// wholeOf returns the table of the policy that has all rows of a partition, at any depth, or the table itself: one row has one
// identifier.
func wholeOf(m *Model, t *Table) *Table {
	whole := m.Whole(t)
	for _, of := range m.tables {
		if !of.Public && slices.Contains(of.Source.Children, whole.Name) {
			return wholeOf(m, of)
		}
	}
	return whole
}

// forgets returns the foreign key by which rows can lose their unit, nil if there is none.
func forgets(t *Table) *catalog.ForeignKey {
	for _, fk := range slices.Concat(t.Source.Foreign, t.Source.Loose) {
		if fk.Forgets && slices.Contains(fk.Columns, t.Unit.Column) {
			return &fk
		}
	}
	return nil
}

// rowKey returns the columns of the shortest key that tells the rows of a partitioned table, or of any other, apart; nil if there is
// none. Values of its columns that are not equal have different bytes.
func rowKey(whole, part *Table) (best []string) {
	if !whole.Source.KeysHold() {
		return nil
	}
	for _, k := range whole.Source.Keys {
		fit := !slices.ContainsFunc(k.Columns, func(name string) bool {
			of, ok := part.Source.Column(name)
			return !ok || pgtype.OfColumn(of.Type, of.Collation, of.Deterministic).Family() == pgtype.NoFamily
		})
		if fit && hasKey(whole.Source, k.Columns) && hasKey(part.Source, k.Columns) && (best == nil || len(k.Columns) < len(best)) {
			best = k.Columns
		}
	}
	return best
}

// Counted says which rows of the table count without a unit, and what is protected of them; "" if there are none.
func Counted(t *Table) string {
	var said []string
	for _, e := range ends(t) {
		if e.counts {
			said = append(said, e.Said(t)+": "+e.At.Counting.As.promise())
		}
	}
	return strings.Join(said, ", or ")
}

// promise says what is protected of a row.
func (n Nobody) promise() string {
	if n == NobodyPublic {
		return "declared to concern nobody"
	}
	return "of each the row is protected, not a person"
}

// Forgetting warns of rows that lose their unit and count on; nil if there are none.
func Forgetting(t *Table) []Remark {
	fk := forgets(t)
	if fk == nil || t.Counting == nil {
		return nil
	}
	const from = "from then on each row that is left is protected by itself, and no more all of them together"
	return []Remark{{
		t.Name,
		fmt.Sprintf("the foreign key %s makes (%s) NULL where the row is deleted that it refers to: %s", fk.Name,
			strings.Join(fk.Columns, ", "), from),
		"foreign keys make columns NULL where the row is deleted that they refer to: " + from,
		fmt.Sprintf("%s makes (%s) NULL", fk.Name, strings.Join(fk.Columns, ", ")),
	}}
}

// Remedies says which lines of the policy would have rows of the table count that are left out; "" if none would.
func Remedies(t *Table) string {
	var said []string
	for _, e := range Ends(t) {
		if e.Null && len(e.At.Unit.Steps) == 0 && rowKey(e.At, e.At) != nil {
			said = append(said, "nobody: rows under "+e.At.Name.String())
		}
	}
	return strings.Join(said, ", or ")
}
