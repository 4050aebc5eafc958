package sqlgen

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
)

// Looking is the feature of statements that look up the sites of events: rows of a reference table, which units share.
const Looking = "look-up"

// site is the column of events that refers to a site, and near that of sites. Their names end as those of columns that no statement
// computes with.
const (
	site = "siteid"
	near = "nearid"
)

// manySites are some for a unit each, and others that all share.
const (
	ownSites  = 5
	manySites = 12
)

// withoutSites deletes the sites that no event refers to.
func withoutSites() string {
	return fmt.Sprintf("DELETE FROM sites t WHERE NOT EXISTS (SELECT FROM events e WHERE e.%[1]s = t.%[1]s) AND NOT EXISTS "+
		"(SELECT FROM sites o WHERE o.%[2]s = t.%[1]s)", site, near)
}

// looking joins the rows of FROM, if they are events first, with their sites, or writes a condition on these, for some statements; of
// some joins a target is an aggregate of the sites. The text is the source of chance, as that of thresholds.
func looking(from, text string) (joined, cond, target string) {
	h := fnv.New64()
	h.Write([]byte(text))
	d := dice{rand.New(rand.NewPCG(h.Sum64(), 8))}
	first := from == "events e" || strings.HasPrefix(from, "events e ")
	if !first || strings.Contains(from, " RIGHT ") || strings.Contains(from, ", ") || !d.chance(40) {
		return from, "", ""
	}
	if d.chance(60) {
		return from + choose(d,
				" JOIN sites t9 ON t9.siteid = e.siteid",
				" LEFT JOIN sites t9 ON t9.siteid = e.siteid",
				" LEFT JOIN sites t9 ON t9.siteid = e.siteid AND t9.rank > 2",
				" JOIN sites t9 ON t9.siteid = e.siteid AND t9.rank < e.n",
				" LEFT JOIN sites m9 ON m9.siteid = e.siteid LEFT JOIN sites t9 ON t9.siteid = m9.nearid",
				" JOIN sites m9 ON e.siteid = m9.siteid JOIN sites t9 ON t9.siteid = m9.nearid AND t9.area = m9.area",
			), choose(d, "", "t9.rank < 7", "t9.area IS NULL", "t9.area = 'a' OR e.n > 3"),
			choose(d, "", "sum(t9.rank)", "count(t9.area)", "count(DISTINCT t9.area)")
	}
	return from, choose(d,
		"EXISTS (SELECT 1 FROM sites s9 WHERE s9.siteid = e.siteid AND s9.rank > 3)",
		"EXISTS (SELECT 1 FROM sites s9 LEFT JOIN sites o9 ON o9.siteid = s9.nearid WHERE s9.siteid = e.siteid AND "+
			"o9.area IS NULL)",
		"NOT EXISTS (SELECT 1 FROM sites s9 WHERE s9.siteid = e.siteid AND s9.area = 'b')",
		"e.siteid IN (SELECT s9.siteid FROM sites s9 WHERE s9.rank > 2)",
		"e.siteid IN (SELECT s9.siteid FROM sites s9 WHERE s9.nearid IN (SELECT o9.siteid FROM sites o9 WHERE o9.area = 'c'))",
		"(SELECT s9.area FROM sites s9 WHERE s9.siteid = e.siteid) = 'a'",
		"(SELECT s9.rank FROM sites s9 WHERE s9.siteid = e.siteid) > e.n",
		"EXISTS (SELECT 1 FROM sites s9 WHERE s9.siteid = e.siteid AND s9.rank > e.n)",
	), ""
}
