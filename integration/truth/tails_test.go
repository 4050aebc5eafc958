package truth_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// A tail is a law of how many rows a unit has. Intervals assume that tails go on beyond a limit as
// they fall below it.
type tail struct {
	table string
	units int
	rows  string // of unit i, in SQL
	// broken tails are against the assumption, or have too few units for a limit to be chosen: how
	// often intervals hold there is shown, and not asked for.
	broken bool
}

const gauss = "sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())"

var tails = []tail{
	{"equal", 10_000, "5", false},
	{"geometric", 10_000, "1 + floor(ln(1 - random()) / ln(0.9))", false},
	{"lognormal", 10_000, "exp(1 + " + gauss + ")", false},
	{"wide_lognormal", 10_000, "least(exp(1 + 2 * " + gauss + "), 20000)", false},
	{"zipf", 10_000, "least((1 - random()) ^ (-1 / 1.5), 20000)", false},
	{"many_at_two_hundred", 10_000, "CASE WHEN i % 5 = 0 THEN 200 ELSE 2 END", false},
	{"two_humps", 10_000, "CASE WHEN i % 50 = 0 THEN 200 ELSE 2 END", true},
	{"far_hump", 10_000, "CASE WHEN i % 1000 = 0 THEN 3000 ELSE 2 END", true},
	{"giant", 10_000, "CASE WHEN i = 1 THEN 40000 ELSE 2 END", true},
	{"thousand_units", 1_000, "1 + floor(ln(1 - random()) / ln(0.9))", false},
	{"two_hundred_units", 200, "1 + floor(ln(1 - random()) / ln(0.9))", true},
	{"fifty_units", 50, "1 + floor(ln(1 - random()) / ln(0.9))", true},
	{"nobody", 0, "1", false},
}

// tailsSite has a table for each law: rows in twelve groups of unequal size, and amounts of both
// signs. Its policy says nothing about the rows of a unit.
func tailsSite(t *testing.T) site {
	t.Helper()
	schema, policy := &strings.Builder{}, &strings.Builder{}
	schema.WriteString("SELECT setseed(0.42);\n")
	policy.WriteString("privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6}}\ntables:\n")
	var names []string
	for _, law := range tails {
		fmt.Fprintf(schema, "CREATE TABLE %s (id int PRIMARY KEY, person int NOT NULL, grp int NOT NULL, amount int NOT NULL);\n"+
			"INSERT INTO %[1]s SELECT row_number() OVER (), i, floor(12 * random() ^ 2), floor(200 * random()) - 70\n"+
			"FROM (SELECT i, greatest(1, round(%s))::int AS n FROM generate_series(1, %d) AS i) AS units, generate_series(1, n);\n",
			law.table, law.rows, law.units)
		fmt.Fprintf(policy, "  %s: {unit: person, columns: {grp: {bounds: [0, 11]}, amount: {bounds: [-100, 200]}}}\n", law.table)
		names = append(names, law.table)
	}
	fmt.Fprintf(policy, "analysts:\n  ana: {password: VERIFIER, tables: [%s]}\n", strings.Join(names, ", "))
	data := sitetest.StartServer(t, pgtemp.Options{})
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser)), schema.String())
	return serve(t, data, policy.String())
}

// questions about the rows of a law: how many, by group, and what they add up to.
func (law tail) questions() []question {
	var all []question
	for _, q := range []struct{ name, sql string }{
		{"rows", "SELECT {count(*)} FROM %s"},
		{"rows by group", "SELECT grp, {count(*)} FROM %s GROUP BY grp ORDER BY count(*) DESC"},
		{"amounts", "SELECT {sum(amount)} FROM %s"},
		{"mean amount", "SELECT {avg(amount)} FROM %s"},
	} {
		name, sql := strings.ReplaceAll(law.table, "_", " ")+": "+q.name, fmt.Sprintf(q.sql, law.table)
		all = append(all, question{name: name, asked: sql, truth: sql, unasserted: law.broken})
	}
	return all
}
