package planner_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
)

// astray leaves one visit of each patient, some of them outside the bounds of their days.
const astray = `DELETE FROM visits v
WHERE patient_id IS NULL OR EXISTS (SELECT FROM visits w WHERE w.patient_id = v.patient_id AND w.id < v.id);
UPDATE visits SET day = CASE id % 3 WHEN 0 THEN date '2026-05-05' WHEN 1 THEN date '2019-12-31' ELSE day END WHERE id % 4 = 0;
UPDATE patients SET birth_year = CASE WHEN birth_year > 0 THEN 3001 ELSE 1900 END WHERE id < 3`

// undeclared has rows with other values than the policy declares beside those.
const undeclared = astray + `;
UPDATE patients SET sex = '?' WHERE id % 5 = 0; UPDATE patients SET region = 'elsewhere' WHERE id % 7 = 0;
UPDATE visits SET diagnosis = 'unknown' WHERE id % 3 = 0`

const (
	ofSex           = "rows whose sex is none of the 3 values that the policy declares "
	ofDiagnosis     = "rows whose diagnosis is none of the 3 values that the policy declares "
	ofRegion        = "rows whose region is none of the 2 values that the policy declares "
	ofYear          = "rows whose birth_year is outside [1920, 2010] "
	ofDay           = "rows whose day is outside [2020-01-01, 2024-12-31] "
	inNone          = "are in no group"
	perhapsInNone   = "can be in no group"
	inNoMode        = "do not count for mode()"
	perhapsInNoMode = "can be missing from mode()"
	notCounted      = "do not count"
	atTheEnd        = "count as if it were the nearer end of that"
)

// strayKeys are keys with the remarks on rows that are astray.
var strayKeys = []struct{ key, from, said string }{
	{"sex", "patients", ofSex + inNone},
	{"region", "patients", ofRegion + inNone},
	{"birth_year", "patients", ofYear + inNone},
	{"day", "visits WHERE day > '2024-12-01'", ofDay + inNone},
	{"smoker", "patients", ""},
	{"mood", "patients", ""},
	{"lower(region)", "patients", ofRegion + perhapsInNone},
	{"sex || region", "patients", ofSex + perhapsInNone + "; " + ofRegion + perhapsInNone},
	{"sex = 'f'", "patients", ""},
	{"birth_year > 1950", "patients", ""},
	{"birth_year > 3000", "patients", ofYear + perhapsInNone},
	{"CASE WHEN sex = 'f' THEN 'f' ELSE 'other' END", "patients", ""},
	{"CASE sex WHEN 'f' THEN 1 WHEN 'm' THEN 2 WHEN 'x' THEN 3 END", "patients", ofSex + perhapsInNone},
	{"CASE WHEN sex IN ('f', 'm', 'x') THEN 1 ELSE 2 END", "patients", ofSex + perhapsInNone},
	{"CASE WHEN birth_year < 1950 THEN 'old' ELSE sex END", "patients", ofSex + perhapsInNone},
	{"CASE WHEN sex = 'f' THEN birth_year END", "patients", ofYear + perhapsInNone},
	{"CASE WHEN birth_year / 10 > 195 THEN 'young' END", "patients", ofYear + atTheEnd},
	{"birth_year / 10", "patients", ofYear + atTheEnd},
	{"birth_year + 0", "patients", ofYear + atTheEnd},
	{"least(birth_year, 1950)", "patients", ofYear + perhapsInNone},
	{"least(greatest(birth_year, 1930), 1950)", "patients", ""},
	{"extract(year FROM day)", "visits", ofDay + atTheEnd},
	{"extract(month FROM day)", "visits", ofDay + atTheEnd},
	{"date_trunc('quarter', day)", "visits", ofDay + atTheEnd},
	{"day > '2022-01-01'", "visits", ""},
	{"k", "(SELECT sex AS k FROM patients) q", ofSex + inNone},
	{"k", "(SELECT CASE WHEN sex = 'f' THEN 1 ELSE 0 END AS k FROM patients) q", ""},
	{"k", "(SELECT extract(year FROM day) AS k FROM visits) q", ofDay + atTheEnd},
	{"k", "(SELECT patient_id, min(day) AS k FROM visits GROUP BY 1) q WHERE k > '2024-12-01'", ofDay + atTheEnd},
	{
		"k", "(SELECT sex AS k FROM patients UNION ALL SELECT region FROM patients WHERE false) q",
		ofSex + perhapsInNone + "; " + ofRegion + perhapsInNone,
	},

	{"sex", "patients WHERE sex = 'f'", ""},
	{"sex", "patients WHERE sex IN ('f', 'm')", ""},
	{"sex", "patients WHERE sex = ANY ('{f,m}')", ""},
	{"sex", "patients WHERE sex = ANY ('{f,?}')", ofSex + inNone},
	{"sex", "patients JOIN (VALUES ('f'), ('m')) l (s) ON l.s = sex", ""},
	{"sex", "patients JOIN (VALUES ('f'), ('?')) l (s) ON l.s = sex", ofSex + inNone},
	{"sex", "patients WHERE sex IN ('f', '?')", ofSex + inNone},
	{"sex", "patients WHERE sex <> 'f'", ofSex + inNone},
	{"sex", "patients WHERE sex = 'f' OR smoker", ofSex + inNone},
	{"k", "(SELECT sex AS k FROM patients WHERE sex = 'm') q", ""},
	{"k", "(SELECT sex AS k FROM patients) q WHERE k IN ('f', 'x')", ""},
	{"birth_year", "patients WHERE birth_year BETWEEN 1950 AND 1960", ""},
	{"birth_year", "patients WHERE birth_year > 1950", ofYear + inNone},
	{"birth_year", "patients WHERE birth_year > 2500", ofYear + inNone},
	{"birth_year / 10", "patients WHERE birth_year BETWEEN 1950 AND 1960", ""},
	{"birth_year / 10", "patients WHERE birth_year / 10 > 199", ofYear + atTheEnd},
	{"extract(year FROM day)", "visits WHERE day >= '2021-01-01' AND day < '2024-01-01'", ""},
	{"extract(month FROM day)", "visits WHERE extract(year FROM day) = 2024", ofDay + atTheEnd},
	{"smoker", "patients WHERE birth_year > 1950", ""},
	{"smoker", "patients WHERE birth_year / 10 > 195", ofYear + atTheEnd},
	{"smoker", "patients WHERE birth_year / 10 > 195 AND birth_year BETWEEN 1920 AND 2000", ""},
	{"smoker", "patients p JOIN visits v ON v.patient_id = p.id AND extract(year FROM v.day) = 2024", ofDay + atTheEnd},
	{"smoker", "patients p WHERE EXISTS (SELECT FROM visits v WHERE v.patient_id = p.id AND v.day - 5 > '2024-12-01')", ofDay + atTheEnd},
	{"patient_id > 5", "(SELECT patient_id FROM visits GROUP BY 1 HAVING max(day) >= '2024-12-31') q", ofDay + atTheEnd},
}

