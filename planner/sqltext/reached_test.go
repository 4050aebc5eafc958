package sqltext_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/planner/sqltext"
)

// TestUnread holds that statements as they run provably read every relation, and that others do not. The others are trees as they are
// meant, except trees whose joins leave out no row.
func TestUnread(t *testing.T) {
	whole := []string{
		"an index of others' rows, of all", "each of a list", "left no other", "no where", "public", "table", "three, by foreign keys",
		"two that refer to one",
	}
	for name, q := range trees {
		owned(q)
		even, joins := sqltext.Even(q)
		if unread := sqltext.Unread(even, joins); unread != "" {
			t.Errorf("%s is not proved: %s\n%s", name, unread, sqltext.Lines(even.SQL()))
		}
		if proved := sqltext.Unread(q, sqltext.Joins{}) == ""; proved != slices.Contains(whole, name) {
			t.Errorf("%s, as it is meant, is proved: %t\n%s", name, proved, sqltext.Lines(q.SQL()))
		}
	}
}

// TestUnreadFaults holds that each fault in a proved statement is found.
func TestUnreadFaults(t *testing.T) {
	const guard = "CASE WHEN pg_catalog.num_nulls(p.id, v.patient) OPERATOR(pg_catalog.>) 0 THEN FALSE ELSE p.smoker END"
	look := &sqltext.Look{
		Table: &sqltext.Table{SQL: `"visits"`, As: "w"}, By: "w.patient = p.id", Key: "w.patient", Where: []string{"w.cost > 5"},
	}
	text := &sqltext.Table{SQL: `(SELECT * FROM "visits")`, As: "v", Protected: true}
	single := &sqltext.Table{SQL: "(SELECT)", As: sqltext.Single}
	tied := func(kind sqltext.Kind, l, r sqltext.Item) *sqltext.Join {
		j := join(l, r, "v.patient = p.id")
		j.Kind = kind
		return j
	}
	chain := func() *sqltext.Select {
		first := &sqltext.Join{Kind: sqltext.Left, Left: single, Right: patients("p"), On: []string{"p.smoker"}}
		return &sqltext.Select{
			Columns: star, From: tied(sqltext.Left, first, visits("v")), Where: []string{guard}, Looks: []*sqltext.Look{look},
		}
	}
	around := func(q *sqltext.Select) *sqltext.Select {
		return &sqltext.Select{Columns: star, From: &sqltext.Query{Select: q, As: "r"}, Where: []string{"r.smoker"}}
	}
	asking := func(text string) *sqltext.Select {
		q := chain()
		q.Columns = []sqltext.Column{{SQL: "CASE WHEN p.smoker THEN " + text + " END"}}
		return q
	}
	where := func(conds ...string) *sqltext.Select {
		q := chain()
		q.Where = conds
		return q
	}
	faulty := asking("(SELECT 1)")
	named := []sqltext.Named{{Name: "w", Query: faulty}}
	fenced, grouped := chain(), chain()
	fenced.Fence = true
	grouped.GroupBy, grouped.Having = []string{"p.smoker"}, "p.smoker"
	inner := func(link string, more ...string) *sqltext.Select {
		j := left(visits("x"), tied(sqltext.Left, patients("p"), visits("v")), append([]string{link}, more...)...)
		return &sqltext.Select{From: j}
	}
	opaque := opaquely("GREATEST(p.id)", "GREATEST(x.patient)")
	for name, c := range map[string]struct {
		q      *sqltext.Select
		proved bool
	}{
		"a chain":                            {chain(), true},
		"a look-up":                          {asking(look.SQL()), true},
		"a query with joins":                 {around(fenced), true},
		"text":                               {asking(`'SELECT' || "SELECT" || '''SELECT'`), true},
		"a query in an expression":           {asking(`EXISTS (SELECT 1 FROM "visits" WHERE patient = p.id)`), false},
		"one beside a look-up":               {asking(look.SQL() + ` AND p.id IN (select patient FROM "visits")`), false},
		"a query with joins that is open":    {around(chain()), false},
		"no row that a chain begins with":    {&sqltext.Select{From: tied(sqltext.Left, dearer("p"), visits("v"))}, false},
		"an inner join of some rows":         {&sqltext.Select{From: tied(sqltext.Inner, dearer("p"), visits("v"))}, false},
		"a condition on one relation":        {where("p.smoker"), false},
		"a condition that leaves one out":    {where("CASE WHEN pg_catalog.num_nulls(p.id) > 0 THEN FALSE END"), false},
		"one that leaves out all but a text": {where("CASE WHEN pg_catalog.num_nulls(p.id, 'v.patient') > 0 THEN FALSE END"), false},
		"one of a relation of a longer name": {where("CASE WHEN pg_catalog.num_nulls(p.id, uv.patient) > 0 THEN FALSE END"), false},
		"one beside a condition on all":      {where(guard, "p.smoker"), false},
		"a condition on groups":              {grouped, false},
		"a join on the inner side of one":    {inner(opaque), true},
		"a condition on the inner side":      {inner(opaque, "p.smoker"), false},
		"a link that says what is not NULL":  {inner(opaquely("p.id", "x.patient")), false},
		"a table in the text of another":     {&sqltext.Select{From: text}, false},
		"a fault in a branch":                {&sqltext.Select{From: patients("p"), UnionAll: []*sqltext.Select{faulty}}, false},
		"a fault in a query of WITH":         {&sqltext.Select{With: named, From: &sqltext.Table{SQL: "w"}}, false},
	} {
		if unread := sqltext.Unread(c.q, sqltext.Joins{Ordered: true}); (unread == "") != c.proved {
			t.Errorf("%s: %q, of which %t was expected", name, unread, c.proved)
		}
	}
}

