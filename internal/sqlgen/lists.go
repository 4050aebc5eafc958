package sqlgen

// Features of statements with rows of constants in FROM.
const (
	joinedList = "list"
	firstList  = "list first"
)

// placeList writes a relation of constants like places: with a number twice, a gap and NULL, or numbers that come once.
func (g sourceGenerator) placeList() string {
	return choose(g,
		"(VALUES (1, 'hill', 3), (2, 'bay', 1), (4, 'hill', 2)) l(place, zone, fee)",
		"(VALUES (1, 'hill', 3), (1, 'bay', 1), (3, NULL, 2), (NULL, 'sea', 2)) l(place, zone, fee)",
		"(SELECT s AS place, CASE WHEN s % 2 = 0 THEN 'hill' ELSE 'bay' END AS zone, s + 1 AS fee FROM generate_series(0, 4) s) l",
		"(SELECT u AS place, 'hill' || 'y' AS zone, u * 2 AS fee FROM unnest(ARRAY[1, 2, 2, 3]) u) l",
	)
}

// listScope has their columns.
func listScope() scope {
	return scope{{name: "l.zone", kind: text, typ: "text"}, {name: "l.fee", kind: integer, typ: "int", low: "0", high: "10"}}
}

// listed joins events with a list, with all of it or by a comparison.
func (g sourceGenerator) listed() source {
	return source{
		from: "events e " + choose(g, "JOIN", "LEFT JOIN") + " " + g.placeList() + " ON " +
			choose(g, "l.place = e.place", "l.place = e.n", "l.place <= e.n", "l.place + 1 = e.n AND l.fee > 1"),
		cols: append(tableScope(g.schema.events, "e"), listScope()...), units: []string{"e.uid"}, feature: joinedList,
	}
}

// listedFirst has a list declare the groups.
func (g sourceGenerator) listedFirst() source {
	return source{
		from: choose(g, g.placeList()+" LEFT JOIN events e ON ", "events e RIGHT JOIN "+g.placeList()+" ON ") +
			choose(g, "l.place = e.place", "e.n >= l.place AND e.n < l.place + 2", "l.place = e.n AND e.kind = 'a'"),
		cols: tableScope(g.schema.events, "e"), units: []string{"e.uid"}, keysOnly: listScope(), feature: firstList,
	}
}
