package sqltext_test

import (
	"slices"

	"dpproxy/planner/sqltext"
)

// Trees by name: meanings, as source and planner write them. Patients and visits are protected,
// hospitals are public.
var trees = map[string]*sqltext.Select{
	"table":    {Columns: star, From: patients("p"), Where: []string{"p.born < 1950"}},
	"public":   {Columns: star, From: join(hospitals("h"), hospitals("i"), "h.id = i.id"), Where: []string{"h.north"}},
	"join":     {Columns: star, From: join(patients("p"), visits("v"), "v.patient = p.id", "v.cost > 10"), Where: []string{"p.smoker"}},
	"no where": {Columns: star, From: join(patients("p"), visits("v"), "v.patient = p.id")},
	"comma": {
		Columns: star, From: &sqltext.Join{Left: patients("p"), Right: visits("v"), Links: links("v.patient = p.id")},
		Where: []string{"p.smoker", "v.patient = p.id"},
	},
	"no equality": {
		Columns: star, From: join(
			&sqltext.Join{Left: patients("p"), Right: hospitals("h"), Beyond: []string{"h.id < p.born - 1900"}},
			visits("v"), "v.patient = p.id"),
		Where: []string{"h.id < p.born - 1900"},
	},
	"most rows": {Columns: star, Where: []string{"p.smoker"}, From: join(
		&sqltext.Table{SQL: "patients", As: "p", Protected: true, Most: true}, visits("v"), "v.patient = p.id")},
	"rows of one, most of the other": {Columns: star, Where: []string{"p.smoker", "v.cost > 10"}, From: join(
		&sqltext.Table{SQL: "patients", As: "p", Protected: true, Most: true}, visits("v"), "v.patient = p.id")},
	"few rows": {Columns: star, Where: []string{"v.cost > 90"}, From: whose(few)},
	"few rows, and an index of others' rows": {
		Columns: star, Where: []string{"v.cost > 90"},
		From: &sqltext.Join{Left: visits("v"), Right: visits("w"), Links: slices.Concat(links("w.ward = v.ward"), links("w.id = v.id"))},
	},
	"an index of others' rows, of all": {
		Columns: star, From: &sqltext.Join{
			Left: visits("v"), Right: visits("w"),
			Links: slices.Concat(links("w.ward = v.ward"), links("w.patient = v.patient")),
			On:    []string{"w.ward = v.ward", "w.patient = v.patient"},
		},
	},
	"an index of others' rows, of public ones": {
		Columns: star, Where: []string{"h.north"}, From: join(hospitals("h"), visits("w"), "w.ward = h.x"),
	},
	"of one person by a third relation": {
		Columns: star, Where: []string{"v.cost > 90", "p.id = v.patient", "p.id = w.patient"},
		From: &sqltext.Join{
			Left: join(visits("v"), visits("w"), "w.ward = v.ward"), Right: patients("p"),
			Links: slices.Concat(links("p.id = v.patient"), links("p.id = w.patient")),
		},
	},
	"of one person, as follows": {
		Columns: star, Where: []string{"v.cost > 90", "w.ward = v.ward"},
		From: &sqltext.Join{
			Left: visits("v"), Right: visits("w"), Links: links("w.ward = v.ward"), Units: links("w.patient = v.patient"),
		},
	},
	"few rows, and a condition on the other": {
		Columns: star, Where: []string{"v.cost > 90", "p.smoker"},
		From: whose(few),
	},
	"few rows, a third that no index finds": {
		Columns: star, Where: []string{"v.cost > 90"},
		From: join(whose(few), hospitals("h"), "h.x = v.hospital"),
	},
	"few rows, no index elsewhere": {
		With:    []sqltext.Named{{Name: "x", Query: &sqltext.Select{Columns: star, Where: []string{"q.smoker"}, From: unindexed}}},
		Columns: star, Where: []string{"v.cost > 90"}, From: whose(few),
	},
	"three": {Columns: star, From: join(join(visits("v"), patients("p"), "p.id = v.patient"), hospitals("h"), "h.id = p.x")},
	"three, by foreign keys": {Columns: star, From: foreign(foreign(visits("v"), patients("p"), "p.id = v.patient"),
		hospitals("h"), "h.id = p.x")},
	"two that refer to one": {Columns: star, From: foreign(foreign(patients("p"), visits("v"), "p.id = v.patient"),
		visits("w"), "p.id = w.patient")},
	"public beside": {Columns: star, From: join(visits("v"), hospitals("h"), "h.id = v.hospital"), Where: []string{"h.north"}},
	"sub-select": {
		Columns: star, From: join(patients("p"), dear, "d.patient = p.id", "d.cost < 90"), Where: []string{"p.smoker"},
	},
	"may be NULL": {Columns: star, Where: []string{"v.cost > 10"}, From: &sqltext.Join{
		Left: visits("v"), Right: hospitals("h"), On: []string{"h.id = v.hospital"},
		Links: []sqltext.Link{{
			SQL: "h.id = v.hospital", Left: end("h.id"), Right: sqltext.End{Of: "v", Present: "v.hospital", Null: true},
		}},
	}},
	"below": {Columns: star, Where: []string{"t.cost > 10"}, From: &sqltext.Query{As: "t", Select: &sqltext.Select{
		Columns: sqltext.Columns("v", "id", "cost"), From: join(patients("p"), visits("v"), "v.patient = p.id"),
		UnionAll: []*sqltext.Select{{Columns: sqltext.Columns("w", "id", "cost"), From: visits("w")}},
	}}},
	"left": {
		Columns: star, From: left(patients("p"), visits("v"), "v.patient = p.id", "v.cost > 10"),
		Where: []string{"p.smoker"},
	},
	"left behind left": {
		Columns: star, Where: []string{"h.north IS NULL"},
		From: left(left(patients("p"), visits("v"), "v.patient = p.id", "v.cost > 10"), hospitals("h"), "h.id = v.hospital"),
	},
	"left no other": {Columns: star, From: left(patients("p"), hospitals("h")), Where: []string{}},
	"left of sub-select": {
		Columns: star, From: left(dear, visits("v"), "v.patient = d.patient", "v.cost > 10"), Where: []string{"d.cost < 90"},
	},
	"left of join": {
		Columns: star, Where: []string{},
		From: left(visits("v"), join(patients("p"), dear, "d.patient = p.id", "p.smoker"), opaquely("p.id", "v.patient")),
	},
	"path in left": {
		Columns: star, From: left(patients("p"), join(visits("v"), patients("q"), "q.id = v.patient")), Where: []string{"p.smoker"},
	},
	"listed": {Columns: star, From: &sqltext.Listed{
		Item: &sqltext.Query{As: "t", Select: &sqltext.Select{
			Columns: sqltext.Columns("v", "id", "cost"), From: join(patients("p"), visits("v"), "v.patient = p.id"),
			Where: []string{"p.smoker"},
		}},
		List: &sqltext.Table{SQL: "(VALUES (10, 1), (13, 2))", As: "l(x, o)"}, On: "l.x = t.cost",
	}},
	"each of a list": {Columns: star, From: &sqltext.Listed{
		Item: &sqltext.Query{As: "t", Select: &sqltext.Select{Columns: sqltext.Columns("v", "id", "cost"), From: visits("v")}},
		List: &sqltext.Table{SQL: "(VALUES (10, 1), (13, 2))", As: "l(x, o)"},
	}},
	"union": {
		Columns: sqltext.Columns("p", "id"), From: join(patients("p"), visits("v"), "v.patient = p.id"),
		GroupBy: []string{"p.id"}, Having: "count(*) > 1",
		UnionAll: []*sqltext.Select{{
			Columns: sqltext.Columns("v", "patient"), From: join(visits("v"), dear, "d.id = v.id"), Where: []string{"v.cost > 1"},
		}},
	},
}

