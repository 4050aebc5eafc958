package sqlgen

import "fmt"

// views are two over protected tables, whose texts may be seen: an inner join and an outer one, without a choice of their own, so that
// other schemas stay as they are.
var views = []string{"busy", "everyone"}

// viewsDDL makes them.
func (s *Schema) viewsDDL() string {
	columns := "e." + s.eventKey() + ", e.place, e.kind, e.n, p.age, p.sex"
	if s.composite {
		columns = "e.id, e." + shard + ", e.place, e.kind, e.n, p.age, p.sex"
	}
	return fmt.Sprintf("CREATE VIEW %s AS SELECT e.uid AS u, %s FROM events e JOIN people p ON p.uid = e.uid WHERE e.n > 1;\n",
		views[0], columns) +
		fmt.Sprintf("CREATE VIEW %s AS SELECT p.uid AS u, %s FROM people p LEFT JOIN (SELECT * FROM events WHERE kind <> 'd') e "+
			"ON e.uid = p.uid;\n", views[1], columns)
}

// viewsPolicy is what the policy says of them.
func viewsPolicy() string {
	return fmt.Sprintf("  %s: {view: true, definition: shown}\n  %s: {view: true, definition: shown}\n", views[0], views[1])
}

// viewScope has their columns that are values.
func viewScope(s *Schema, alias string) scope {
	named := func(t *table, names ...string) (cols scope) {
		for _, n := range names {
			for _, c := range t.columns {
				if c.name == n {
					c.notNull = false
					cols = append(cols, c)
				}
			}
		}
		return cols
	}
	return append(named(s.events, "place", "kind", "n"), named(s.people, "age", "sex")...).as(alias)
}
