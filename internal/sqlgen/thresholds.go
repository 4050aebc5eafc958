package sqlgen

import (
	"hash/fnv"
	"math/rand/v2"
)

// Features of statements with a released result as constants.
const (
	thresholdValue  = "threshold"
	thresholdWithin = "threshold in a threshold"
	thresholdList   = "released list"
	thresholdGroup  = "threshold of a group"
)

// Thresholds are the features of statements of which a part is released before.
var Thresholds = []string{thresholdValue, thresholdWithin, thresholdList, thresholdGroup}

// threshold writes a condition with a released result in it, for some statements: their text is the source of chance, so that others stay
// as they are. Without noise all results are exact, and a group without rows has none that is above 1.
func (g statementGenerator) threshold(src source, text string) (sql, feature string) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 1))}
	whole := src.cols.ofKinds(integer).where(func(c column) bool { return c.typ == "int" || c.typ == "bigint" })
	if len(whole) == 0 || !d.chance(6) {
		return "", ""
	}
	x := choose(d, whole...).name
	const all = "SELECT count(*) % 4 FROM people p9"
	switch choose(d, Thresholds...) {
	case thresholdValue:
		return x + choose(d, " > ", " <= ", " + 1 > ") + "(" + all + ")", thresholdValue
	case thresholdWithin:
		return x + choose(d, " > ", " < ") + "(SELECT count(*) % 7 FROM events e9 WHERE e9.n > (" + all + "))", thresholdWithin
	case thresholdList:
		return x + " IN (SELECT e9.n FROM events e9 GROUP BY e9.n HAVING count(*) > 1)", thresholdList
	}
	tie := "e9.n = " + x
	if d.chance(30) {
		tie += " AND " + choose(d, whole...).name + " = e9.place"
	}
	return "(SELECT count(*) FROM events e9 WHERE " + choose(d, "", "e9.n >= 0 AND ") + tie + ") > 1", thresholdGroup
}
