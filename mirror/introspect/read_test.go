package introspect_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror/introspect"
)

func TestRead(t *testing.T) {
	conn := clinic(t, start(t))
	s, err := read(t, conn, name("visits"), name("patients"), name("sales"), name("sales_2024"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Database != "clinic" || s.ServerVersion < 130000 {
		t.Errorf("database %s, version %d", s.Database, s.ServerVersion)
	}
	builtin := func(n, display string, oid uint32, mod int32) catalog.TypeRef {
		name := catalog.Name{Schema: "pg_catalog", Name: n}
		return catalog.TypeRef{Name: name, OID: oid, Mod: mod, Display: display, Base: name, BaseOID: oid, BaseMod: mod, Kind: 'b'}
	}
	fee := catalog.TypeRef{
		Name: name("fee_t"), Mod: -1, Display: "public.fee_t", Kind: 'd', NotNull: true,
		Base: catalog.Name{Schema: "pg_catalog", Name: "numeric"}, BaseOID: 1700, BaseMod: 12<<16 + 2 + 4,
	}
	want := &catalog.Table{
		Name: name("visits"), Kind: 'r',
		Columns: []catalog.Column{
			{Name: "id", Number: 1, Type: builtin("int4", "integer", 23, -1), NotNull: true, Deterministic: true},
			{Name: "patient_id", Number: 2, Type: builtin("int4", "integer", 23, -1), NotNull: true, Deterministic: true},
			{Name: "hospital_id", Number: 3, Type: builtin("int4", "integer", 23, -1), Deterministic: true},
			{Name: "day", Number: 4, Type: builtin("date", "date", 1082, -1), Deterministic: true},
			{Name: "cost", Number: 5, Type: builtin("numeric", "numeric(10,2)", 1700, 10<<16+2+4), Deterministic: true},
			{Name: "fee", Number: 6, Type: fee, Deterministic: true, Checks: []string{"(VALUE < (77777)::numeric)"}},
			{Name: "qty", Number: 7, Type: builtin("int4", "integer", 23, -1), Deterministic: true},
		},
		Keys: []catalog.Key{{Name: "visits_pkey", Columns: []string{"id"}, Primary: true}},
		Checks: []catalog.Check{
			{Expr: "(cost < (12345)::numeric)", Columns: []string{"cost"}}, {Expr: "(patient_id <> 13)", Columns: []string{"patient_id"}},
		},
		Foreign: []catalog.ForeignKey{
			{
				Name: "visits_hospital_id_fkey", Columns: []string{"hospital_id"}, References: name("hospitals"), Target: []string{"id"},
				Definition: "FOREIGN KEY (hospital_id) REFERENCES public.hospitals(id)",
			},
			{
				Name: "visits_patient_id_fkey", Columns: []string{"patient_id"}, References: name("patients"), Target: []string{"id"},
				Definition: "FOREIGN KEY (patient_id) REFERENCES public.patients(id)",
			},
		},
		Constraints: []catalog.Definition{{Name: "visits_pkey", Text: "PRIMARY KEY (id)", Columns: []string{"id"}}},
		Sorted:      []catalog.Index{{Name: "visits_pkey", Columns: []string{"id"}}},
		Stored:      []catalog.Storage{{Name: name("visits"), Kind: 'r', Method: "heap"}},
	}
	ignore := cmp.Options{
		cmpopts.IgnoreFields(catalog.Table{}, "OID", "Fingerprint"),
		cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Columns.Type.OID" }, cmp.Comparer(func(a, b uint32) bool {
			return a == b || a == 0 || b == 0
		})),
	}
	if diff := cmp.Diff(want, s.Tables[name("visits")], ignore...); diff != "" {
		t.Errorf("visits (-want +got):\n%s", diff)
	}
	sex, _ := s.Tables[name("patients")].Column("sex")
	if sex.Type.Kind != 'e' || sex.Type.Base != name("sex_t") || len(s.Types[name("sex_t")].Labels) != 3 {
		t.Errorf("sex: %+v, %+v", sex.Type, s.Types[name("sex_t")])
	}
	if inner := s.Types[name("fee_t")]; !inner.NotNull || inner.Base.Display != "public.money_t" || inner.Base.BaseOID != 1700 {
		t.Errorf("fee_t: %+v", inner)
	}
	parent, child := s.Tables[name("sales")], s.Tables[name("sales_2024")]
	if parent.Kind != 'p' || len(parent.Children) != 1 || parent.Children[0] != child.Name || child.Parents[0] != parent.Name {
		t.Errorf("partitions: %+v, %+v", parent, child)
	}
}

