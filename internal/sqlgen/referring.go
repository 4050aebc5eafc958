package sqlgen

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Referring is the feature of statements that join events with those that they refer to, beside their way to the unit. Of databases
// with too much of everything many refer to another unit's event.
const Referring = "reference"

// referring joins the rows of FROM, if they are events first, with those that they refer to, or writes a condition on these, for some
// statements. The text is the source of chance, as that of thresholds.
func referring(from, text string) (joined, cond string) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 7))}
	first := from == "events e" || strings.HasPrefix(from, "events e ")
	if !first || strings.Contains(from, " RIGHT ") || !d.chance(50) {
		return from, ""
	}
	if d.chance(50) && !strings.Contains(from, ", unnest(") { // a JOIN after a comma knows none of the items before that
		return from + choose(d,
			" JOIN events q9 ON q9.id = e.priorid",
			" JOIN events q9 ON q9.priorid = e.id",
			" LEFT JOIN events q9 ON q9.id = e.priorid AND q9.n > 1",
			" LEFT JOIN events q9 ON q9.priorid = e.id",
			" JOIN events q9 ON q9.id = e.priorid JOIN people o9 ON o9.uid = e.uid",
			" LEFT JOIN (SELECT priorid AS i, max(n) AS m FROM events GROUP BY priorid, uid) q9 ON q9.i = e.id",
			" JOIN events q9 ON q9.priorid = e.priorid",
			" LEFT JOIN events q9 ON q9.priorid = e.priorid AND q9.n > 1",
			" LEFT JOIN LATERAL (SELECT s9.kind, s9.day FROM events s9 WHERE s9.id = e.priorid) q9 ON true",
		), ""
	}
	return from, choose(d,
		"e.priorid IN (SELECT s9.id FROM events s9 WHERE s9.n > 2)",
		"e.id IN (SELECT s9.priorid FROM events s9 WHERE s9.kind = 'a')",
		"EXISTS (SELECT 1 FROM events s9 WHERE s9.id = e.priorid AND s9.n > 1)",
		"NOT EXISTS (SELECT 1 FROM events s9 WHERE s9.id = e.priorid)",
		"(SELECT count(*) FROM events s9 WHERE s9.priorid = e.id) > 0",
		"(SELECT s9.kind FROM events s9 WHERE s9.id = e.priorid) = 'a'",
		"(SELECT s9.kind FROM events s9 WHERE s9.id = e.priorid) IS NULL",
		"e.n > (SELECT max(s9.n) FROM events s9 WHERE s9.priorid = e.id)",
		"EXISTS (SELECT 1 FROM events s9 WHERE s9.priorid = e.priorid AND s9.kind = 'b')",
		"NOT EXISTS (SELECT 1 FROM events s9 WHERE s9.priorid = e.priorid AND s9.n > 1)",
		"EXISTS (SELECT 1 FROM parts x9 JOIN events s9 ON s9.id = x9.event WHERE s9.priorid = e.id AND x9.qty > 1)",
	)
}
