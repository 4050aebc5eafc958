package mirror_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/mirror"
)

// viewSchema has views over views, one with a constant of Bob's, and columns whose
// types, typmods and collations a mirror can get wrong.
const viewSchema = `
CREATE VIEW adults WITH (security_barrier) AS SELECT p.id, p.name, p.sex, p.age FROM patients p WHERE p.age > 20 AND p.name <> 'Bob';
CREATE VIEW bills (patient, fee, amount, name, "at") AS
	SELECT v.patient_id, v.fee, CAST(v.id AS numeric(9,3)), h.name, DATE '2020-01-31' FROM visits v JOIN hospitals h ` +
	`ON h.id = v.hospital_id;
CREATE VIEW adult_bills AS SELECT a.id, b.fee FROM adults a JOIN bills b ON b.patient = a.id;
CREATE VIEW towns AS SELECT code FROM regions;
CREATE VIEW elsewhere AS SELECT p.id FROM patients p, pg_catalog.pg_class, notes;
CREATE MATERIALIZED VIEW copied AS SELECT id FROM patients`

func viewPlan() mirror.Plan {
	p := plan()
	p.Protected = append(p.Protected, mirror.Protected{Name: name("sales_2024"), Comment: "part of sales", PartitionOf: name("sales")})
	p.Views = []mirror.View{
		{Name: name("adult_bills"), Comment: "a view", Shown: true},
		{Name: name("adults"), Hidden: []string{"name"}},
		{Name: name("bills"), Shown: true},
	}
	p.Analysts[0].Tables = append(p.Analysts[0].Tables, name("adults"), name("bills"), name("adult_bills"), name("sales_2024"))
	return p
}

// views makes two servers with the views on the real one.
func views(t *testing.T) pair {
	p := twoServers(t)
	run(t, p.upstream, "CREATE TABLE notes (n int);"+viewSchema)
	return p
}

func TestReadViews(t *testing.T) {
	p := views(t)
	run(t, p.upstream, "SET DateStyle = 'German'; SET quote_all_identifiers = on; SET search_path = public, lab")
	s, err := viewPlan().Read(t.Context(), p.upstream)
	if err != nil {
		t.Fatal(err)
	}
	want := ` SELECT v.patient_id AS patient,
    v.fee,
    (v.id)::numeric(9,3) AS amount,
    h.name,
    '2020-01-31'::date AS at
   FROM (public.visits v
     JOIN public.hospitals h ON ((h.id = v.hospital_id)))`
	if d := cmp.Diff(strings.TrimSpace(want), s.Tables[name("bills")].View); d != "" {
		t.Errorf("bills (-want +got):\n%s", d)
	}
	if s.Tables[name("adults")].ViewShown || !s.Tables[name("bills")].ViewShown {
		t.Error("what the policy says of definitions is lost")
	}
	if d := cmp.Diff([]catalog.Name{name("adults"), name("bills")}, s.Tables[name("adult_bills")].Reads); d != "" {
		t.Errorf("adult_bills (-want +got):\n%s", d)
	}
	if got := s.Tables[name("sales_2024")]; got.PartitionOf != name("sales") || got.Scope() != name("sales") {
		t.Errorf("sales_2024 is of %v, its scope %v", got.PartitionOf, got.Scope())
	}
	if got := s.Tables[name("sales")]; got.PartitionOf != (catalog.Name{}) || got.Scope() != name("sales") {
		t.Errorf("sales is of %v, its scope %v", got.PartitionOf, got.Scope())
	}
	// A view that is read as a table of rows has no query.
	if s, err = (mirror.Plan{Public: []catalog.Name{name("towns")}}).Read(t.Context(), p.upstream); err != nil ||
		s.Tables[name("towns")].View != "" {
		t.Errorf("towns: %+v, %v", s.Tables[name("towns")], err)
	}
}