// TestStraysAreSaid: rows that Postgres has in a group, and an answer in none or in another one, are said, with what becomes of them.
func TestStraysAreSaid(t *testing.T) {
	conn := connect(t)
	run(t, conn, "BEGIN; "+astray)
	defer run(t, conn, "ROLLBACK")
	for _, c := range strayKeys {
		sql := fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY 1", c.key, c.from)
		p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if got := strays(p); got != c.said {
			t.Errorf("%s: said is %q, want %q", sql, got, c.said)
		}
		diff := cmp.Diff(native(t, conn, c.key, c.from), p.groups(t, conn))
		if diff != "" && c.said == "" {
			t.Errorf("%s: nothing is said of groups that differ (-Postgres +answer):\n%s", sql, diff)
		}
		if diff == "" && strings.Contains(c.said, inNone) && !strings.Contains(c.said, perhapsInNone) && !strings.Contains(c.from, "?") {
			t.Errorf("%s: no row is in no group, though %q", sql, c.said)
		}
	}
}

// unmet are keys of which no declared value meets the conditions, with the remarks on rows that do.
var unmet = []struct{ key, from, said string }{
	{"sex", "patients WHERE sex = '?'", ofSex + notCounted},
	{"sex", "patients WHERE sex NOT IN ('f', 'm', 'x')", ofSex + inNone},
	{"upper(sex)", "patients WHERE sex = '?'", ofSex + notCounted},
	{"diagnosis", `visits WHERE diagnosis NOT IN ('flu', 'asthma', 'it''s "so"')`, ofDiagnosis + inNone},
	{"birth_year > 2500", "patients WHERE birth_year > 2500", ofYear + perhapsInNone},
	{"birth_year / 10", "patients WHERE birth_year > 2500", ofYear + perhapsInNone},
	{"birth_year / 10", "patients WHERE birth_year / 10 > 250", ofYear + perhapsInNone},
	{"extract(year FROM day)", "visits WHERE day >= '2025-01-01'", ofDay + perhapsInNone},
	{"sex", "patients WHERE sex = 'f' AND sex = 'm'", ""},
	{"h.name", "visits v JOIN hospitals h ON h.id = v.hospital_id WHERE h.id = 99", ""},
}

