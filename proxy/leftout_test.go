package proxy_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// figures say how many units are above a limit, and what that leaves out.
var figures = regexp.MustCompile(`(?:None has more|Perhaps none has more; at most (\d+) have|About (\d+) ha(?:ve|s) more, at most \d+)` +
	` \(95 %\)\.(?: What they have beyond that is left out: [^.]*\.)?`)

// costs are the sentences on noise and price.
var costs = regexp.MustCompile(`(?m)^(?:The noise moves|The answer cost|The error of .* follows) .*\n?`)

// The policy of the clinic bounds the cost, and its database does not.
const (
	astray = "rows whose cost is outside [0, 400]"
	moved  = "Rows whose cost is outside [0, 400] count as if it were the nearer end of that. " +
		"The error does not include what that moves."
)

// A notice says what limits leave out: of rows before anything is measured, which is in no error, and of each
// measure, of which the number of units above the limit is told. It says nothing where keys prove that there is
// no limit.
func TestLeftOutIsTold(t *testing.T) {
	ana := newWorld(t, large(t)).client(t, "ana")
	const (
		cut     = "Joined rows of one patient are cut to 10 of public.visits. The error does not include what that leaves out.\n"
		grouped = "Counts and sums over groups of rows of one patient in public.visits are those of at most 10 rows. " +
			"The error does not include what that leaves out."
		within = "For count(*), one patient counts with at most %s (%s). N"
		many   = " So many have more than that limit that nothing bounds what it leaves out. " +
			"SET dp.contribution = fixed; SET dp.max_rows = 10 (or as many rows as matter of one), " +
			"or ask the administrator to state max_rows."
		few     = within + many
		first   = "Left out: joined rows of public.visits beyond 10 of one patient"
		inGroup = "rows in public.visits beyond 10 of one patient in a group"
		groups  = "Left out: rows in public.visits beyond 10 of one patient in a group"
		// Some visits of the schema could be nobody's; a join on the unit, and IN, leave these out themselves.
		nobody = "Rows of public.visits that belong to no patient (patient_id is NULL) are left out. " +
			"The error does not include what that leaves out.\n"
		without = "rows of public.visits without patient (patient_id is NULL)"
		alone   = "Left out: " + without
		stated  = "by the policy or the session"
		chosen  = "chosen for this statement"
	)
	for _, c := range []struct {
		from, detail string
		outside      string  // the second line of a brief notice
		above        float64 // of 980 patients with five visits, each with two tests
		settings     string
	}{
		{"visits v JOIN visits w ON v.patient_id = w.patient_id", cut + fmt.Sprintf(few, "10 rows", stated), first, 980, ""},
		{
			"patients p JOIN (SELECT v.patient_id AS u FROM visits v JOIN labs l ON l.visit_id = v.id) d ON d.u = p.id",
			fmt.Sprintf(within, "20 rows", stated), "", 0, "",
		},
		{
			"(SELECT v.patient_id AS u FROM visits v JOIN labs l ON l.visit_id = v.id) d",
			nobody + fmt.Sprintf(within, "20 rows", stated), alone, 0, "",
		},
		{"(SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 3) d", nobody + grouped, and(alone, inGroup), 0, ""},
		{"(SELECT patient_id FROM visits GROUP BY 1 HAVING max(cost) > 3) d", nobody + moved, and(alone, astray), 0, ""},
		{
			"patients WHERE id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING sum(cost) > 3)",
			grouped + "\n" + moved, and(groups, astray), 0, "",
		},
		{"(SELECT id FROM patients GROUP BY 1 HAVING count(*) > 0) d", "", "", 0, ""},
		{"patients p JOIN visits v ON p.id = v.patient_id", fmt.Sprintf(within, "10 rows", stated), "", 0, ""},
		{"visits v JOIN labs l ON l.visit_id = v.id", nobody + fmt.Sprintf(within, "20 rows", stated), alone, 0, ""},
		{"visits v JOIN hospitals h ON h.id = v.hospital_id", nobody + fmt.Sprintf(within, "10 rows", stated), alone, 0, ""},
		{"visits", nobody + fmt.Sprintf(within, "6 rows", chosen), alone, 0, "dp.contribution = auto"},
		{"visits", nobody + fmt.Sprintf(few, "4 rows", stated), alone, 980, "dp.contribution = fixed; SET dp.max_rows = 4"},
	} {
		if c.settings != "" {
			ana.set(t, c.settings)
		}
		ana.number(t, "SELECT count(*) FROM "+c.from)
		for _, m := range figures.FindAllStringSubmatch(ana.detail, -1) {
			if n, _ := strconv.ParseFloat(m[1]+m[2], 64); n < c.above-10 || n > c.above+10 {
				t.Errorf("%s: %q, want about %v", c.from, m[0], c.above)
			}
		}
		got := figures.ReplaceAllString(strings.TrimSpace(costs.ReplaceAllString(ana.detail, "")), "N")
		if got != c.detail {
			t.Errorf("%s:\n%q, want\n%q", c.from, got, c.detail)
		}
		ana.number(t, "/* dp: notice=brief */ SELECT count(*) FROM "+c.from)
		if second := strings.TrimPrefix(ana.notice, "count"); second != c.outside && (c.outside != "" || second == ana.notice) {
			t.Errorf("%s: the second line is %q, want %q", c.from, second, c.outside)
		}
	}
}

// and adds to the second line of a notice.
func and(first, more string) string { return first + "; " + more }
