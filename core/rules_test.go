package core_test

import (
	"errors"
	"testing"

	"dpproxy/core"
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
		typ, err := new(core.Judge).Check(in)
		if err != nil || typ.Equal(a, b) != valued {
			t.Errorf("a reference that has a value, %v: %v, %v", valued, typ.Equal(a, b), err)
		}
	}
}

// A UNION ALL keeps a look-up that both sides have. The rows without a reference need not agree in anything.
func TestLooksOfUnion(t *testing.T) {
	side := func(ref core.Col, valued bool) core.Rel {
		look := core.Look{Key: core.Key{Of: "places(id)", Cols: []core.Col{ref}}, Gives: map[string]core.Col{"name": ref + 1}}
		s := &core.Scan{Cols: []core.Col{ref, ref + 1}, Row: ref + 2, Says: core.Facts{Looks: []core.Look{look}}}
		if valued {
			s.Says.Valued = core.Of(ref)
		}
		return s
	}
	for _, valued := range []bool{false, true} {
		typ, err := new(core.Judge).Check(&core.Union{
			L: side(1, valued), R: side(4, true), Out: []core.Col{7, 8}, Left: []core.Col{1, 2}, Also: []core.Col{4, 5}, Row: 9,
		})
		if err != nil || typ.Closure(core.Of(7)).Has(8) != valued {
			t.Errorf("references that have a value, %v: %v, %v", valued, typ.Deps, err)
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
		typ, err := new(core.Judge).Check(&core.Group{In: s, Keys: core.Of(x), ByUnit: true, Row: group})
		if err != nil || typ.Closure(core.Of(ref)).Has(unit) == spelled {
			t.Errorf("a unit of several spellings, %v: %v, %v", spelled, typ.Deps, err)
		}
	}
}

// A row of a reference table stays loose, whatever it is joined with, until a row of a unit refers to it.
func TestLooseRows(t *testing.T) {
	const own, id, ref, row = core.Col(1), core.Col(2), core.Col(3), core.Col(4)
	key := func(c core.Col) []core.Key { return []core.Key{{Of: "places(id)", Cols: []core.Col{c}}} }
	person := &core.Scan{Cols: []core.Col{own, ref}, Unit: own, Row: row, Says: core.Facts{Refers: key(ref)}}
	place := func(at core.Col, kinds ...core.Kind) core.Rel {
		var r core.Rel = &core.Scan{
			Reference: true, Cols: []core.Col{at}, Row: at + 1, Says: core.Facts{Looks: []core.Look{{Key: key(at)[0]}}, Refers: key(at)},
		}
		for _, k := range kinds {
			r = &core.Join{Kind: k, L: r, R: &core.Values{Row: at + 2}}
		}
		return r
	}
	by := func(a, b core.Col) []core.Condition {
		return []core.Condition{{Cols: core.Of(a, b), Says: core.Facts{Equal: []core.Pair{{A: a, B: b}}}}}
	}
	for name, c := range map[string]struct {
		r     core.Rel
		loose int
		err   error
	}{
		"alone":              {r: place(10), loose: 1},
		"left join":          {r: place(10, core.Left), loose: 1},
		"semi-join":          {r: place(10, core.Semi), loose: 1},
		"filtered":           {r: &core.Filter{In: place(10)}, loose: 1},
		"looked up":          {r: &core.Join{L: person, R: place(10), On: by(ref, 10)}},
		"looked up, left":    {r: &core.Join{Kind: core.Left, L: person, R: place(10, core.Left), On: by(ref, 10)}},
		"by another column":  {r: &core.Join{L: person, R: place(10), On: by(own, 10)}, loose: 1},
		"not by its row":     {r: &core.Join{Kind: core.Left, L: person, R: place(10), On: by(own, 10)}, err: core.ErrLoose},
		"by one that is not": {r: &core.Join{L: place(10), R: place(20), On: by(10, 20)}, loose: 2},
		"grouped":            {r: &core.Group{In: place(10), Keys: core.Of(10), Row: id}, err: core.ErrLoose},
	} {
		typ, err := new(core.Judge).Check(c.r)
		if !errors.Is(err, c.err) || err == nil && len(typ.Loose) != c.loose {
			t.Errorf("%s: %v, %v, want %d loose", name, typ.Loose, err, c.loose)
		}
	}
}

// Numbers of rows that an int64 cannot hold are not known: in place of them there must be no smaller ones, or negative ones.
func TestRowsBeyondNumbers(t *testing.T) {
	next := core.Col(0)
	fresh := func() core.Col { next++; return next }
	capped := func(rows int64) core.Rel {
		return &core.Cap{In: &core.Scan{Unit: fresh(), Row: fresh()}, Rows: rows}
	}
	elements := func(in core.Rel, most int64) core.Rel {
		return &core.Unnest{In: in, Most: most, Row: fresh(), Array: core.Def{Out: fresh()}}
	}
	both := func(rows int64) core.Rel {
		l := &core.Scan{Unit: fresh(), Row: fresh()}
		r := &core.Scan{Unit: fresh(), Row: fresh()}
		return &core.Union{
			L: &core.Cap{In: l, Rows: rows}, R: &core.Cap{In: r, Rows: rows},
			Left: []core.Col{l.Unit}, Also: []core.Col{r.Unit}, Out: []core.Col{fresh()}, Row: fresh(),
		}
	}
	for _, c := range []struct {
		of   core.Rel
		rows int64
	}{
		{elements(capped(1<<40), 1000), 1000 << 40},
		{elements(capped(1<<62+1), 4), 0},
		{elements(capped(1<<62), 2), 0},
		{both(1 << 40), 1 << 41},
		{both(1 << 62), 0},
	} {
		if typ, err := new(core.Judge).Check(c.of); err != nil || typ.Rows != c.rows {
			t.Errorf("%d rows for %d, %v", typ.Rows, c.rows, err)
		}
	}
}