// TestUnreadReferences holds that an inner join surely leaves a row only if a foreign key is its only condition.
func TestUnreadReferences(t *testing.T) {
	by := func(more ...string) *sqltext.Select {
		first := foreign(visits("v"), patients("p"), "p.id = v.patient")
		first.On = append(first.On, more...)
		return &sqltext.Select{From: foreign(first, hospitals("h"), "h.id = p.x")}
	}
	if unread := sqltext.Unread(by(), sqltext.Joins{}); unread != "" {
		t.Errorf("by foreign keys: %s", unread)
	}
	if sqltext.Unread(by("p.unit = v.unit"), sqltext.Joins{}) == "" {
		t.Error("a join by more than its foreign key is proved")
	}
}

// TestUnreadParted holds that DISTINCT ON and windows are refused if a condition could make all of their expressions constants.
func TestUnreadParted(t *testing.T) {
	for unit, proved := range map[string]bool{strings.Join(sqltext.Parted("p.id"), ", "): true, "p.id": false} {
		over := []sqltext.Column{{SQL: "pg_catalog.row_number() OVER (PARTITION BY " + unit + " ORDER BY p.smoker)", As: "n"}}
		for _, q := range []*sqltext.Select{
			{Columns: star, First: append(strings.SplitN(unit, ", ", 2), "p.smoker"), From: patients("p")},
			{Columns: over, From: patients("p"), Where: []string{"p.id = 7"}},
		} {
			if unread := sqltext.Unread(q, sqltext.Joins{}); (unread == "") != proved {
				t.Errorf("%s: %q", q.SQL(), unread)
			}
		}
	}
}

// TestUnreadEverywhere holds that a query is found in each part of a statement that has expressions.
func TestUnreadEverywhere(t *testing.T) {
	const exists = `EXISTS (SELECT 1 FROM "visits" WHERE patient = 7)`
	list := &sqltext.Table{SQL: "(SELECT 1)", As: "l"}
	for name, put := range map[string]func(q *sqltext.Select, x string){
		"a target":    func(q *sqltext.Select, x string) { q.Columns = []sqltext.Column{{SQL: x}} },
		"DISTINCT ON": func(q *sqltext.Select, x string) { q.First = append(sqltext.Parted("p.id"), x) },
		"WHERE":       func(q *sqltext.Select, x string) { q.Where = []string{x} },
		"GROUP BY":    func(q *sqltext.Select, x string) { q.GroupBy = []string{x} },
		"HAVING":      func(q *sqltext.Select, x string) { q.Having = x },
		"ORDER BY":    func(q *sqltext.Select, x string) { q.OrderBy = []string{x} },
		"ON": func(q *sqltext.Select, x string) {
			q.From = &sqltext.Join{Kind: sqltext.Left, Left: patients("p"), Right: hospitals("h"), On: []string{x}}
		},
		"the list of a join": func(q *sqltext.Select, x string) { q.From = &sqltext.Listed{Item: patients("p"), List: list, On: x} },
	} {
		for x, proved := range map[string]bool{"p.smoker": true, exists: false} {
			q := &sqltext.Select{Columns: star, From: patients("p")}
			put(q, x)
			if unread := sqltext.Unread(q, sqltext.Joins{}); (unread == "") != proved {
				t.Errorf("%s in %s: %q, of which %t was expected", x, name, unread, proved)
			}
		}
	}
}

