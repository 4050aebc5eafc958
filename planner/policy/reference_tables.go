package policy

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// Rows of a reference table are nobody's in particular: addresses, cards, departments. A statement reads them by looking up, for a
// protected row or for a reference row that it refers to, the row of a whole key, by the row's own columns that refer to it. So what it
// reads is a function of the protected rows, each with the rows that it refers to (docs/decisions/0027-reference-rows-are-looked-up.md).

// looksUp notes that columns of a table refer to a row of a reference table, if equality tells one row there.
func looksUp(t *Table, s Step) {
	if !s.To.Source.KeysHold() || !hasKey(s.To.Source, s.Key) {
		return
	}
	for i := range s.From {
		if !alike(t, s, i) {
			return
		}
	}
	if !slices.ContainsFunc(t.Lookups, func(l Step) bool { return sameStep(l, s) }) {
		t.Lookups = append(t.Lookups, s)
	}
}

// alike reports whether a column of a step is equal to the one that it refers to as that one is unique. Whole numbers of any size are.
func alike(t *Table, s Step, i int) bool {
	from, _ := t.Source.Column(s.From[i])
	to, _ := s.To.Source.Column(s.Key[i])
	whole := familyOf(from.Type) == pgtype.IntFamily && familyOf(to.Type) == pgtype.IntFamily
	return !from.Virtual && !to.Virtual && (whole || unlike(t, s, i) == "")
}

func sameStep(a, b Step) bool {
	return a.To == b.To && slices.Equal(a.From, b.From) && slices.Equal(a.Key, b.Key)
}

// apart refuses tables that have rows in common with a reference table.
func apart(c *checker, p *TablePolicy, src *catalog.Table) {
	for _, up := range src.Parents {
		other := slices.IndexFunc(c.policy.Tables, func(o TablePolicy) bool { return o.Name == up })
		if p.Reference || other >= 0 && c.policy.Tables[other].Reference {
			c.problem(p.Name, "", "its rows are rows of %v as well: neither can be a reference table", up)
		}
	}
}

// leadsBack refuses a reference table whose rows refer to people, unless the policy says that it knows.
func leadsBack(c *checker, t *Table, fk catalog.ForeignKey, excused func(string) bool) {
	if !slices.ContainsFunc(fk.Columns, excused) {
		c.problem(t.Name, "reference", "the foreign key %s (%s) leads to %s, whose rows are people's: rows of the table may be theirs, "+
			"by unit: {via: %[2]s, to: %[3]s}; if they are not, name the column under not_protected",
			fk.Name, columnList(fk.Columns), fk.References)
	}
}

// withoutPeople is a reference table as proofs may know it. Its foreign keys to rows of people prove nothing: without a person the rows of
// a reference table are as they were.
func withoutPeople(m *Model, src *catalog.Table) *catalog.Table {
	rest := *src
	rest.Foreign = slices.DeleteFunc(slices.Clone(src.Foreign), func(fk catalog.ForeignKey) bool {
		to := m.tables[fk.References]
		return to != nil && ofPeople(to)
	})
	return &rest
}
