package core_test

import (
	"errors"
	"fmt"
	"slices"
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

// Which spelling of a unit a group shows would depend on the order of its rows.
func TestSpellingOfAGroup(t *testing.T) {
	const ref, unit, x, row, group = core.Col(1), core.Col(2), core.Col(3), core.Col(4), core.Col(5)
	for _, spelled := range []core.Set{nil, core.Of(unit), core.Of(x)} {
		s := &core.Scan{
			Cols: []core.Col{ref, x}, Unit: unit, Row: row, Spelled: spelled,
			Deps: []core.Dep{{From: core.Of(ref), To: core.Of(unit)}},
		}
		_, err := new(core.Judge).Check(&core.Group{In: s, Keys: core.Of(x), ByUnit: true, Row: group})
		if errors.Is(err, core.ErrSpell) != (spelled != nil) {
			t.Errorf("columns of several spellings %v: %v", spelled, err)
		}
	}
	s := &core.Map{
		In:   &core.Scan{Cols: []core.Col{x}, Unit: unit, Row: row, Spelled: core.Of(x)},
		Defs: []core.Def{{Out: ref, Cols: core.Of(x), Same: x}},
	}
	if _, err := new(core.Judge).Check(&core.Group{In: s, Keys: core.Of(ref), ByUnit: true, Row: group}); !errors.Is(err, core.ErrSpell) {
		t.Errorf("the same column by another number: %v", err)
	}
}

// A row of a reference table stays loose, whatever it is joined with, until a row of a unit refers to it.
func TestLooseRows(t *testing.T) {
	const own, id, ref, row = core.Col(1), core.Col(2), core.Col(3), core.Col(4)
	key := func(c core.Col) []core.Key { return []core.Key{{Of: "places(id)", Cols: []core.Col{c}}} }
	person := &core.Scan{Cols: []core.Col{own, ref}, Unit: own, Row: row, Says: core.Facts{Refers: key(ref)}}
	place := func(at core.Col, kinds ...core.Kind) core.Rel {
		var r core.Rel = &core.Scan{
			Reference: true, Cols: []core.Col{at}, Row: at + 1, Keys: []core.Set{core.Of(at)},
			Says: core.Facts{Looks: []core.Look{{Key: key(at)[0]}}, Refers: key(at)},
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

// Numbers of rows that an int64 cannot hold are not known: in place of them there must be no smaller ones, or negative ones. A cap above
// a number that is known changes nothing.
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
		{&core.Cap{In: capped(2), Rows: 3}, 2},
		{&core.Cap{In: capped(3), Rows: 2}, 2},
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

// A badTerm is a term that is none, and the error that says why; nil for any.
type badTerm struct {
	r   core.Rel
	err error
}

func refused(t *testing.T, terms map[string]badTerm) {
	t.Helper()
	for name, c := range terms {
		if _, err := new(core.Judge).Check(c.r); err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
}

// twoScans are people with the columns 1 and 3, of the units 2, and others with the columns 11 and 13, of the units 12.
func twoScans() (people, others *core.Scan) {
	people = &core.Scan{Cols: []core.Col{1, 3}, Unit: 2, Row: 4}
	return people, &core.Scan{Cols: []core.Col{11, 13}, Unit: 12, Row: 14}
}

// Terms that are none are refused, whatever their facts say.
func TestTermsThatAreNone(t *testing.T) {
	const id, unit, x, row = core.Col(1), core.Col(2), core.Col(3), core.Col(4)
	people, others := twoScans()
	list := &core.Values{Cols: []core.Col{21}, Row: 22}
	same := []core.Condition{{Cols: core.Of(unit, 12), Says: core.Facts{Equal: []core.Pair{{A: unit, B: 12}}}}}
	aggregate := func(d core.Def) core.Rel {
		return &core.Group{In: people, Keys: core.Of(unit), Row: 61, Aggs: []core.Def{d}}
	}
	window := func(by core.Set) core.Rel {
		return &core.Map{In: people, Defs: []core.Def{{Out: 61, Free: true, Over: []core.Set{by}}}}
	}
	refused(t, map[string]badTerm{
		"joined with itself":          {&core.Join{L: people, R: people}, core.ErrFresh},
		"kept for itself":             {&core.Join{Kind: core.Semi, L: people, R: people}, core.ErrFresh},
		"joined in an unknown way":    {&core.Join{Kind: core.Anti + 1, L: people, R: others, On: same}, nil},
		"rows without a row":          {&core.Scan{Cols: []core.Col{id}, Unit: unit}, core.ErrFresh},
		"groups without a row":        {&core.Group{In: people, Keys: core.Of(x), ByUnit: true}, core.ErrFresh},
		"elements without a row":      {&core.Unnest{In: people, Most: 3, Array: core.Def{Out: 61}}, core.ErrFresh},
		"a column computed twice":     {&core.Map{In: people, Defs: []core.Def{{Out: x, Cols: core.Of(id)}}}, core.ErrFresh},
		"a column scanned twice":      {&core.Scan{Cols: []core.Col{id, id}, Unit: unit, Row: row}, core.ErrFresh},
		"a row that is a column":      {&core.Scan{Cols: []core.Col{id, x}, Unit: unit, Row: x}, core.ErrFresh},
		"a row that is a unit":        {&core.Scan{Cols: []core.Col{id, x}, Unit: unit, Row: unit}, core.ErrFresh},
		"a value twice":               {&core.Values{Cols: []core.Col{21, 21}, Row: 22}, core.ErrFresh},
		"a value that is a row":       {&core.Values{Cols: []core.Col{21}, Row: 21}, core.ErrFresh},
		"a group that is a column":    {&core.Group{In: people, Keys: core.Of(unit), Row: x}, core.ErrFresh},
		"a group that is a row":       {&core.Group{In: people, Keys: core.Of(unit), Row: row}, core.ErrFresh},
		"an element that is its row":  {&core.Unnest{In: people, Most: 3, Row: 61, Array: core.Def{Out: 61}}, core.ErrFresh},
		"an element that is a row":    {&core.Unnest{In: people, Most: 3, Row: row, Array: core.Def{Out: 61}}, core.ErrFresh},
		"the same as none":            {&core.Map{In: people, Defs: []core.Def{{Out: 61, Same: 62}}}, core.ErrScope},
		"a number twice":              {&core.Rank{In: people, By: core.Of(unit), Out: x}, core.ErrFresh},
		"an aggregate of nothing":     {aggregate(core.Def{Out: 62, Cols: core.Of(63)}), core.ErrScope},
		"an aggregate in a key":       {aggregate(core.Def{Out: unit}), core.ErrScope},
		"a window over several units": {window(core.Of(x)), core.ErrGroup},
		"a window over all rows":      {window(nil), core.ErrGroup},
		"groups by the empty set": {
			&core.Group{In: people, Keys: core.Of(x).But(core.Of(x)), Row: 61}, core.ErrGroup,
		},
		"of a list": {&core.Join{Kind: core.Left, L: list, R: people}, core.ErrUnits},
	})
	outer := &core.Unnest{In: people, Most: 3, Row: 61, Outer: true, Array: core.Def{Out: 62, Cols: core.Of(x), Valued: true, Same: x}}
	if typ, err := new(core.Judge).Check(outer); err != nil || typ.Valued(62) || typ.Closure(core.Of(62)).Has(x) {
		t.Errorf("elements of rows that may have none: %+v, %v", typ.Facts, err)
	}
}

// Unions that are none are refused.
func TestUnionsThatAreNone(t *testing.T) {
	const unit, x = core.Col(2), core.Col(3)
	people, others := twoScans()
	both := func(out []core.Col, row core.Col) core.Rel {
		return &core.Union{L: people, R: others, Out: out, Row: row, Left: []core.Col{unit, x}, Also: []core.Col{12, 13}}
	}
	if _, err := new(core.Judge).Check(both([]core.Col{71, 72}, 73)); err != nil {
		t.Error(err)
	}
	refused(t, map[string]badTerm{
		"a union of one column twice": {both([]core.Col{71, 71}, 73), core.ErrFresh},
		"a union that is a column":    {both([]core.Col{71, x}, 73), core.ErrFresh},
		"a union that is another":     {both([]core.Col{71, 13}, 73), core.ErrFresh},
		"a union that is its row":     {both([]core.Col{71, 72}, 72), core.ErrFresh},
		"a union whose row is a row":  {both([]core.Col{71, 72}, 14), core.ErrFresh},
		"a union of hidden columns": {&core.Union{
			L: &core.Group{In: people, Keys: core.Of(unit), Row: 61}, R: others, Out: []core.Col{71, 72}, Row: 73,
			Left: []core.Col{unit, x}, Also: []core.Col{12, 13},
		}, core.ErrScope},
		"a union of more on one side": {&core.Union{
			L: people, R: others, Out: []core.Col{71, 72}, Row: 73, Left: []core.Col{unit}, Also: []core.Col{12, 13},
		}, core.ErrScope},
	})
}

// A look at a reference table by a column that does not refer to it ties nothing.
func TestLooksThatAreNone(t *testing.T) {
	refers := core.Facts{Refers: []core.Key{{Of: "places(id)", Cols: []core.Col{31}}}}
	place := &core.Scan{
		Reference: true, Cols: []core.Col{41, 42}, Row: 43, Keys: []core.Set{core.Of(41)},
		Says: core.Facts{Looks: []core.Look{
			{Key: core.Key{Of: "places(id)", Cols: []core.Col{41}}}, {Key: core.Key{Of: "towns(id)", Cols: []core.Col{42}}},
		}},
	}
	inTown := &core.Scan{
		Cols: []core.Col{51}, Unit: 52, Row: 53, Says: core.Facts{Refers: []core.Key{{Of: "towns(id)", Cols: []core.Col{51}}}},
	}
	listed := &core.Scan{Cols: []core.Col{31}, Row: 32, Says: refers}
	at := func(c, d core.Col) []core.Condition {
		return []core.Condition{{Cols: core.Of(c, d), Says: core.Facts{Equal: []core.Pair{{A: c, B: d}}}}}
	}
	refused(t, map[string]badTerm{
		"looked up by a public row": {
			&core.Group{In: &core.Join{L: listed, R: place, On: at(31, 41)}, Keys: core.Of(31), Row: 61}, core.ErrLoose,
		},
		"looked up by the key of another table": {
			&core.Group{In: &core.Join{L: inTown, R: place, On: at(51, 42)}, Keys: core.Of(52), Row: 61}, core.ErrLoose,
		},
	})
}

// Many looks at one row tie its values together once each, not each to each other.
func TestManyLooks(t *testing.T) {
	const looks, values = 60, 5
	next := core.Col(0)
	fresh := func() core.Col { next++; return next }
	var all core.Rel
	var first core.Col
	for i := range looks {
		s := &core.Scan{Unit: fresh(), Row: fresh()}
		gives := map[string]core.Col{}
		for v := range values {
			c := fresh()
			s.Cols, gives[fmt.Sprint(v)] = append(s.Cols, c), c
		}
		key := s.Cols[0]
		s.Keys, s.Says.Valued = []core.Set{core.Of(key)}, core.Of(s.Cols...)
		s.Says.Looks = []core.Look{{Key: core.Key{Of: "t(id)", Cols: []core.Col{key}}, Gives: gives}}
		gives["the unit"] = s.Unit
		if i == 0 {
			all, first = s, key
			continue
		}
		same := core.Facts{Equal: []core.Pair{{A: first, B: key}}}
		all = &core.Join{L: all, R: s, On: []core.Condition{{Cols: core.Of(first, key), Says: same}}}
	}
	typ, err := new(core.Judge).Check(all)
	if err != nil || typ.Rows != 0 || len(typ.Facts.Equal) > looks*(values+2) {
		t.Errorf("%d pairs, %d rows, %v", len(typ.Facts.Equal), typ.Rows, err)
	}
	if c := typ.Closure(core.Of(first)); len(slices.Collect(c.All())) != looks*(values+2) {
		t.Errorf("the key tells %v", c)
	}
}