// TestViewFingerprint holds that a view that was defined anew, and a partition that
// was detached, have changed.
func TestViewFingerprint(t *testing.T) {
	p := views(t)
	read := func() *catalog.Schema {
		s, err := viewPlan().Read(t.Context(), p.upstream)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := read()
	run(t, p.upstream, "CREATE OR REPLACE VIEW adults AS SELECT id, name, sex, age FROM patients; "+
		"ALTER TABLE sales DETACH PARTITION sales_2024")
	after := read()
	for _, n := range []string{"adults", "sales_2024"} {
		if before.Tables[name(n)].Fingerprint == after.Tables[name(n)].Fingerprint {
			t.Errorf("%s: the fingerprint stayed", n)
		}
	}
	if before.Tables[name("bills")].Fingerprint != after.Tables[name("bills")].Fingerprint {
		t.Error("bills: the fingerprint changed without reason")
	}
}

func TestSyncViews(t *testing.T) {
	p, plan := views(t), viewPlan()
	run(t, p.upstream, "CREATE VIEW counted AS SELECT region, count(*) AS n FROM patients GROUP BY region")
	plan.Views = append(plan.Views, mirror.View{Name: name("counted"), Shown: true})
	plan.Analysts[0].Tables = append(plan.Analysts[0].Tables, name("counted"))
	p.sync(t, plan)
	if again := changed(p.sync(t, plan)); len(again) > 0 {
		t.Errorf("the second run reported %q", again)
	}
	ana := p.as(t, "ana")
	for _, sql := range []string{
		"TABLE counted", "SELECT count(*) FROM counted", "SELECT FROM counted LIMIT 0", "EXPLAIN SELECT FROM counted",
	} {
		if got := state(t, ana, sql); got != "PB010" {
			t.Errorf("%s ended with %q", sql, got)
		}
	}
	for _, relation := range []string{"adults", "bills", "adult_bills", "sales_2024"} {
		for _, sql := range []string{
			"SELECT * FROM %", "SELECT FROM % WHERE false", "SELECT 1 FROM % LIMIT 0", "EXPLAIN SELECT FROM %",
			"SELECT count(*) FROM ONLY %",
			"COPY (TABLE %) TO STDOUT", "SELECT EXISTS (SELECT FROM %)", "DO 'BEGIN PERFORM 1 FROM public.%; END'",
			"SELECT r.code FROM regions r LEFT JOIN % x ON true", "WITH w AS MATERIALIZED (SELECT * FROM %) SELECT 1 FROM w",
			"SELECT 1 FROM regions UNION ALL SELECT 1 FROM %",
		} {
			sql = strings.ReplaceAll(sql, "%", relation)
			if got := state(t, ana, sql); got != "PB010" {
				t.Errorf("%s ended with %q", sql, got)
			}
		}
		shape := `SELECT string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attcollation), ',' ORDER BY attnum)
			FROM pg_attribute WHERE attnum > 0 AND attrelid = '` + relation + "'::regclass AND NOT (attrelid = to_regclass('adults') " +
			"AND attname = 'name')"
		if up, down := value(t, p.upstream, shape), value(t, p.mirror, shape); up != down {
			t.Errorf("%s\nupstream %s\nmirror   %s", relation, up, down)
		}
	}
	if got := value(t, ana, "SELECT string_agg(relkind::text, '' ORDER BY relname) FROM pg_class "+
		"WHERE relname IN ('adults', 'bills', 'sales_2024')"); got != "vvr" {
		t.Errorf("the relations are of the kinds %s", got)
	}
	for view, shown := range map[string]bool{"adults": false, "bills": true} {
		got := value(t, ana, "SELECT definition FROM pg_views WHERE viewname = '"+view+"'")
		if strings.Contains(got, "hospital_id") != shown || strings.Contains(got, "Bob") || strings.Contains(got, "dp.protected") == shown {
			t.Errorf("%s is shown as %s", view, got)
		}
	}
	if got := value(t, p.mirror, "SELECT count(*) FROM pg_inherits"); got != "0" {
		t.Errorf("%s partitions on the mirror", got)
	}
	if got := state(t, p.as(t, "Bob's"), "TABLE adults"); got != "PB010" && got != "42501" {
		t.Errorf("an analyst without the view: %q", got)
	}
}

func TestSyncAppliesChangesOfViews(t *testing.T) {
	p := views(t)
	p.sync(t, viewPlan())
	run(t, p.upstream, `CREATE OR REPLACE VIEW bills (patient, fee, amount, name, "at") AS
		SELECT v.patient_id, v.fee, CAST(v.id AS numeric(9,3)), h.name, DATE '2021-12-31' FROM visits v JOIN hospitals h `+
		`ON h.id = v.hospital_id;
		CREATE OR REPLACE VIEW adults AS SELECT id, name, sex, age FROM patients; ALTER TABLE visits ADD more int`)
	want := []string{"recreate table public.visits", "recreate view public.bills", "recreate view public.adult_bills"}
	got := changed(p.sync(t, viewPlan()))
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no %q in %q", w, got)
		}
	}
	if slices.Contains(got, "recreate view public.adults") {
		t.Errorf("a definition that is not shown has changed something: %q", got)
	}
	q := viewPlan()
	q.Views, q.Public = q.Views[1:2], append(q.Public, name("towns"))
	q.Analysts[0].Tables = []catalog.Name{name("adults")}
	got = changed(p.sync(t, q))
	for _, w := range []string{"drop view public.bills", "drop view public.adult_bills", "create table public.towns"} {
		if !slices.Contains(got, w) {
			t.Errorf("no %q in %q", w, got)
		}
	}
	// A relation can turn from a table of rows into a view over protected ones, and back.
	run(t, p.upstream, "CREATE OR REPLACE VIEW towns AS SELECT p.region AS code FROM patients p")
	q.Public, q.Views = q.Public[:2], append(q.Views, mirror.View{Name: name("towns")})
	p.sync(t, q)
	run(t, p.upstream, "CREATE OR REPLACE VIEW towns AS SELECT code FROM regions")
	q.Public, q.Views = append(q.Public, name("towns")), q.Views[:1]
	p.sync(t, q)
	if got := value(t, p.as(t, "ana"), "SELECT count(*) FROM towns"); got != "8" {
		t.Errorf("%s towns", got)
	}
}