// TestReadKeys holds that an index that does not prove uniqueness is no key, and that one
// in another order than that of its first column's type gives no order.
func TestReadKeys(t *testing.T) {
	conn := clinic(t, start(t))
	run(t, conn, `CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
		CREATE TABLE k (a int, b text, c text COLLATE loose, d int UNIQUE DEFERRABLE, e int);
		CREATE UNIQUE INDEX good ON k (a, b) INCLUDE (e); CREATE UNIQUE INDEX broken ON k (e);
		CREATE UNIQUE INDEX finer ON k (c COLLATE "C"); CREATE UNIQUE INDEX operators ON k (b text_pattern_ops);
		CREATE UNIQUE INDEX part ON k (e) WHERE a > 1; CREATE UNIQUE INDEX expr ON k (lower(b)); CREATE INDEX plain ON k (a);
		CREATE INDEX wide ON k (e, b) INCLUDE (c); CREATE INDEX hashed ON k USING hash (a);
		UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'broken'::regclass;
		CREATE TABLE f (a int REFERENCES patients ON UPDATE SET DEFAULT, b int REFERENCES visits ON DELETE CASCADE);
		ALTER TABLE f ADD CONSTRAINT unsure FOREIGN KEY (b) REFERENCES patients NOT VALID;
		ALTER TABLE f ADD CONSTRAINT idle FOREIGN KEY (b) REFERENCES patients;
		UPDATE pg_trigger SET tgenabled = 'D' WHERE tgconstraint = (SELECT oid FROM pg_constraint WHERE conname = 'idle')`)
	s, err := read(t, conn, name("k"), name("f"))
	if err != nil {
		t.Fatal(err)
	}
	sorted := []catalog.Index{
		{Name: "good", Columns: []string{"a", "b", "e"}},
		{Name: "k_d_key", Columns: []string{"d"}},
		{Name: "plain", Columns: []string{"a"}},
		{Name: "wide", Columns: []string{"e", "b", "c"}},
	}
	if diff := cmp.Diff(sorted, s.Tables[name("k")].Sorted); diff != "" {
		t.Errorf("sorted (-want +got):\n%s", diff)
	}
	want := []catalog.Key{{Name: "good", Columns: []string{"a", "b"}}}
	if diff := cmp.Diff(want, s.Tables[name("k")].Keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	c, _ := s.Tables[name("k")].Column("c")
	if c.Deterministic || c.Collation != name("loose") {
		t.Errorf("collation of c: %+v", c)
	}
	for _, f := range s.Tables[name("f")].Foreign {
		if f.Name == "unsure" || f.Name == "idle" {
			t.Errorf("foreign key %s is listed", f.Name)
		}
	}
	if fks := s.Tables[name("f")].Foreign; len(fks) != 2 || !fks[0].Forgets || fks[1].Forgets {
		t.Errorf("foreign keys: %+v", fks)
	}
}

func TestFingerprint(t *testing.T) {
	conn := clinic(t, start(t))
	run(t, conn, `CREATE VIEW v AS SELECT id FROM visits; CREATE ROLE reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader`)
	run(t, conn, belowViews)
	changes := []string{
		"ALTER TABLE visits DROP qty", "ALTER TABLE visits DROP qty; ALTER TABLE visits ADD qty int",
		"ALTER TABLE visits RENAME qty TO quantity",
		"ALTER TABLE visits ALTER qty TYPE bigint", "ALTER TABLE visits ALTER cost TYPE numeric(11,2)",
		"ALTER TABLE visits RENAME TO calls",
		"ALTER TABLE visits SET SCHEMA lab", "ALTER TABLE visits DROP CONSTRAINT visits_pkey CASCADE",
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'visits_pkey'::regclass",
		"ALTER TABLE visits ALTER patient_id DROP NOT NULL", "ALTER TABLE visits ENABLE ROW LEVEL SECURITY",
		"ALTER TABLE visits FORCE ROW LEVEL SECURITY",
		"CREATE POLICY p ON visits USING (id > 1)", "CREATE TABLE child () INHERITS (visits)",
		"ALTER TABLE visits DROP CONSTRAINT visits_patient_id_fkey",
		"ALTER TABLE visits DROP CONSTRAINT visits_patient_id_fkey, ADD CONSTRAINT visits_patient_id_fkey " +
			"FOREIGN KEY (patient_id) REFERENCES patients ON DELETE SET NULL",
		"ALTER TABLE visits DISABLE TRIGGER ALL", "ALTER TYPE sex_t ADD VALUE 'z'", "ALTER TYPE sex_t RENAME VALUE 'f' TO 'w'",
		"ALTER TABLE visits DROP CONSTRAINT visits_cost_check",
		"ALTER TABLE visits DROP CONSTRAINT visits_cost_check, ADD CONSTRAINT visits_cost_check CHECK (cost < 12346)",
		"ALTER TABLE visits DROP CONSTRAINT visits_cost_check, ADD CONSTRAINT visits_cost_check CHECK (cost < 12345) NOT VALID",
		"ALTER DOMAIN money_t DROP CONSTRAINT money_t_check",
		"ALTER DOMAIN money_t DROP CONSTRAINT money_t_check; ALTER DOMAIN money_t ADD CHECK (VALUE < 77778)",
		"ALTER DOMAIN money_t RENAME TO cash_t", "ALTER DOMAIN money_t SET NOT NULL",
		"CREATE OR REPLACE VIEW v AS SELECT id + 0 AS id FROM visits",
		"CREATE RULE r AS ON DELETE TO visits DO INSTEAD NOTHING", "ALTER TABLE sales DETACH PARTITION sales_2024",
		"CREATE TABLE sales_2025 PARTITION OF sales FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')",
		"ALTER TABLE visits ALTER day TYPE text COLLATE \"C\"",
		"ALTER TABLE sales ENABLE ROW LEVEL SECURITY; SET LOCAL ROLE reader",
		"CREATE OR REPLACE VIEW lowest AS SELECT id, code FROM below WHERE id > 3",
		"CREATE OR REPLACE VIEW lowest AS SELECT patient_id AS id, 'x' AS code FROM visits",
		"CREATE TABLE heir () INHERITS (below)", "ALTER TABLE below RENAME TO beneath", "ALTER TABLE below ENABLE ROW LEVEL SECURITY",
		"CREATE OR REPLACE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 3'",
		"ALTER FUNCTION twice(int) SET work_mem = '1MB'",
	}
	if since(t, conn, 14, `CREATE FUNCTION inner_most(int) RETURNS int LANGUAGE sql RETURN $1 + 1;
			CREATE OR REPLACE FUNCTION outer_most(int) RETURNS int LANGUAGE sql RETURN inner_most($1)`) {
		changes = append(changes, "CREATE OR REPLACE FUNCTION inner_most(int) RETURNS int LANGUAGE sql RETURN $1 + 2")
	}
	for _, change := range changes {
		before := digests(t, conn)
		run(t, conn, "BEGIN; "+change)
		after := narrowed(t, conn, before)
		if _, got := check(t, conn, before, nil); got != introspect.NotUnchanged {
			t.Errorf("%s: the check ended with %q", change, got)
		}
		run(t, conn, "ROLLBACK")
		if cmp.Equal(before, after) {
			t.Errorf("%s: the fingerprint stayed", change)
		}
	}
	before := digests(t, conn)
	run(t, conn, "VACUUM FULL visits")
	run(t, conn, "ALTER TABLE visits DROP CONSTRAINT visits_cost_check, ADD CONSTRAINT renamed CHECK (  cost < 12345), "+
		"ADD CHECK (qty >= 0)")
	run(t, conn, "ALTER DOMAIN money_t ADD CHECK (VALUE >= 0); ALTER DOMAIN fee_t ADD CHECK (VALUE >= 0) NOT VALID")
	run(t, conn, "CREATE INDEX ON visits (qty)")
	run(t, conn, "ALTER TABLE visits ADD x int DEFAULT 1, ADD u text, ADD CHECK (x > 0); CREATE UNIQUE INDEX ON visits (id, qty)")
	run(t, conn, "CREATE TABLE stranger (patient int REFERENCES patients, visit int REFERENCES visits)")
	run(t, conn, "REINDEX TABLE CONCURRENTLY visits")
	run(t, conn, `CREATE UNIQUE INDEX another ON patients (id); ALTER TABLE patients ADD UNIQUE USING INDEX another`)
	run(t, conn, `DELETE FROM lab.labs; DELETE FROM visits WHERE id > 100; ANALYZE; REINDEX TABLE visits; CLUSTER visits USING visits_pkey;
		COMMENT ON TABLE visits IS 'x'; GRANT SELECT ON visits TO reader; ALTER TABLE hospitals ADD y int; SET search_path = lab`)
	if diff := cmp.Diff(before, narrowed(t, conn, before)); diff != "" {
		t.Errorf("the fingerprint changed without reason:\n%s", diff)
	}
	if _, got := check(t, conn, before, nil); got != "" {
		t.Errorf("without a change the check ended with %q", got)
	}
}

// TestFingerprintOfEarlier holds that the fingerprint of a version that took no CHECK constraints down is compared as it was then, and
// that a catalogue read by it has none.
func TestFingerprintOfEarlier(t *testing.T) {
	conn := clinic(t, start(t))
	now, err := read(t, conn, name("visits"))
	if err != nil {
		t.Fatal(err)
	}
	was := *now.Tables[name("visits")]
	unchecked := introspect.Unchecked(was.Fingerprint)
	parts := strings.Split(was.Fingerprint, " ")
	if len(parts) != 4 || len(was.Checks) != 2 {
		t.Fatalf("fingerprint %q, checks %v", was.Fingerprint, was.Checks)
	}
	earlier := narrowed(t, conn, map[uint32]string{was.OID: parts[0] + " " + parts[1] + " " + parts[3]})
	was.Fingerprint, was.Checks, was.Columns = earlier[was.OID], nil, slices.Clone(was.Columns)
	for i := range was.Columns {
		was.Columns[i].Checks = nil
	}
	if was.Fingerprint != unchecked || introspect.Unchecked(unchecked) != unchecked || !introspect.Told(unchecked) {
		t.Fatalf("compared as earlier it is %q", was.Fingerprint)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	known := map[catalog.Name]*catalog.Table{was.Name: &was}
	again, err := introspect.Read(t.Context(), tx, introspect.Relations{Names: []catalog.Name{was.Name}, Known: known})
	if err != nil {
		t.Fatal(err)
	}
	has := again.Tables[was.Name]
	if fee, _ := has.Column("fee"); len(has.Checks) > 0 || len(fee.Checks) > 0 || has.Fingerprint != was.Fingerprint {
		t.Errorf("read by an earlier fingerprint there are %v, %v, and %q", has.Checks, fee.Checks, has.Fingerprint)
	}
}

// belowViews has views over views, over a table that nobody lists, and over functions that call others.
const belowViews = `CREATE TABLE below (id int, code text);
CREATE FUNCTION outer_most(int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 2';
CREATE FUNCTION twice(int) RETURNS int LANGUAGE sql AS 'SELECT $1 * 2';
CREATE OPERATOR ### (FUNCTION = twice, RIGHTARG = int);
CREATE VIEW lowest AS SELECT id, code FROM below WHERE id > 4 AND code LIKE 'a%';
CREATE VIEW middle AS SELECT ### id AS id, outer_most(id) AS later, code FROM lowest;
CREATE MATERIALIZED VIEW top AS SELECT id, code FROM middle`

// TestFingerprintPutBack holds that a view that is put back as it was, by its own text or that of pg_dump, is as it was, and that
// all views over it are.
func TestFingerprintPutBack(t *testing.T) {
	conn := clinic(t, start(t))
	run(t, conn, belowViews)
	before := digests(t, conn)
	for view, text := range map[string]string{
		"lowest": "SELECT id,\n\tcode\nFROM below WHERE id > 4 AND code LIKE 'a%'",
		"middle": "SELECT ###  id AS id,  outer_most(id) later, code FROM lowest",
	} {
		dumped := value(t, conn, "SELECT pg_get_viewdef('"+view+"'::regclass)")
		for _, back := range []string{dumped, text} {
			other := strings.Replace(text, "code", "code || 'x' AS code", 1)
			run(t, conn, "CREATE OR REPLACE VIEW "+view+" AS "+other)
			if cmp.Equal(before, digests(t, conn)) {
				t.Errorf("%s: another query changed nothing", view)
			}
			run(t, conn, "CREATE OR REPLACE VIEW "+view+" AS "+back)
			if diff := cmp.Diff(before, digests(t, conn)); diff != "" {
				t.Errorf("%s put back as %s:\n%s", view, back, diff)
			}
		}
	}
}

// check runs the check of a schema with a mark. It returns the new mark, or the SQLSTATE
// of the error.
func check(t *testing.T, conn *pgx.Conn, digests map[uint32]string, mark []byte) (next []byte, state string) {
	t.Helper()
	r := conn.PgConn().ExecParams(t.Context(), introspect.Unchanged(digests), [][]byte{mark}, nil, nil, nil).Read()
	if refused, ok := errors.AsType[*pgconn.PgError](r.Err); ok {
		return nil, refused.Code
	}
	if r.Err != nil || len(r.Rows) != 1 || string(r.Rows[0][0]) != "0" {
		t.Fatalf("the check returned %q, %v", r.Rows, r.Err)
	}
	return r.Rows[0][1], ""
}

// TestMark looks at the schema again whenever another transaction has ended, and only
// then: also when it was in progress at the look before, or is older than another
// that ended meanwhile.
func TestMark(t *testing.T) {
	s := start(t)
	conn := clinic(t, s)
	other, third := connect(t, s.URL("clinic", pgtemp.Superuser)), connect(t, s.URL("clinic", pgtemp.Superuser))
	have := digests(t, conn)
	mark, _ := check(t, conn, have, nil)
	if len(mark) == 0 {
		t.Fatal("there is no mark")
	}
	stale := maps.Clone(have)
	for oid := range stale {
		stale[oid] += "0"
	}
	if again, state := check(t, conn, stale, mark); state != "" || string(again) != string(mark) {
		t.Errorf("where nothing happened it was looked again: %s, %q", state, again)
	}
	if _, state := check(t, conn, stale, []byte("another")); state != introspect.NotUnchanged {
		t.Errorf("another mark was taken for the same: %q", state)
	}
	run(t, other, "BEGIN; ALTER TABLE visits DROP qty")
	run(t, third, "CREATE TABLE elsewhere ()") // ends behind the one in progress
	before, state := check(t, conn, have, mark)
	if state != "" || string(before) == string(mark) {
		t.Fatalf("a transaction elsewhere left the mark: %s", state)
	}
	run(t, other, "COMMIT")
	if _, state := check(t, conn, have, before); state != introspect.NotUnchanged {
		t.Errorf("a change in progress at the look before was missed: %q", state)
	}
}

// digests are those of all relations that Read saw first; Read gives the same.
func digests(t *testing.T, conn *pgx.Conn) map[uint32]string {
	t.Helper()
	whole := map[uint32]string{}
	for _, oid := range tableOIDs(t, conn) {
		whole[oid] = ""
	}
	return narrowed(t, conn, whole)
}

// narrowed are the digests of relations as far as those of before tell.
func narrowed(t *testing.T, conn *pgx.Conn, before map[uint32]string) map[uint32]string {
	t.Helper()
	rows, err := conn.Query(t.Context(), introspect.FingerprintOf(before))
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint32]string{}
	var oid uint32
	var digest string
	_, err = pgx.ForEachRow(rows, []any{&oid, &digest}, func() error { found[oid] = digest; return nil })
	if err != nil || len(found) == 0 {
		t.Fatalf("%d digests, %v", len(found), err)
	}
	return found
}

func tableOIDs(t testing.TB, conn *pgx.Conn) []uint32 {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT oid FROM pg_class
		WHERE relname IN ('visits', 'calls', 'patients', 'sales', 'v', 'middle', 'top') AND relkind IN ('r', 'p', 'v', 'm')`)
	if err != nil {
		t.Fatal(err)
	}
	oids, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		t.Fatal(err)
	}
	return oids
}

func TestReadFingerprintIsFingerprintOf(t *testing.T) {
	conn := clinic(t, start(t))
	s, err := read(t, conn, name("visits"))
	if err != nil {
		t.Fatal(err)
	}
	v := s.Tables[name("visits")]
	if got := digests(t, conn)[v.OID]; got != v.Fingerprint {
		t.Errorf("Read gives %s, FingerprintOf %s", v.Fingerprint, got)
	}
}

// TestReadKnown leaves out what came since a relation was confirmed, and gives it the fingerprint that it had.
func TestReadKnown(t *testing.T) {
	conn := clinic(t, start(t))
	was, err := read(t, conn, name("visits"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, `ALTER TABLE visits ADD x int UNIQUE, ADD y int REFERENCES patients; CREATE UNIQUE INDEX more ON visits (id, qty);
		CREATE INDEX aside ON visits (x, id); ALTER TABLE visits ADD CHECK (qty >= 0), ADD CHECK (x > 0);
		ALTER DOMAIN money_t ADD CHECK (VALUE >= 0)`)
	tx, err := conn.BeginTx(t.Context(), introspect.Snapshot)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	s, err := introspect.Read(t.Context(), tx, introspect.Relations{Names: []catalog.Name{name("visits")}, Known: was.Tables})
	if err != nil {
		t.Fatal(err)
	}
	v, w := s.Tables[name("visits")], was.Tables[name("visits")]
	if len(v.Foreign) != len(w.Foreign)+1 || v.Fingerprint == w.Fingerprint {
		t.Error("a foreign key more is not seen")
	}
	if diff := cmp.Diff(w.Columns, v.Columns); diff != "" {
		t.Errorf("columns:\n%s", diff)
	}
	if diff := cmp.Diff(w.Keys, v.Keys); diff != "" {
		t.Errorf("keys:\n%s", diff)
	}
	if diff := cmp.Diff(w.Checks, v.Checks); diff != "" {
		t.Errorf("CHECK constraints:\n%s", diff)
	}
	if len(v.Sorted) != len(w.Sorted)+1 {
		t.Errorf("indexes: %v", v.Sorted)
	}
}
