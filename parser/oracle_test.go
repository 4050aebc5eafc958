package parser_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/parser/parsertest"
)

// An oracle holds two databases with the schema of the clinic: one with its
// rows, and a mirror whose protected tables are empty and raise when they are planned.
type oracle struct {
	direct *pgx.Conn // runs the client's statements on the rows
	cores  *pgx.Conn // computes the relations of blocks on the rows
	mirror *pgx.Conn // runs the spliced statements, as an analyst
}

// backstop is the row security of a mirror.
const backstop = `
TRUNCATE visits, patients;
CREATE SCHEMA dp;
CREATE FUNCTION dp.protected(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS
  $$ BEGIN RAISE EXCEPTION 'protected relation %', $1 USING ERRCODE = 'PB010'; END $$;
ALTER TABLE visits ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY dp ON visits FOR SELECT USING (dp.protected('visits'));
ALTER TABLE patients ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY dp ON patients FOR SELECT USING (dp.protected('patients'));
ALTER VIEW dear_visits SET (security_invoker);
ALTER VIEW dearest SET (security_invoker);
ALTER VIEW by_region SET (security_invoker);
CREATE ROLE ana LOGIN;
GRANT SELECT ON ALL TABLES IN SCHEMA public TO ana;
GRANT USAGE ON SCHEMA dp TO ana`

