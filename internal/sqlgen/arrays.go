package sqlgen

// Elements is the feature of statements over the elements of arrays.
const Elements = "unnest"

// unnested has a row for each element of the arrays of events.
func (g sourceGenerator) unnested() source {
	name, element := "e.tags", column{name: "w.item", kind: text, typ: "text"}
	test := choose(g, "w.item = '2'", "w.item IN ('1', '2', '3')", "e.tags @> '{1}'", "'2' = ANY (e.tags)")
	if g.chance(50) {
		name, element = "e.marks", column{name: "w.item", kind: integer, typ: "int"}
		test = choose(g, "w.item = 2", "w.item BETWEEN 1 AND 3", "e.marks && '{1,3}'", "cardinality(e.marks) > 1")
	}
	src := source{
		from: "events e" + choose(g, ", unnest("+name+") AS w(item)", " CROSS JOIN LATERAL unnest("+name+") w(item)",
			" LEFT JOIN unnest("+name+") AS w(item) ON true", " JOIN people p ON p.uid = e.uid, unnest("+name+") AS w(item)"),
		cols: append(tableScope(g.schema.events, "e"), element), units: []string{"e.uid"}, feature: Elements,
	}
	switch {
	case g.chance(40):
		src.where = test
	case g.chance(30):
		src.from = "(SELECT e.uid, e.n, e.day, unnest(" + name + ") AS item FROM events e) w"
		src.cols = scope{element, {name: "w.n", kind: integer, typ: "int", low: "-5", high: "20"}}
		src.units = []string{"w.uid"}
	}
	return src
}
