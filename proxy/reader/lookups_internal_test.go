package reader

import (
	"slices"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// A look that began before a statement found an index gone does not bring it back.
func TestStaleLook(t *testing.T) {
	visits := catalog.Name{Schema: "public", Name: "visits"}
	lookups, missing := []policy.Lookup{{Table: visits, Column: "patient_id"}}, []catalog.Name{visits}
	d := &Data{unindexed: map[catalog.Name]int{}}
	note := func(what string, begun int, missing, wantGone, wantBack []catalog.Name) {
		t.Helper()
		gone, back := d.noteIndexes(begun, lookups, missing)
		if !slices.Equal(gone, wantGone) || !slices.Equal(back, wantBack) {
			t.Errorf("%s: gone are %v, back are %v, want %v and %v", what, gone, back, wantGone, wantBack)
		}
	}
	watch, statement := d.beginLook(), d.beginLook()
	note("a statement", statement, missing, missing, nil)
	note("a look that began before it", watch, nil, nil, nil)
	if !slices.Equal(d.WithoutIndex(), missing) {
		t.Error("the index is back by a look that began before it was gone")
	}
	older, newer := d.beginLook(), d.beginLook()
	note("another statement", older, missing, nil, nil)
	note("a look that ended after it", newer, nil, nil, nil)
	note("the next look", d.beginLook(), nil, nil, missing)
	if d.WithoutIndex() != nil {
		t.Error("the index is gone for good")
	}
}
