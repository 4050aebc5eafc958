package core_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"dpproxy/core"
)

// A Generator makes random terms that have a type, over six tables:
//
//	people(unit, x)             the unit is a key
//	visits(id, unit, x)
//	labs(id, visit, x)          the unit is that of the visit
//	calls(id, person, x)        the unit is the person, or else the call itself
//	wards(id, ref, x)           public
//	places(id, ref, x)          a reference table, to which ref of people and of itself refers
type Generator struct {
	*rand.Rand
	last  core.Col
	scans []*core.Scan
	// units says that units have several spellings.
	units bool
}

// newGenerator returns one for a seed.
func newGenerator(seed uint64) *Generator {
	g := &Generator{Rand: rand.New(rand.NewPCG(seed, 17))}
	g.units = g.IntN(3) == 0
	return g
}

func (g *Generator) col() core.Col { g.last++; return g.last }

const rowsOfTable = 6

// Scan reads a random table.
func (g *Generator) Scan() *core.Scan {
	table := []string{"people", "visits", "visits", "labs", "labs", "calls", "wards", "places", "places"}[g.IntN(9)]
	id, ref, x, row := g.col(), g.col(), g.col(), g.col()
	s := &core.Scan{Table: fmt.Sprintf("%s#%d", table, row), Cols: []core.Col{id, ref, x}, Row: row, Spelled: core.Of(x)}
	s.Keys, s.Says.Valued = []core.Set{core.Of(id)}, core.Of(id)
	switch table {
	case "people":
		s.Unit, s.Says.Refers = id, []core.Key{{Of: "places(id)", Cols: []core.Col{ref}}}
	case "places":
		s.Reference, s.Says.Refers = true, []core.Key{{Of: "places(id)", Cols: []core.Col{ref}}}
	case "visits":
		s.Unit, s.Says.Valued = ref, core.Of(id, ref)
	case "labs":
		s.Unit, s.Says.Valued = g.col(), core.Of(id, ref)
		visit := core.Key{Of: "visits(id)", Cols: []core.Col{ref}}
		s.Says.Looks = append(s.Says.Looks, core.Look{Key: visit, Gives: map[string]core.Col{"unit": s.Unit}})
		s.Deps = []core.Dep{{From: core.Of(ref), To: core.Of(s.Unit)}}
	case "calls":
		s.Unit = g.col()
		s.Says.Given = []core.Given{{If: core.Of(ref), Says: core.Facts{Equal: []core.Pair{{A: ref, B: s.Unit}}}}}
		s.Deps = []core.Dep{{From: core.Of(s.Unit), To: core.Of(ref)}}
		if !g.units {
			person := core.Key{Of: "person", Cols: []core.Col{s.Unit}}
			s.Says.Looks = append(s.Says.Looks, core.Look{Key: person, Gives: map[string]core.Col{"id": ref}})
		}
	case "wards":
		s.Spelled = core.Of(x, ref)
	}
	gives := map[string]core.Col{"id": id, "ref": ref, "x": x, "row": row}
	if s.Unit != 0 {
		gives["unit"] = s.Unit
	}
	s.Says.Looks = append(s.Says.Looks, core.Look{Key: core.Key{Of: table + "(id)", Cols: []core.Col{id}}, Gives: gives})
	if g.units && s.Unit != 0 {
		s.Spelled = s.Spelled.Or(core.Of(s.Unit))
		if table == "calls" {
			s.Spelled = s.Spelled.Or(core.Of(ref))
		}
	}
	g.scans = append(g.scans, s)
	return s
}

func (g *Generator) pick(s core.Set) core.Col {
	list := slices.Collect(s.All())
	return list[g.IntN(len(list))]
}

// Rel makes a relation of a type.
func (g *Generator) Rel(depth int) (core.Rel, core.Type) {
	if depth == 0 || g.last > 60 || g.IntN(7) == 0 {
		s := g.Scan()
		t, _ := new(core.Judge).Check(s)
		return s, t
	}
	in, t := g.Rel(depth - 1)
	above := g.above(in, t, depth)
	if u, err := new(core.Judge).Check(above); err == nil {
		return above, u
	}
	return in, t
}