func TestProblems(t *testing.T) {
	p := views(t)
	q := viewPlan()
	q.Protected = append(q.Protected, mirror.Protected{Name: name("notes"), PartitionOf: name("sales")})
	q.Public = append(q.Public, name("copied"))
	q.Views = append(q.Views, mirror.View{Name: name("towns")}, mirror.View{Name: name("copied")}, mirror.View{Name: name("nowhere")})
	q.Public = slices.DeleteFunc(q.Public, func(n catalog.Name) bool { return n == name("hospitals") || n == name("copied") })
	q.Protected = slices.DeleteFunc(q.Protected, func(t mirror.Protected) bool { return t.Name == name("patients") })
	q.Views = append(q.Views, mirror.View{Name: name("visits_plain")})
	run(t, p.upstream, "CREATE TABLE visits_plain (id int)")
	s, err := q.Read(t.Context(), p.upstream)
	if err != nil {
		t.Fatal(err)
	}
	want := []mirror.Problem{
		{Table: name("sales"), Key: "partitions", Message: "public.notes is no partition of public.sales"},
		{Table: name("adults"), Key: "view", Message: "the view reads public.patients, which is not in the policy"},
		{Table: name("bills"), Key: "view", Message: "the view reads public.hospitals, which is not in the policy"},
		{Table: name("towns"), Key: "view", Message: "the view reads nothing protected: say public: true instead"},
		{Table: name("copied"), Key: "view", Message: "this is a materialised view, whose rows are copies: " +
			"name the tables it is made from"},
		{Table: name("nowhere"), Key: "view", Message: "the view does not exist in the database, or may not be read"},
		{Table: name("visits_plain"), Key: "view", Message: "this is no view"},
	}
	if d := cmp.Diff(want, q.Problems(s)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	q = viewPlan()
	q.Public = slices.DeleteFunc(q.Public, func(n catalog.Name) bool { return n == name("hospitals") })
	if _, err := p.trySync(t, q); err == nil || !strings.Contains(err.Error(), "public.bills: the view reads public.hospitals") {
		t.Errorf("sync: %v", err)
	}
}

func TestCountRows(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	run(t, p.upstream, "INSERT INTO regions VALUES ('new', 'New')") // the mirror's count is the one that counts
	got, err := mirror.CountRows(t.Context(), p.mirror, []catalog.Name{name("regions"), name("hospitals")})
	if d := cmp.Diff(map[catalog.Name]int64{name("regions"): 8, name("hospitals"): 20}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := mirror.CountRows(t.Context(), p.mirror, []catalog.Name{name("nowhere")}); err == nil {
		t.Error("a table that does not exist was counted")
	}
}

func TestMeasureTexts(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	sizes := map[catalog.Name]int64{name("regions"): 8, name("hospitals"): 20}
	got, err := mirror.MeasureTexts(t.Context(), p.mirror, sizes)
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for table, lengths := range got {
		for column, n := range lengths {
			measured++
			want := value(t, p.mirror, "SELECT coalesce(max(octet_length("+column+")), 0) FROM "+table.Name)
			if strconv.FormatInt(n, 10) != want {
				t.Errorf("%v: the longest %s has %d bytes, in Postgres %s", table, column, n, want)
			}
		}
	}
	if measured == 0 {
		t.Error("no column was measured")
	}
	sizes[name("hospitals")] = 10_000_000
	if got, err := mirror.MeasureTexts(t.Context(), p.mirror, sizes); err != nil || got[name("hospitals")] != nil {
		t.Errorf("a large table: %v, %v", got, err)
	}
	if _, err := mirror.MeasureTexts(t.Context(), p.mirror, map[catalog.Name]int64{name("nowhere"): 1}); err == nil {
		t.Error("a table that does not exist was measured")
	}
}

func TestCountRepeats(t *testing.T) {
	p := twoServers(t)
	p.sync(t, plan())
	sizes := map[catalog.Name]int64{name("regions"): 8, name("hospitals"): 20}
	got, err := mirror.CountRepeats(t.Context(), p.mirror, sizes)
	if err != nil {
		t.Fatal(err)
	}
	for table, repeats := range got {
		if len(repeats) == 0 {
			t.Errorf("%v: no column", table)
		}
		for column, n := range repeats {
			want := value(t, p.mirror, "SELECT max(c) FROM (SELECT count(*) AS c FROM "+table.Name+" GROUP BY "+column+") r")
			if strconv.FormatInt(n, 10) != want {
				t.Errorf("%v: %d rows have one value of %s, in Postgres %s", table, n, column, want)
			}
		}
	}
	sizes[name("hospitals")] = 1_000_000
	if got, err := mirror.CountRepeats(t.Context(), p.mirror, sizes); err != nil || got[name("hospitals")] != nil {
		t.Errorf("a large table: %v, %v", got, err)
	}
	if _, err := mirror.CountRepeats(t.Context(), p.mirror, map[catalog.Name]int64{name("nowhere"): 1}); err == nil {
		t.Error("a table that does not exist was counted")
	}
}
