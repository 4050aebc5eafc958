package advice_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"dpproxy/advice"
	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
)

func name(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }

const schema = `
CREATE TYPE ward AS ENUM ('a', 'b');
CREATE TABLE patients (id int, age int, note text);
CREATE TABLE keyed (id int PRIMARY KEY, age int);
CREATE TABLE visits (id int PRIMARY KEY, patient_id int, "when" date, cost numeric, ward ward, note text,
	code varchar(20), long varchar(500));
CREATE TABLE labs (id int PRIMARY KEY, visit_id int, value float8) WITH (autovacuum_enabled = off, parallel_workers = 0);
CREATE TABLE parts (lab_id int, n int);
CREATE TABLE sales (uid int, day date, amount int) PARTITION BY RANGE (day);
CREATE TABLE sales_2024 PARTITION OF sales FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
CREATE INDEX ON visits (patient_id); CREATE INDEX ON visits (patient_id, "when", cost, ward, code) WHERE id > 3;
CREATE INDEX ON visits USING hash (patient_id)`

var tables = []advice.Table{
	{Name: name("patients"), Unit: "id", OneRow: true, Used: []string{"age"}},
	{Name: name("keyed"), Unit: "id", Used: []string{"age"}},
	{Name: name("visits"), Unit: "patient_id", Used: []string{"when", "cost", "ward", "note", "code", "long"}},
	{Name: name("labs"), Via: "visit_id", To: name("visits"), Key: "id", Used: []string{"value"}},
	{Name: name("parts"), Via: "lab_id", To: name("labs"), Key: "id"},
	{Name: name("sales"), Unit: "uid", OneRow: true, Used: []string{"amount"}},
	{Name: name("nowhere"), Unit: "id"},
}

func read(t *testing.T, conn *pgx.Conn) []advice.Step {
	t.Helper()
	var names []catalog.Name
	for _, table := range tables {
		names = append(names, table.Name)
	}
	relations, err := advice.Read(t.Context(), conn, names)
	if err != nil {
		t.Fatal(err)
	}
	return advice.Steps(tables, relations)
}

// TestSteps gives advice, follows it, and asks again.
func TestSteps(t *testing.T) {
	server, err := pgtemp.Start(t.Context(), pgtemp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres", pgtemp.Superuser))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	exec(schema)
	want := `
ALTER TABLE public.patients ALTER COLUMN id SET NOT NULL
CREATE UNIQUE INDEX ON public.patients (id)
ALTER TABLE public.patients SET (autovacuum_vacuum_insert_scale_factor = 0.02)
ALTER TABLE public.keyed SET (autovacuum_vacuum_insert_scale_factor = 0.02)
CREATE INDEX ON public.visits (patient_id) INCLUDE ("when", cost, ward, code)
ALTER TABLE public.visits SET (autovacuum_vacuum_insert_scale_factor = 0.02)
CREATE INDEX ON public.labs (visit_id) INCLUDE (value)
CREATE INDEX ON public.visits (id) INCLUDE (patient_id)
ALTER TABLE public.labs SET (autovacuum_vacuum_insert_scale_factor = 0.02)
ALTER TABLE public.labs RESET (autovacuum_enabled)
ALTER TABLE public.labs RESET (parallel_workers)
CREATE INDEX ON public.parts (lab_id)
CREATE INDEX ON public.labs (id) INCLUDE (visit_id)
ALTER TABLE public.parts SET (autovacuum_vacuum_insert_scale_factor = 0.02)
CREATE INDEX ON public.sales (uid) INCLUDE (amount)
ALTER TABLE public.sales_2024 SET (autovacuum_vacuum_insert_scale_factor = 0.02)`
	got := ""
	steps := read(t, conn)
	for _, s := range steps {
		if s.Reason == "" || !strings.Contains(s.SQL, s.Table) {
			t.Errorf("%+v", s)
		}
		got += "\n" + s.SQL
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// Rows and statistics change nothing.
	exec("INSERT INTO visits SELECT g, g FROM generate_series(1, 1000) g; INSERT INTO sales VALUES (1, '2024-05-05', 1); ANALYZE")
	if d := cmp.Diff(steps, read(t, conn)); d != "" {
		t.Errorf("advice depends on rows:\n%s", d)
	}
	for _, s := range steps {
		exec(s.SQL)
	}
	if again := read(t, conn); len(again) > 0 {
		t.Errorf("after all steps there are more: %+v", again)
	}
}