// above puts a random operator above a relation. It need not have a type.
func (g *Generator) above(in core.Rel, t core.Type, depth int) core.Rel {
	switch g.IntN(11) {
	case 0, 1:
		return &core.Filter{In: in, If: g.conditions(t, t)}
	case 2:
		return &core.Map{In: in, Defs: []core.Def{g.def(t)}}
	case 3:
		count := core.Def{Out: g.col(), Of: Func(counted), Valued: true}
		return &core.Group{In: in, Keys: g.keys(t), ByUnit: g.IntN(4) == 0, Aggs: []core.Def{count}, Row: g.col()}
	case 4:
		r := &core.Rank{In: in, By: g.keys(t), Out: g.col()}
		if g.IntN(2) == 0 {
			return &core.Filter{In: r, If: []core.Condition{is(r.Out, "000001")}}
		}
		return r
	case 5:
		return &core.Cap{In: in, Rows: int64(1 + g.IntN(2))}
	case 6:
		of := g.pick(t.Cols)
		return &core.Unnest{
			In: in, Array: core.Def{Out: g.col(), Cols: core.Of(of), Of: Func(func(r ...Row) Value { return r[0][of] })},
			Most: 2, Row: g.col(), Outer: g.IntN(2) == 0,
		}
	}
	other, also := g.Rel(depth - 1)
	if g.IntN(6) == 0 {
		return g.union(in, t, other, also)
	}
	on := g.conditions(t, also)
	for _, l := range slices.Concat(t.Loose, also.Loose) {
		if g.IntN(4) > 0 {
			on = append(on, equal(g.pick(t.Cols), l.Keys[0].Cols[0], t.Spelled), equal(g.pick(also.Cols), l.Keys[0].Cols[0], also.Spelled))
		}
		for _, by := range slices.Concat(t.Refers, also.Refers) {
			if g.IntN(2) == 0 {
				on = append(on, equal(by.Cols[0], l.Keys[0].Cols[0], nil))
			}
		}
	}
	if t.Unit != 0 && also.Unit != 0 && g.IntN(3) > 0 {
		on = append(on, equal(t.Unit, also.Unit, t.Spelled.Or(also.Spelled)))
	}
	return &core.Join{Kind: core.Kind(g.IntN(4)), L: in, R: other, On: on}
}

func (g *Generator) union(l core.Rel, t core.Type, r core.Rel, also core.Type) core.Rel {
	u := &core.Union{L: l, R: r, Out: []core.Col{g.col(), g.col()}, Row: g.col()}
	for _, side := range []struct {
		of *[]core.Col
		t  core.Type
	}{{&u.Left, t}, {&u.Also, also}} {
		first := side.t.Unit
		if first == 0 {
			first = g.pick(side.t.Cols)
		}
		*side.of = []core.Col{first, g.pick(side.t.Cols)}
	}
	return u
}

func (g *Generator) keys(t core.Type) core.Set {
	keys := core.Of(g.pick(t.Cols))
	if t.Unit != 0 && g.IntN(3) > 0 {
		keys = keys.Or(core.Of(t.Unit))
	}
	return keys
}

// def computes a column: one as it is, or a function of two that is never NULL.
func (g *Generator) def(t core.Type) core.Def {
	a, b := g.pick(t.Cols), g.pick(t.Cols)
	if g.IntN(2) == 0 {
		itself := Func(func(r ...Row) Value { return r[0][a] })
		return core.Def{Out: g.col(), Cols: core.Of(a), Same: a, Spelled: t.Spelled.Has(a), Of: itself}
	}
	return core.Def{Out: g.col(), Cols: core.Of(a, b), Valued: true, Of: Func(func(r ...Row) Value {
		return Value{Class: fmt.Sprint(r[0][a], r[0][b])}
	})}
}

func counted(rows ...Row) Value { return Value{Class: fmt.Sprint(len(rows))} }

func (g *Generator) conditions(l, r core.Type) (list []core.Condition) {
	for range 1 + g.IntN(2) {
		a, b := g.pick(l.Cols), g.pick(r.Cols)
		switch g.IntN(7) {
		case 6:
			from, to := l, r
			if g.IntN(2) == 0 {
				from, to = r, l
			}
			if g.IntN(3) == 0 {
				to = from
			}
			list = append(list, follows(g.pick(to.Cols), g.pick(from.Cols), g.pick(from.Cols), l.Spelled.Or(r.Spelled)))
		case 0:
			c := is(a, fmt.Sprint(g.IntN(3)))
			if l.Spelled.Has(a) {
				c.Says.Fixed = nil
			}
			list = append(list, c)
		case 1:
			list = append(list, core.Condition{
				Of: Test(func(r Row) bool { return !r[a].Null && !r[b].Null && r[a].Class < r[b].Class }), Cols: core.Of(a, b),
				Says: core.Facts{Valued: core.Of(a, b)},
			})
		case 2:
			list = append(list, core.Condition{Of: Test(func(r Row) bool { return r[a].Null || r[a].Class != "0" }), Cols: core.Of(a)})
		default:
			list = append(list, equal(a, b, l.Spelled.Or(r.Spelled)))
		}
	}
	return list
}