// TestUnreadJoins holds that a side that may have no row is not taken for a side that has all rows of a table.
func TestUnreadJoins(t *testing.T) {
	named := &sqltext.Table{SQL: "w", As: "w", Protected: true}
	withNamed := func(it sqltext.Item) *sqltext.Select {
		some := &sqltext.Select{Columns: star, From: patients("p"), Where: []string{"p.smoker"}}
		return &sqltext.Select{With: []sqltext.Named{{Name: "w", Query: some}}, From: it}
	}
	of := func(key func(*sqltext.End)) *sqltext.Join {
		below := foreign(visits("v"), patients("p"), "p.id = v.patient")
		key(&below.Links[0].Left)
		return foreign(below, hospitals("h"), "h.id = p.x")
	}
	whole := func(l, r sqltext.Item) sqltext.Item {
		j := join(l, r, "p.id = v.patient")
		j.Kind = sqltext.Full
		return left(j, visits("x"), "v.patient = x.patient")
	}
	beside := &sqltext.Join{Left: dearer("p"), Right: visits("v")}
	for name, c := range map[string]struct {
		q      *sqltext.Select
		proved bool
	}{
		"left of a full join":            {&sqltext.Select{From: whole(patients("p"), dearer("v"))}, true},
		"left of a full join of queries": {&sqltext.Select{From: whole(dearer("p"), dearer("v"))}, false},
		"no equality":                    {&sqltext.Select{From: beside}, false},
		"foreign keys":                   {&sqltext.Select{From: of(func(*sqltext.End) {})}, true},
		"a foreign key with NULL":        {&sqltext.Select{From: of(func(e *sqltext.End) { e.Null = true })}, false},
		"left of a table":                {&sqltext.Select{From: left(patients("p"), visits("v"), "p.id = v.patient")}, true},
		"left of a query":                {&sqltext.Select{From: left(dearer("p"), visits("v"), "p.id = v.patient")}, false},
		"left of a query of WITH":        {withNamed(left(named, visits("v"), "w.id = v.patient")), false},
		"beside a query of WITH":         {withNamed(foreign(named, visits("v"), "w.id = v.patient")), false},
	} {
		c.q.Columns = star
		if unread := sqltext.Unread(c.q, sqltext.Joins{}); (unread == "") != c.proved {
			t.Errorf("%s: %q, of which %t was expected", name, unread, c.proved)
		}
	}
}

// TestUnreadOrder holds that an outer join after another, whose conditions may leave no row, is proved only in the written order.
func TestUnreadOrder(t *testing.T) {
	behind := func(right sqltext.Item, on ...string) *sqltext.Select {
		return &sqltext.Select{Columns: star, From: left(left(patients("p"), right, on...), hospitals("h"), "h.id = v.hospital")}
	}
	whole := behind(visits("v"), "v.patient = p.id")
	for name, q := range map[string]*sqltext.Select{
		"a condition": behind(visits("v"), "v.patient = p.id", "v.cost > 5"), "a query": behind(dearer("v"), "v.patient = p.id"),
		"whole": whole,
	} {
		for _, ordered := range []bool{true, false} {
			unread := sqltext.Unread(q, sqltext.Joins{Ordered: ordered})
			if proved := ordered || q == whole; (unread == "") != proved {
				t.Errorf("%s, ordered: %t: %q", name, ordered, unread)
			}
		}
	}
}

// dearer are some of the rows.
func dearer(as string) sqltext.Item {
	return &sqltext.Query{As: as, Select: &sqltext.Select{Columns: star, From: patients("w"), Where: []string{"w.smoker"}}}
}