// TestStraysOfNoGroup: an answer without groups says that no row meets its conditions only if that does not depend on declared values.
func TestStraysOfNoGroup(t *testing.T) {
	conn := connect(t)
	run(t, conn, "BEGIN; "+undeclared)
	defer run(t, conn, "ROLLBACK")
	for _, c := range unmet {
		sql := fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY 1", c.key, c.from)
		p := planWith(t, conn, clinic(t), sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if p.Reads() {
			t.Errorf("%s reads rows", sql)
		}
		if got := strays(p); got != c.said {
			t.Errorf("%s: said is %q, want %q", sql, got, c.said)
		}
		surely := strings.Contains(strings.Join(p.ExplainVerbose(nil), "\n"), "no row meets the conditions")
		if surely != (c.said == "") || surely && len(native(t, conn, c.key, c.from)) > 0 {
			t.Errorf("%s: that no row meets the conditions is said: %v", sql, surely)
		}
	}
}

// TestStraysOfEachForm: whatever has declared values in the place of those of rows, the values of rows that it lacks are said.
func TestStraysOfEachForm(t *testing.T) {
	conn := connect(t)
	run(t, conn, "BEGIN; "+undeclared)
	defer run(t, conn, "ROLLBACK")
	for _, c := range slices.Concat(strayKeys, unmet) {
		p := plan(t, conn, clinic(t), fmt.Sprintf("SELECT DISTINCT %s FROM %s", c.key, c.from))
		set := p.Blocks[0].Sets[0]
		listed := map[string]bool{"NULL": false}
		for at := range set.Size() {
			listed[cellText(bytesOf(set.KeysOf(at)[0]))] = true
		}
		has := native(t, conn, c.key, c.from)
		lacks := func(key string) bool { return has[key] != "" && !listed[key] }
		all := slices.Collect(maps.Keys(has))
		values := slices.DeleteFunc(slices.Clone(all), func(key string) bool { return key == "NULL" })
		for _, form := range []struct {
			sql, listing string
			keys         []string
		}{
			{"SELECT DISTINCT %s FROM %s", "", all},
			{"SELECT %s FROM %s GROUP BY 1", "", all},
			{"SELECT mode() WITHIN GROUP (ORDER BY %s) FROM %s", fmt.Sprintf(", of %d values", len(listed)-1), values},
		} {
			sql := fmt.Sprintf(form.sql, c.key, c.from)
			p, err := planned(t, conn, clinic(t), sql, func(*planner.Settings) {})
			if err != nil || !strings.Contains(strings.Join(p.ExplainVerbose(nil), "\n"), form.listing) {
				continue // a mode of no values is refused, and one of more lacks fewer
			}
			if strays(p) == "" && slices.ContainsFunc(form.keys, lacks) {
				t.Errorf("%s: nothing is said of values that are not declared", sql)
			}
		}
	}
	for _, c := range []struct{ sql, said string }{
		{"SELECT DISTINCT sex FROM patients", ofSex + inNone},
		{"SELECT sex FROM patients GROUP BY 1", ofSex + inNone},
		{"SELECT count(*) FROM (SELECT DISTINCT sex FROM patients) q", ofSex + inNone},
		{"SELECT DISTINCT birth_year / 10 FROM patients", ofYear + atTheEnd},
		{"SELECT mode() WITHIN GROUP (ORDER BY sex) FROM patients", ofSex + inNoMode},
		{"SELECT mode() WITHIN GROUP (ORDER BY sex) FILTER (WHERE sex = 'f') FROM patients", ""},
		{"SELECT mode() WITHIN GROUP (ORDER BY CASE WHEN smoker THEN 'smoker' ELSE sex END) FROM patients", ofSex + perhapsInNoMode},
		{"SELECT mode() WITHIN GROUP (ORDER BY birth_year) FROM patients", ofYear + inNoMode},
		{"SELECT mode() WITHIN GROUP (ORDER BY birth_year / 10) FROM patients", ofYear + atTheEnd},
		{"SELECT mode() WITHIN GROUP (ORDER BY day) FROM visits", ofDay + inNoMode},
		{"SELECT sex, mode() WITHIN GROUP (ORDER BY region) FROM patients GROUP BY 1", ofSex + inNone + "; " + ofRegion + inNoMode},
	} {
		if got := strays(plan(t, conn, clinic(t), c.sql)); got != c.said {
			t.Errorf("%s: said is %q, want %q", c.sql, got, c.said)
		}
	}
}

func bytesOf(text *string) []byte {
	if text == nil {
		return nil
	}
	return []byte(*text)
}

// strays are the remarks of a plan on rows that are astray.
func strays(p specialized) string {
	var all []string
	for _, s := range slices.Concat(p.LeftOut(), p.Moved()) {
		if strings.HasPrefix(s, "rows whose ") || strings.HasPrefix(s, "rows that meet ") {
			all = append(all, s)
		}
	}
	return strings.Join(all, "; ")
}

// native counts the rows of each group as Postgres does.
func native(t *testing.T, conn *pgconn.PgConn, key, from string) map[string]string {
	t.Helper()
	rows, err := conn.Exec(t.Context(), fmt.Sprintf("SELECT CAST(%s AS text), count(*) FROM %s GROUP BY %[1]s", key, from)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{}
	for _, row := range rows[0].Rows {
		groups[cellText(row[0])] = string(row[1])
	}
	return groups
}

func cellText(cell []byte) string {
	if cell == nil {
		return "NULL"
	}
	return string(cell)
}

// groups counts those of the public groups that have rows, as the plan reads them.
func (p specialized) groups(t *testing.T, conn *pgconn.PgConn) map[string]string {
	t.Helper()
	set, exact := p.Blocks[0].Sets[0], p.read(t, conn)[0]
	groups := map[string]string{}
	for at, row := range exact.Released(exact.Uncut()).Rows {
		key := "NULL"
		if k := set.KeysOf(at)[0]; k != nil {
			key = *k
		}
		if row[0].Sign() != 0 {
			groups[key] = row[0].String()
		}
	}
	return groups
}

// TestProvedArguments: values of a column that constraints keep within its bounds are not clamped.
func TestProvedArguments(t *testing.T) {
	s := plannertest.ClinicSchema()
	s.Tables[name("visits")].Checks = []catalog.Check{{Expr: "((cost >= (0)::numeric) AND (cost <= (20000)::numeric))"}}
	cat := plannertest.CheckedBy(t, plannertest.ClinicPolicy(), s)
	for sql, said := range map[string]string{
		"SELECT avg(cost) FROM visits":                                            "",
		"SELECT avg(steps) FROM visits":                                           "steps beyond [0, 100000]",
		"SELECT sum(cost) FROM (SELECT cost FROM visits) q":                       "",
		"SELECT count(*) FROM visits WHERE cost * 2 > 300":                        "",
		"SELECT width_bucket(cost, 0, 20000, 5), count(*) FROM visits GROUP BY 1": "",
	} {
		p := planWith(t, connect(t), cat, sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if got := strings.Join(p.Outside(make([][]*planner.Released, 1)), "; "); got != said {
			t.Errorf("%s: outside is %q", sql, got)
		}
	}
}

// TestStraysInArguments: conditions in arguments of aggregates and their filters are said as others are, and of one column either the rows
// or the values that are clamped.
func TestStraysInArguments(t *testing.T) {
	const (
		ofDay    = "rows whose day is outside [2020-01-01, 2024-12-31]"
		ofCost   = "rows whose cost is outside [0, 20000]"
		ofValues = "cost beyond [0, 20000]"
	)
	conn := connect(t)
	for _, c := range []struct{ sql, said string }{
		{"SELECT count(*) FILTER (WHERE extract(year FROM day) = 2024) FROM visits", ofDay},
		{"SELECT count(*) FILTER (WHERE day > '2024-01-01') FROM visits", ""},
		{"SELECT sum(CASE WHEN extract(year FROM day) = 2024 THEN cost END) FROM visits", ofDay + "; cost beyond [0, 20000]"},
		{
			"SELECT sum(CASE WHEN extract(year FROM day) = 2024 THEN cost ELSE 0 END) FROM visits",
			ofDay + "; computed values beyond [0, 20000]",
		},
		{"SELECT sum(x) FROM (SELECT CASE WHEN cost * 2 > 100 THEN cost END AS x FROM visits) q", ofCost + "; x beyond [0, 20000]"},
		{"SELECT avg(cost) FROM visits WHERE cost + 1 > 50", ofCost},
		{"SELECT avg(cost) FROM visits WHERE cost > 50 AND cost < 15000", ""},
		{"SELECT sum(cost), avg(day - '2020-01-01') FROM visits", ofValues + "; day beyond [2020-01-01, 2024-12-31]"},
		{"SELECT bool_or(extract(year FROM day) > 2023) FROM visits", ofDay},
	} {
		p := planWith(t, conn, clinic(t), c.sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if got := strings.Join(p.Outside(make([][]*planner.Released, len(p.Blocks))), "; "); got != c.said {
			t.Errorf("%s: outside is %q, want %q", c.sql, got, c.said)
		}
	}
}

// TestStraysOfNumbers: a condition on a number within its bounds does not say which values a column has as it is.
func TestStraysOfNumbers(t *testing.T) {
	const said = "rows whose birth_year is none of the 3 values that the policy declares"
	p := plannertest.ClinicPolicy()
	years := plannertest.Bounds("1950", "1952")
	years.Values = []string{"1950", "1951", "1952"}
	p.Tables[0].Columns["birth_year"] = years
	cat := plannertest.CheckedBy(t, p, plannertest.ClinicSchema())
	conn := connect(t)
	for where, said := range map[string]string{
		"birth_year + 1 = 1953": said + "; rows whose birth_year is outside [1950, 1952]", "true": said, "birth_year = 1952": "",
		"birth_year IN (1950, 1951)": "", "birth_year > 1950": said,
		"birth_year BETWEEN 1950 AND 1952": "", "birth_year BETWEEN 1949 AND 1952": said, "birth_year = ANY ('{1950,1952}')": "",
		"birth_year <> 1950": said, "birth_year < 1951 AND birth_year > 1949": "",
	} {
		plan := plan(t, conn, cat, "SELECT birth_year, count(*) FROM patients WHERE "+where+" GROUP BY 1")
		if got := strings.Join(plan.Outside(make([][]*planner.Released, 1)), "; "); got != said {
			t.Errorf("where %s: outside is %q", where, got)
		}
	}
}

// TestStraysProvedAway: where constraints of the database admit no other values than those that are declared, nothing is said of others.
func TestStraysProvedAway(t *testing.T) {
	s := plannertest.ClinicSchema()
	check := func(table string, checks ...string) {
		for _, x := range checks {
			s.Tables[name(table)].Checks = append(s.Tables[name(table)].Checks, catalog.Check{Expr: x})
		}
	}
	check("patients", "(sex = ANY (ARRAY['f'::text, 'm'::text]))", "(birth_year >= 1900)", "(birth_year <= 2010)")
	check("visits", "((day >= '2020-01-01'::date) AND (day <= '2024-12-31'::date))", "(diagnosis <> 'none'::text)")
	region, _ := s.Tables[name("patients")].Column("region")
	region.Checks = []string{"((VALUE)::text = ANY ((ARRAY['north'::character varying, 'south'::character varying])::text[]))"}
	cat := plannertest.CheckedBy(t, plannertest.ClinicPolicy(), s)
	conn := connect(t)
	for _, c := range []struct{ key, from, said string }{
		{"sex", "patients", ""},
		{"region", "patients", ""},
		{"lower(region)", "patients", ""},
		{"mood", "patients", ""},
		{"birth_year", "patients", "rows whose birth_year is outside [1920, 2010]"},
		{"birth_year", "patients WHERE birth_year > 1930", "rows whose birth_year is outside [1920, 2010]"},
		{"extract(year FROM day)", "visits", ""},
		{"place IS NULL", "visits WHERE extract(year FROM day) = 2024", ""},
		{"diagnosis", "visits", "rows whose diagnosis is none of the 3 values that the policy declares"},
		{
			"sex || diagnosis", "patients p JOIN visits v ON v.patient_id = p.id",
			"rows whose diagnosis is none of the 3 values that the policy declares",
		},
	} {
		sql := fmt.Sprintf("SELECT %s, count(*) FROM %s GROUP BY 1", c.key, c.from)
		p := planWith(t, conn, cat, sql, func(s *planner.Settings) { s.Contribution = planner.FixedContribution })
		if got := strings.Join(p.Outside(make([][]*planner.Released, len(p.Blocks))), "; "); got != c.said {
			t.Errorf("%s: outside is %q, want %q", sql, got, c.said)
		}
	}
}