func is(a core.Col, class string) core.Condition {
	return core.Condition{
		Of: Test(func(r Row) bool { return !r[a].Null && r[a].Class == class }), Cols: core.Of(a),
		Says: core.Facts{Fixed: core.Of(a), Valued: core.Of(a)},
	}
}

// follows says that a column has the value of a function of others, which does not tell their values apart and may be NULL.
func follows(a, b, c core.Col, spelled core.Set) core.Condition {
	cond := core.Condition{
		Of: Test(func(r Row) bool {
			sum := len(r[b].Class+r[b].Spelling) + len(r[c].Class+r[c].Spelling)
			return !r[a].Null && !r[c].Null && r[a].Class == fmt.Sprint(sum%3)
		}),
		Cols: core.Of(a, b, c), Says: core.Facts{Valued: core.Of(a, c)},
	}
	if !spelled.Has(a) {
		cond.Deps = []core.Dep{{From: core.Of(b, c), To: core.Of(a)}}
	}
	return cond
}

func equal(a, b core.Col, spelled core.Set) core.Condition {
	c := core.Condition{
		Of: Test(func(r Row) bool { return !r[a].Null && !r[b].Null && r[a].Class == r[b].Class }), Cols: core.Of(a, b),
		Says: core.Facts{Valued: core.Of(a, b)},
	}
	if a != b {
		c.Says.Equal = []core.Pair{{A: a, B: b, Identical: !spelled.Has(a) && !spelled.Has(b)}}
	}
	return c
}

// World gives all scans of a table the same rows, those of the units that are kept.
func (g *Generator) World() func(keep func(unit string) bool) World {
	spelling := func(spelled bool) string {
		if spelled && g.IntN(2) == 0 {
			return "_"
		}
		return ""
	}
	value := func() Value {
		if g.IntN(5) == 0 {
			return Value{Null: true}
		}
		return Value{Class: fmt.Sprint(g.IntN(3)), Spelling: spelling(true)}
	}
	type row struct{ id, ref, x, unit Value }
	tables := map[string][]row{}
	for i := range rowsOfTable {
		id := Value{Class: fmt.Sprint(i)}
		unit := Value{Class: fmt.Sprint(g.IntN(3)), Spelling: spelling(g.units)}
		tables["visits"] = append(tables["visits"], row{id, unit, value(), unit})
		visit := tables["visits"][g.IntN(i+1)]
		tables["labs"] = append(tables["labs"], row{id, visit.id, value(), visit.unit})
		person, of := Value{Null: true}, Value{Class: "call " + id.Class}
		if g.IntN(3) > 0 {
			person = Value{Class: fmt.Sprint(g.IntN(3)), Spelling: spelling(g.units)}
			of = person
		}
		tables["calls"] = append(tables["calls"], row{id, person, value(), of})
		if i < 3 {
			own, ref := Value{Class: id.Class, Spelling: spelling(g.units)}, value()
			ref.Spelling = ""
			place := value()
			place.Spelling = ""
			tables["places"] = append(tables["places"], row{id, place, value(), Value{}})
			tables["people"] = append(tables["people"], row{own, ref, value(), own})
			tables["wards"] = append(tables["wards"], row{id, value(), value(), Value{}})
		}
	}
	return func(keep func(string) bool) World {
		w := World{}
		for _, s := range g.scans {
			name, _, _ := strings.Cut(s.Table, "#")
			for _, r := range tables[name] {
				if s.Unit != 0 && !keep(r.unit.Class) {
					continue
				}
				row := Row{s.Cols[0]: r.id, s.Cols[1]: r.ref, s.Cols[2]: r.x, s.Row: {Class: name + r.id.Class}}
				if s.Unit != 0 {
					row[s.Unit] = r.unit
				}
				w[s.Table] = append(w[s.Table], row)
			}
		}
		return w
	}
}
