package sqlgen

import (
	"hash/fnv"
	"math/rand/v2"
)

// Inside is the feature of statements with a sub-select in a condition whose rows are no table's as they are.
const Inside = "sub-select of another query"

// unitsOf writes a query of the units of some rows, as column i.
func unitsOf(d dice) string {
	return choose(d,
		"SELECT q.i FROM (SELECT uid AS i FROM events) q",
		"SELECT q.i FROM (SELECT uid AS i, n * 2 AS twice FROM events) q WHERE q.twice > 3",
		"WITH w9 AS (SELECT uid AS i FROM events WHERE n > 1) SELECT w9.i FROM w9",
		"SELECT uid AS i FROM events WHERE uid IS NOT NULL GROUP BY uid HAVING count(*) > 1",
		"SELECT q.i FROM (SELECT uid AS i, max(n) AS m FROM events GROUP BY 1) q WHERE q.m > 2",
		"SELECT q.i FROM (SELECT uid AS i, row_number() OVER (PARTITION BY uid ORDER BY day, id) AS o FROM events) q WHERE q.o = 2",
		"SELECT DISTINCT uid AS i FROM events WHERE kind = 'a'",
		"SELECT s9.uid AS i FROM events s9 JOIN people o9 ON o9.uid = s9.uid WHERE o9.age > 20",
		"SELECT s9.uid AS i FROM events s9 JOIN places l9 ON l9.place = s9.place WHERE l9.fee > 1",
		"SELECT o9.uid AS i FROM people o9 LEFT JOIN events s9 ON s9.uid = o9.uid AND s9.n > 2 WHERE s9.kind IS NULL",
		"SELECT uid AS i FROM events WHERE kind = 'a' UNION ALL SELECT uid FROM people WHERE age > 30",
		"SELECT uid AS i FROM events WHERE n > 1 INTERSECT SELECT uid FROM people WHERE age > 10",
		"SELECT uid AS i FROM people EXCEPT SELECT uid FROM events WHERE kind = 'a'",
		"SELECT s9.uid AS i FROM events s9, LATERAL (SELECT max(o9.n) AS m FROM events o9 WHERE o9.uid = s9.uid) y9 WHERE y9.m = s9.n",
		"SELECT s9.uid AS i FROM events s9 JOIN (VALUES (1), (2)) y9(h) ON y9.h = s9.n",
		"SELECT s9.uid AS i FROM events s9 WHERE s9.uid IN (SELECT uid FROM people WHERE age > 20)",
		"SELECT s9.uid AS i FROM events s9 WHERE s9.place IN (SELECT place FROM places WHERE fee > 1)",
		"SELECT s9.uid AS i FROM events s9 WHERE EXISTS (SELECT 1 FROM (SELECT uid AS e FROM people) o9 WHERE o9.e = s9.uid)",
	)
}

// inside writes a condition with such a sub-select, for some statements; filters says that it is one of an aggregate. The text
// is the source of chance, as that of thresholds.
func (g statementGenerator) inside(src source, text string) (sql string, filters bool) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 3))}
	if len(src.units) == 0 || src.keysOnly != nil || !d.chance(15) {
		return "", false
	}
	u, of := src.units[0], unitsOf(d)
	sql = choose(d,
		u+" IN ("+of+")", u+" IN ("+of+")", u+" = ANY ("+of+")",
		"EXISTS (SELECT 1 FROM ("+of+") z9 WHERE z9.i = "+u+")",
		"NOT EXISTS (SELECT 1 FROM ("+of+") z9 WHERE z9.i = "+u+")",
		"(SELECT count(*) FROM ("+of+") z9 WHERE z9.i = "+u+") > 0",
	)
	if u == "e.uid" {
		sql = choose(d, sql, sql, sql, "e.place IN (SELECT q.i FROM (SELECT place AS i, fee FROM places) q WHERE q.fee > 1)",
			"e.n NOT IN (SELECT s9.n FROM events s9 JOIN people o9 ON o9.uid = s9.uid WHERE s9.uid = e.uid AND o9.age > 20)")
	}
	sql = choose(d, sql, sql, "NOT ("+sql+")", "("+sql+" OR "+(exprGenerator{d}).condition(src.cols, 0)+")",
		"CASE WHEN "+(exprGenerator{d}).condition(src.cols, 0)+" THEN "+sql+" ELSE false END")
	return sql, d.chance(30)
}
