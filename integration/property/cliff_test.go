package property_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/sqlgen"
)

// cliffsEvery is for how many pairs of databases that [TestSensitivity] compares one statement is looked at for cliffs.
const cliffsEvery = 100

// TestNoCliff holds that no unit, alone among others that meet a condition or one of those that do, makes a part of a plan
// look at many more rows than its own: then the time would tell of it. The plans are those of random statements, in all ways
// to join, with statistics and with those of a much smaller database.
func TestNoCliff(t *testing.T) {
	first, want := seed(t), max(1, pairs(t)/cliffsEvery)
	looked, executed, cliffs := 0, 0, 0
	known := map[string]int{}
	for n := uint64(0); looked < want; n++ {
		w := newWorld(t, first+n, sqlgen.Adversarial)
		w.publicRows[catalog.Name{Schema: "public", Name: "places"}] = crowd + 5
		d := &descent{w: w}
		for range min(statementsPerWorld, want-looked) {
			looked++
			d.generate(looked)
		}
		for _, c := range d.world() {
			if kind := standing(c); kind != "" {
				known[kind]++
			} else if cliffs++; cliffs <= 10 {
				t.Errorf("seed %d: %v", first+n, c)
			}
		}
		executed += d.executed
		w.close()
	}
	t.Logf("%d statements, %d executions, %d cliffs; known ones: %v", looked, executed, cliffs, known)
}

// generate adds a statement that the planner takes.
func (d *descent) generate(n int) {
	for {
		st := d.w.gen.Statement(d.w.schema)
		if p, err := d.w.plan(st.SQL, manners[n%len(manners)]); err == nil {
			d.add(st.SQL, p)
			return
		}
	}
}

// world looks from databases where nobody meets a condition that asks for something, and from ordinary ones. A neighbour has
// one more of the units that came with the schema.
func (d *descent) world() (found []cliff) {
	s := d.w.schema
	d.run(s.Stash())
	var changes []string
	for _, u := range s.Units[4:] { // those with few rows
		changes = append(changes, s.Only(u))
	}
	fillings := map[string]sqlgen.Filling{"attributes NULL": sqlgen.Empty, "ordinary attributes": sqlgen.Ordinary}
	for name, f := range fillings {
		for _, analyze := range []string{"", "ANALYZE"} {
			d.run("BEGIN; " + s.Crowd(crowd, f) + analyze)
			found = append(found, d.from(name+" "+analyze, analyze != "", changes)...)
			d.run("ROLLBACK")
		}
	}
	return found
}

// standing names a cliff that is known (docs/decisions/0016-joins-begin-with-one-row.md) by the nodes that differ, or returns "".
func standing(c cliff) string {
	if c.all("Function Scan d", "Hash:") {
		return "a list of public keys, which is no table: it is read for the first group"
	}
	return ""
}

// all reports whether each node that differs has one of some words.
func (c cliff) all(words ...string) bool {
	return !slices.ContainsFunc(c.nodes, func(n string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(n, w) })
	})
}