var (
	// dear is a query with a condition of its own.
	dear = &sqltext.Query{As: "d", Select: &sqltext.Select{Columns: star, From: visits("w"), Where: []string{"w.cost > 5"}}}
	star = sqltext.Columns("", "*")
	// unindexed is a join by a column without an index.
	unindexed = join(patients("q"), visits("w"), "w.patient = q.id")
)

func patients(as string) sqltext.Item {
	return &sqltext.Table{SQL: "patients", As: as, Protected: true}
}

func visits(as string) sqltext.Item {
	return &sqltext.Table{SQL: "visits", As: as, Protected: true}
}

// few has the visits, with conditions that leave few of them.
var few = &sqltext.Table{SQL: "visits", As: "v", Protected: true, Few: true}

// whose joins visits with their patients, who may be looked up.
func whose(visits sqltext.Item) *sqltext.Join {
	j := join(visits, patients("p"), "v.patient = p.id")
	j.Links[0].Looked = "p.id = ANY (ARRAY[v.patient])"
	return j
}

func hospitals(as string) sqltext.Item { return &sqltext.Table{SQL: "hospitals", As: as} }

// join joins by conditions; the first condition is an equality.
func join(l, r sqltext.Item, on ...string) *sqltext.Join {
	j := &sqltext.Join{Left: l, Right: r, On: on}
	if len(on) > 0 {
		j.Links = links(on[0])
	}
	return j
}

// foreign joins by a foreign key of the second column.
func foreign(l, r sqltext.Item, on string) *sqltext.Join {
	j := join(l, r, on)
	j.Links[0].Right.Foreign = true
	return j
}

// opaquely is an equality as links are written.
func opaquely(left, right string) string {
	return "(" + left + " OPERATOR(pg_catalog.=) " + right + ")"
}

func left(l, r sqltext.Item, on ...string) *sqltext.Join {
	j := join(l, r, on...)
	j.Kind = sqltext.Left
	j.LeftUnit = relations(l)[0] + ".id"
	return j
}
