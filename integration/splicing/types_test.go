package splicing_test

import (
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// TestOneColumnTwice groups by two columns that are one below: no other groups can occur.
func TestOneColumnTwice(t *testing.T) {
	compare(t, newPeers(t, keyed),
		"SELECT a, b, count(*) > -9 AS shown FROM (SELECT mood AS a, mood AS b FROM people) t GROUP BY 1, 2",
		"SELECT a, upper(b), count(*) > -9 AS shown FROM (SELECT vc AS a, vc AS b FROM people) t WHERE b <> 'v' GROUP BY 1, 2",
		"SELECT a, b, count(*) > -9 AS shown FROM (SELECT a, a AS b FROM (SELECT n AS a FROM people) s) t GROUP BY 1, 2")
}

// TestNoInternalError asks for keys whose types Postgres resolves by rules of its own.
func TestNoInternalError(t *testing.T) {
	const from = " FROM people p JOIN kinds k ON p.kind = k.kind"
	const tail = ") t GROUP BY 1 HAVING count(*) > 0"
	union := func(a, b string) string {
		return "/* dp: max_partitions=2, epsilon=100 */ SELECT t.a, count(*) FROM (SELECT p.id, " + a + " AS a" + from +
			" UNION ALL SELECT p.id, " + b + from + tail
	}
	compareWithin(t, noisy, newPeers(t, keyed),
		union("k.vc", "k.txt"), union("k.txt", "k.vc"), union("k.vc", "p.mood::text"), union("p.mood::text", "k.vc"),
		union("k.vc", "p.vc"), union("k.vc", "k.vc"), union("k.vc", "'x'"), union("'x'", "k.vc"), union("k.dec", "k.price"),
		union("k.hundreds", "k.dec"),
		"SELECT k.hundreds, count(*) FROM people p JOIN kinds k ON p.kind = k.kind GROUP BY 1 HAVING count(*) > 0")
}

// noisy is more than the noise, and what a limit leaves out, of the counts that are compared.
const noisy = 3

func compare(t *testing.T, peers *peers, queries ...string) {
	t.Helper()
	compareWithin(t, 0, peers, queries...)
}

// compareWithin lets the last number of a row differ by so much.
func compareWithin(t *testing.T, most int, peers *peers, queries ...string) {
	t.Helper()
	mine, its := peers.sessions(t)
	for _, sql := range queries {
		for _, p := range []*peer{mine, its} {
			p.begin()
			if err := p.simple(t.Context(), sql, false); err != nil {
				t.Fatal(err)
			}
		}
		if mine.failed != nil || !slices.EqualFunc(mine.lines, its.lines, near(most)) {
			t.Errorf("%s\n%v\nPostgres: %s\ndpproxy:  %s", sql, mine.failed, excerpt(its, mine), excerpt(mine, its))
		}
	}
}

var lastNumber = regexp.MustCompile(`^(.*")(-?[0-9]+)("[^0-9]*)$`)

// near reports whether two lines are equal but for a last number, which may differ by so much.
func near(most int) func(a, b string) bool {
	return func(a, b string) bool {
		x, y := lastNumber.FindStringSubmatch(a), lastNumber.FindStringSubmatch(b)
		if x == nil || y == nil {
			return a == b
		}
		m, _ := strconv.Atoi(x[2])
		n, _ := strconv.Atoi(y[2])
		return x[1] == y[1] && x[3] == y[3] && max(m-n, n-m) <= most
	}
}
