package source

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// TestRefers takes a foreign key for a proof that each row has a match, where it is one: not of a column that may be NULL, of another
// column, or of a table with inheritance children, whose rows have no part in it.
func TestRefers(t *testing.T) {
	people := catalog.Name{Schema: "public", Name: "people"}
	table := func(notNull bool, children ...catalog.Name) *relation {
		return &relation{table: &policy.Table{Source: &catalog.Table{
			Kind: 'r', Children: children,
			Columns: []catalog.Column{{Name: "person", NotNull: notNull}},
			Foreign: []catalog.ForeignKey{{References: people, Columns: []string{"person"}, Target: []string{"id"}}},
		}}}
	}
	to := &relation{table: &policy.Table{Source: &catalog.Table{Name: people}}}
	for _, c := range []struct {
		what string
		from *relation
		key  string
		want bool
	}{
		{"a foreign key", table(true), "id", true},
		{"that may be NULL", table(false), "id", false},
		{"to another column", table(true), "number", false},
		{"of a table with children", table(true, catalog.Name{Schema: "public", Name: "older"}), "id", false},
	} {
		if got := refers(c.from, "person", to, c.key); got != c.want {
			t.Errorf("%s: %t", c.what, got)
		}
	}
}
