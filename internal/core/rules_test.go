package core_test

import (
	"testing"

	"dpproxy/internal/core"
)

// A reference says something of a row only if it leads to one: two columns that a row of a table gives for it are the same unless the
// reference is NULL.
func TestLooksAtNothing(t *testing.T) {
	const ref, a, b, row = core.Col(1), core.Col(2), core.Col(3), core.Col(4)
	look := func(c core.Col) core.Look {
		return core.Look{Key: core.Key{Of: "places(id)", Cols: []core.Col{ref}}, Gives: map[string]core.Col{"name": c}}
	}
	s := &core.Scan{Cols: []core.Col{ref, a, b}, Row: row, Says: core.Facts{Looks: []core.Look{look(a), look(b)}, Valued: core.Of(a, b)}}
	for _, valued := range []bool{false, true} {
		in := &core.Filter{In: s}
		if valued {
			in.If = []core.Condition{{Cols: core.Of(ref), Says: core.Facts{Valued: core.Of(ref)}}}
		}
		typ, err := core.Check(in)
		if err != nil || typ.Equal(a, b) != valued {
			t.Errorf("a reference that has a value, %v: %v, %v", valued, typ.Equal(a, b), err)
		}
	}
}

// Which spelling of a unit a group shows is that of any of its rows: a column of another one of them does not tell it.
func TestSpellingOfAGroup(t *testing.T) {
	const ref, unit, x, row, group = core.Col(1), core.Col(2), core.Col(3), core.Col(4), core.Col(5)
	for _, spelled := range []bool{false, true} {
		s := &core.Scan{Cols: []core.Col{ref, x}, Unit: unit, Row: row, Deps: []core.Dep{{From: core.Of(ref), To: core.Of(unit)}}}
		if spelled {
			s.Spelled = core.Of(unit)
		}
		typ, err := core.Check(&core.Group{In: s, Keys: core.Of(x), ByUnit: true, Row: group})
		if err != nil || typ.Closure(core.Of(ref)).Has(unit) == spelled {
			t.Errorf("a unit of several spellings, %v: %v, %v", spelled, typ.Deps, err)
		}
	}
}
