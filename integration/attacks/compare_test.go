package attacks_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// compare looks for differences that tell worlds apart: samples[w] are the replies of world w to
// the same messages. Parts that never differ within the first world must not differ at all;
// parts that noise moves must be moved as often in every world.
func compare(samples [][]reply) (breaches []string) {
	for w := 1; w < len(samples); w++ {
		for _, b := range comparePair(samples[0], samples[w]) {
			breaches = append(breaches, fmt.Sprintf("world %d can be told from world 0: %s", w, b))
		}
	}
	return breaches
}

func comparePair(a, b []reply) (breaches []string) {
	breaches = frequencies("reply", a, b, func(r reply) []string { return []string{r.skeleton()} })
	for i := range results(a) {
		breaches = append(breaches, compareResults(i, a, b)...)
	}
	if !timely([][]reply{a, b}) {
		breaches = append(breaches, fmt.Sprintf("it answers in time bucket %d, not %d", bucket(b), bucket(a)))
	}
	return breaches
}

// timely reports whether all worlds answer about as fast as the first. A busy machine moves
// the fastest of many replies by a step or two, and that of a few by more; nothing that an
// analyst aims at one row is so small.
func timely(samples [][]reply) bool {
	first := bucket(samples[0])
	return !slices.ContainsFunc(samples, func(other []reply) bool {
		steps := bucket(other) - first
		return max(steps, -steps) > 2
	})
}

// results returns how many results every reply has.
func results(a []reply) int {
	n := math.MaxInt
	for _, r := range a {
		n = min(n, len(r.results))
	}
	return n
}

func compareResults(i int, a, b []reply) (breaches []string) {
	if results(b) <= i {
		return nil // the skeletons tell
	}
	breaches = append(breaches, frequencies("number of rows", a, b, func(r reply) []string {
		return []string{fmt.Sprint(len(r.results[i].rows))}
	})...)
	for c := range a[0].results[i].columns {
		column := func(r reply) []string {
			var cells []string
			if len(r.results) > i {
				for _, row := range r.results[i].rows {
					cells = append(cells, row[c])
				}
			}
			return cells
		}
		name := "column " + a[0].results[i].columns[c]
		if stable(a, column) {
			// Rows come in the same order, too.
			breaches = append(breaches,
				frequencies(name, a, b, func(r reply) []string { return []string{strings.Join(column(r), "\n")} })...)
			continue
		}
		if a[0].results[i].numeric[c] {
			cells := column
			column = func(r reply) []string { return []string{nulls(cells(r))} }
		}
		breaches = append(breaches, frequencies(name, a, b, column)...)
	}
	return breaches
}

func stable(a []reply, column func(reply) []string) bool {
	first := column(a[0])
	return !slices.ContainsFunc(a, func(r reply) bool { return !slices.Equal(column(r), first) })
}

// nulls leaves of the noisy numbers of a reply how many are NULL: one text for each reply, since what makes one of them NULL, such as a
// limit that leaves out most, makes all of a column so.
func nulls(cells []string) string {
	n := 0
	for _, c := range cells {
		if c == "NULL" {
			n++
		}
	}
	return fmt.Sprintf("%d NULL", n)
}

// frequencies compares how often each text occurs. A text of one world that the other
// never says is a breach with few samples already, so that more are taken; with many
// it needs five standard deviations.
func frequencies(what string, a, b []reply, texts func(reply) []string) (breaches []string) {
	count := map[string][2]float64{}
	for w, replies := range [][]reply{a, b} {
		for _, r := range replies {
			for _, x := range texts(r) {
				n := count[x]
				n[w]++
				count[x] = n
			}
		}
	}
	for x, n := range count {
		if differs(n[0], n[1], float64(len(a)), float64(len(b))) {
			breaches = append(breaches, fmt.Sprintf("%s %q: %v of %d times, and %v of %d", what, x, n[0], len(a), n[1], len(b)))
		}
	}
	slices.Sort(breaches)
	return breaches
}

// differs reports whether an event that was seen x times in n replies is as frequent
// as one seen y times in m.
func differs(x, y, n, m float64) bool {
	const deviations = 5
	if n < allSamples || m < allSamples {
		return x/n != y/m
	}
	p := (x + y) / (n + m)
	variance := p * (1 - p)
	if p >= 1 { // several in each reply: as frequent as counts are
		variance = p
	}
	return math.Abs(x/n-y/m) > deviations*math.Sqrt(variance*(1/n+1/m))
}

// bucket is where the fastest reply lies among the times in steps of √2.
func bucket(a []reply) int {
	const step = 50 * time.Millisecond
	fastest := slices.MinFunc(a, func(x, y reply) int { return int(x.took - y.took) }).took
	return max(0, int(math.Round(2*math.Log2(float64(fastest)/float64(step)))))
}

// Worlds that differ in one thing must be told apart by compare.
func TestCompare(t *testing.T) {
	say := func(rows ...string) []reply {
		var all []reply
		for range allSamples {
			r := reply{results: []result{{columns: []string{"region:25", "count:20"}, numeric: []bool{false, true}, tag: "SELECT"}}}
			for i, key := range rows {
				r.results[0].rows = append(r.results[0].rows, []string{key, fmt.Sprint(i, len(all))})
			}
			all = append(all, r)
		}
		return all
	}
	change := func(all []reply, f func(*reply)) []reply {
		for i := range all {
			f(&all[i])
		}
		return all
	}
	same := say("r0", "r1")
	if b := compare([][]reply{same, say("r0", "r1")}); len(b) > 0 {
		t.Errorf("equal worlds differ: %q", b)
	}
	for name, other := range map[string][]reply{
		"a key fewer":       say("r0"),
		"a key spelled":     say("r0", "R1"),
		"another order":     say("r1", "r0"),
		"a notice":          change(say("r0", "r1"), func(r *reply) { r.notices = []string{"NOTICE"} }),
		"an error":          change(say("r0", "r1"), func(r *reply) { r.err = "ERROR" }),
		"a charge":          change(say("r0", "r1"), func(r *reply) { r.charge = "unit" }),
		"a tag":             change(say("r0", "r1"), func(r *reply) { r.results[0].tag = "SELECT 1001" }),
		"a NULL":            change(say("r0", "r1"), func(r *reply) { r.results[0].rows[0][1] = "NULL" }),
		"a slow reply":      change(say("r0", "r1"), func(r *reply) { r.took = time.Second }),
		"an answer's digit": nil,
	} {
		base := same
		if other == nil { // values that have no noise
			base = change(say("r0", "r1"), func(r *reply) { r.results[0].rows[0][1] = "1" })
			base = change(base, func(r *reply) { r.results[0].rows[1][1] = "1" })
			other = change(say("r0", "r1"), func(r *reply) { r.results[0].rows[0][1] = "2" })
			other = change(other, func(r *reply) { r.results[0].rows[1][1] = "1" })
		}
		if len(compare([][]reply{base, other})) == 0 {
			t.Errorf("%s is not seen", name)
		}
	}
}