func startOracle(t *testing.T) *oracle {
	t.Helper()
	server, err := pgtemp.Start(t.Context(), pgtemp.Options{Mirror: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	connect := func(database, role string) *pgx.Conn {
		c, err := pgx.Connect(t.Context(), server.URL(database, role))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	execute := func(c *pgx.Conn, sql string) {
		if _, err := c.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	fixture, err := os.ReadFile("testdata/clinic.sql")
	if err != nil {
		t.Fatal(err)
	}
	admin := connect("postgres", pgtemp.Superuser)
	execute(admin, "CREATE DATABASE clinic")
	setup := connect("clinic", pgtemp.Superuser)
	execute(setup, string(fixture))
	_ = setup.Close(t.Context())
	execute(admin, "CREATE DATABASE mirror TEMPLATE clinic")
	execute(connect("mirror", pgtemp.Superuser), backstop)
	return &oracle{
		direct: connect("clinic", pgtemp.Superuser),
		cores:  connect("clinic", pgtemp.Superuser),
		mirror: connect("mirror", "ana"),
	}
}

// An answer is what a client sees of one statement.
type answer struct {
	Columns []string // name, type, type modifier
	Rows    []string
	Tag     string
	Code    string // of an error
}

func ask(t *testing.T, c *pgx.Conn, sql string) answer {
	t.Helper()
	var out answer
	if strings.HasPrefix(strings.TrimSpace(strings.ToUpper(sql)), "COPY") {
		var b strings.Builder
		tag, err := c.PgConn().CopyTo(t.Context(), &b, sql)
		return answer{Rows: []string{b.String()}, Tag: tag.String(), Code: code(err)}
	}
	results := c.PgConn().Exec(t.Context(), sql)
	for results.NextResult() {
		r := results.ResultReader()
		for _, f := range r.FieldDescriptions() {
			out.Columns = append(out.Columns, fmt.Sprintf("%s %d %d", f.Name, f.DataTypeOID, f.TypeModifier))
		}
		for r.NextRow() {
			var cells []string
			for _, v := range r.Values() {
				cell := "NULL"
				if v != nil {
					cell = fmt.Sprintf("%q", v)
				}
				cells = append(cells, cell)
			}
			out.Rows = append(out.Rows, strings.Join(cells, "|"))
		}
		tag, _ := r.Close()
		out.Tag = tag.String()
	}
	out.Code = code(results.Close())
	return out
}

func code(err error) string {
	var e *pgconn.PgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Code + " " + e.Message
	}
	return err.Error()
}

// relation computes the relation of a block from the rows and writes it as typed constants.
func (o *oracle) relation(t *testing.T, core string) string {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("%v\nin %s", err, core)
		}
	}
	_, err := o.cores.Exec(t.Context(), "DROP TABLE IF EXISTS pg_temp.core; CREATE TEMP TABLE core AS "+core,
		pgx.QueryExecModeSimpleProtocol)
	must(err)
	rows, err := o.cores.Query(t.Context(), `
		SELECT attname::text, format_type(atttypid, atttypmod), attcollation <> 100 AND attcollation <> 0,
		coalesce((SELECT quote_ident(collname) FROM pg_collation c WHERE c.oid = attcollation), '')
		FROM pg_attribute WHERE attrelid = 'pg_temp.core'::regclass AND attnum > 0 ORDER BY attnum`, pgx.QueryExecModeExec)
	must(err)
	type attribute struct {
		name, typ string
		collated  bool
		collation string
	}
	var columns []attribute
	for rows.Next() {
		var a attribute
		must(rows.Scan(&a.name, &a.typ, &a.collated, &a.collation))
		columns = append(columns, a)
	}
	must(rows.Err())
	var targets, arrays, names []string
	for _, a := range columns {
		var values string
		must(o.cores.QueryRow(t.Context(), "SELECT coalesce(array_agg("+a.name+"::text), '{}')::text FROM core", pgx.QueryExecModeExec).
			Scan(&values))
		target := "u." + a.name + "::" + a.typ
		if a.collated {
			target += " COLLATE " + a.collation
		}
		targets = append(targets, target+" AS "+a.name)
		arrays = append(arrays, "pg_catalog.unnest("+ast.Quote(values)+"::text[])")
		names = append(names, a.name)
	}
	return "(SELECT " + strings.Join(targets, ", ") + " FROM ROWS FROM (" + strings.Join(arrays, ", ") + ") AS u(" +
		strings.Join(names, ", ") + "))"
}

// compare runs a script on the rows and, spliced, on the mirror. It returns
// whether the mirror's row security stopped it.
func (o *oracle) compare(t *testing.T, sql string) (stopped bool) {
	t.Helper()
	script, err := parser.Parse(sql, parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	cores, err := parser.Cores(sql, parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, o.direct, "BEGIN")
	ask(t, o.mirror, "BEGIN")
	defer ask(t, o.direct, "ROLLBACK")
	defer ask(t, o.mirror, "ROLLBACK")
	for i, s := range script.Statements {
		text := s.Text
		if s.Class == parser.Release {
			text = s.Splice(func(block int) string { return o.relation(t, cores[i][block]) })
		} else if s.Class != parser.Relay && s.Class != parser.Execution {
			t.Fatalf("%s: class %s %v", s.Text, classes[s.Class], s.Refusal)
		}
		want, got := ask(t, o.direct, s.Text), ask(t, o.mirror, text)
		if strings.HasPrefix(got.Code, "PB010") && s.Class != parser.Release {
			return true
		}
		if want.Code != "" {
			t.Fatalf("the oracle fails: %s\n%s", want.Code, s.Text)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\nspliced: %s\n%s", s.Text, text, diff)
		}
	}
	return false
}

// corpus reads the statements of the oracle test with their marks.
func corpus(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "mirror.\n")
	var out []string
	for _, s := range regexp.MustCompile(`(?m)^===$`).Split(body, -1) {
		out = append(out, strings.Trim(s, "\n"))
	}
	return out
}

// TestViewTexts: the views of the catalogue of these tests are those of the fixture.
func TestViewTexts(t *testing.T) {
	o := startOracle(t)
	ask(t, o.direct, "SET search_path = ''")
	for _, r := range parsertest.Clinic {
		if r.View == "" {
			continue
		}
		got := ask(t, o.direct, "SELECT pg_get_viewdef('public."+r.Name+"'::regclass)")
		if want := []string{fmt.Sprintf("%q", r.View)}; !cmp.Equal(got.Rows, want) {
			t.Errorf("%s: %s", r.Name, cmp.Diff(want, got.Rows))
		}
	}
}

// TestOracle: each statement answers the same on the rows as its spliced text
// does on the mirror, in names, types, rows, order and tag.
func TestOracle(t *testing.T) {
	o := startOracle(t)
	for _, s := range corpus(t) {
		mark, sql, marked := strings.Cut(s, "\n")
		switch {
		case marked && mark == "--REFUSE":
			script, err := parser.Parse(sql, parsertest.Clinic)
			if err != nil || script.Statements[0].Class != parser.Refused {
				t.Errorf("not refused: %s", sql)
			}
		case marked && mark == "--LET":
			script, err := parser.Parse(sql, parsertest.Clinic)
			if err != nil || script.Statements[0].Let == nil {
				t.Errorf("uses no result: %s", sql)
			}
		case marked && mark == "--BACKSTOP":
			if !o.compare(t, sql) {
				t.Errorf("not stopped: %s", sql)
			}
		case o.compare(t, s):
			t.Errorf("stopped by the mirror: %s", s)
		}
	}
}

// Variants in all, and the share of them that is executed.
const (
	variants      = 4200
	executedShare = 50
)

// TestVariants writes each statement with other white space, comments that
// look like SQL, and glued tokens: each must splice with a successful proof.
func TestVariants(t *testing.T) {
	o := startOracle(t)
	random := rand.New(rand.NewPCG(1, 2))
	var statements []string
	for _, s := range corpus(t) {
		if !strings.HasPrefix(s, "--REFUSE") && !strings.HasPrefix(s, "--LET") && !strings.HasPrefix(s, "--BACKSTOP") {
			statements = append(statements, s)
		}
	}
	for n := range variants {
		original := statements[n%len(statements)]
		variant := vary(t, random, original)
		same(t, original, variant)
		if n%executedShare == 0 && o.compare(t, variant) {
			t.Errorf("stopped by the mirror: %s", variant)
		}
	}
}

// same reports a variant whose statements differ in class or number of blocks.
func same(t *testing.T, original, variant string) {
	t.Helper()
	want, err := parser.Parse(original, parsertest.Clinic)
	if err != nil {
		t.Fatal(err)
	}
	got, err := parser.Parse(variant, parsertest.Clinic)
	if err != nil || len(got.Statements) != len(want.Statements) {
		t.Fatalf("%v\n%s", err, variant)
	}
	for i, s := range got.Statements {
		if s.Class != want.Statements[i].Class || len(s.Blocks) != len(want.Statements[i].Blocks) {
			t.Errorf("class %s, %d blocks, %v:\n%s", classes[s.Class], len(s.Blocks), s.Refusal, s.Text)
		}
	}
}

var fillers = []string{
	" ", "\n", "\t ", " /* SELECT ( */ ", " /* ) FROM ' \" */", "\n--)' FROM\n", " /* /* $$ */ ; */ ",
	" -- \" HAVING count(*\n",
}

// vary replaces the space between tokens, and drops it beside brackets and commas.
func vary(t *testing.T, random *rand.Rand, sql string) string {
	t.Helper()
	spans, err := parser.Tokens(sql)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, s := range spans {
		if i > 0 {
			gap := sql[spans[i-1].End:s.Start]
			loose := strings.ContainsRune("(),;[]", rune(sql[s.Start])) || strings.ContainsRune("(),;[]", rune(sql[spans[i-1].End-1]))
			switch {
			case random.IntN(4) == 0:
				gap = fillers[random.IntN(len(fillers))]
			case loose && random.IntN(2) == 0:
				gap = ""
			}
			b.WriteString(gap)
		}
		b.WriteString(sql[s.Start:s.End])
	}
	return b.String()
}
