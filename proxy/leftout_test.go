package proxy_test

import "testing"

// A limit on the rows of a unit that holds before anything is measured is in no error: a notice says
// where there is one, and says nothing where keys prove that there is none.
func TestLeftOutIsTold(t *testing.T) {
	ana := newWorld(t, large(t)).client(t, "ana")
	const rest = " The error does not include what clamping and contribution limits leave out."
	for _, c := range []struct{ from, detail string }{
		{"visits v JOIN visits w ON v.patient_id = w.patient_id", "Joined rows of one patient are cut to 10 of public.visits." + rest},
		{
			"patients p JOIN (SELECT v.patient_id AS u FROM visits v JOIN labs l ON l.visit_id = v.id) d ON d.u = p.id",
			"",
		},
		{
			"(SELECT patient_id FROM visits GROUP BY 1 HAVING count(*) > 3) d",
			"Counts and sums over groups of rows of one patient in public.visits are those of at most 10 rows." + rest,
		},
		{"(SELECT patient_id FROM visits GROUP BY 1 HAVING max(cost) > 3) d", ""},
		{
			"patients WHERE id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING sum(cost) > 3)",
			"Counts and sums over groups of rows of one patient in public.visits are those of at most 10 rows." + rest,
		},
		{"(SELECT id FROM patients GROUP BY 1 HAVING count(*) > 0) d", ""},
		{"patients p JOIN visits v ON p.id = v.patient_id", ""},
		{"visits v JOIN labs l ON l.visit_id = v.id", ""},
		{"visits v JOIN hospitals h ON h.id = v.hospital_id", ""},
	} {
		ana.number(t, "SELECT count(*) FROM "+c.from)
		if ana.detail != c.detail {
			t.Errorf("%s: %q, want %q", c.from, ana.detail, c.detail)
		}
	}
}
