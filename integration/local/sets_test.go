package local_test

import (
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestSets compares sets with their law, and with that of a twin of another ε, which must fail; and finds them again after a start.
func TestSets(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{
		Database: "clinic", Policy: strings.Replace(policy, "region]", "region, house]", 1),
		Schema: schema + "ALTER TABLE people ADD COLUMN house int; UPDATE people SET house = id % 12 + 1 WHERE id <= 3000;",
	})
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	const survey = "SELECT kind, answered::text FROM dp.survey('people', 'district', 0.9)"
	if got := sitetest.Rows(t, conn, survey); got != "set|3001" {
		t.Fatalf("it is %s", got)
	}
	// The house is the district, as is known here alone.
	off := func(epsilon string) string {
		return sitetest.Rows(t, conn, `WITH members AS (
			SELECT house, v, v = ANY (district) AS member FROM local.people, generate_series(1, 12) AS v WHERE house IS NOT NULL
		), laws AS (
			SELECT avg(member::int) FILTER (WHERE v = house) AS own, avg(member::int) FILTER (WHERE v <> house) AS other,
				count(*) / 12. AS n FROM members
		) SELECT (abs(own - 0.5) < 6 * 0.5 / sqrt(n))::text, (abs(other - q) < 6 * sqrt(q * (1 - q) / (11 * n)))::text
		FROM laws, (SELECT 1 / (exp(`+epsilon+`) + 1) AS q) AS law`)
	}
	if got := off("0.9"); got != "true|true" {
		t.Errorf("the law of sets is another: %s", got)
	}
	if got := off("0.7"); got != "true|false" { // which is 16 deviations off
		t.Errorf("the law of another epsilon fits: %s", got)
	}
	const agree = `SELECT bool_and(abs(h.share - s.share) < 3 * s.stderr)::text FROM dp.local_histogram('people', 'district') AS h
		JOIN (SELECT v, (dp.set_share(count(*) FILTER (WHERE v = ANY (district)), count(district), 0.9)).*
			FROM local.people, generate_series(1, 12) AS v GROUP BY v) AS s ON h.value::int = s.v`
	if got := sitetest.Rows(t, conn, agree); got != "true" {
		t.Errorf("the two estimates of shares agree: %s", got)
	}
	before := sitetest.Rows(t, conn, everything)
	r.Kill()
	if after := sitetest.Rows(t, sitetest.Dial(t, s.Run(t).URL("ana")), everything); after != before {
		t.Errorf("after a start the answers are %s, and %s before", after, before)
	}
}
