package clients_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// shopPolicy protects the shop of testdata/shop.sql.
const shopPolicy = `
privacy_unit: {name: customer, budget: {epsilon: 1}}
tables:
  customers:
    unit: id
    columns: {name: hidden, age: {bounds: [0, 110]}, mood: {values: enum}}
  orders:
    unit: customer_id
    max_rows: 5
    max_partitions: 2
    columns: {status: {values: enum}, amount: {bounds: [0, 1000]}}
  "Sçhéma two.Größen": {unit: customer_id, max_rows: 1, max_partitions: 1}
  v_orders: {view: true}
  regions: {public: true}
analysts:
  ana: {password: "VERIFIER", tables: [customers, orders, "Sçhéma two.Größen", v_orders]}
`

// TestIntrospection asks the questions by which clients learn the schema, literally,
// of the real database and through dpproxy. The golden files hold the columns and the
// number of rows, and each row that only one of them has: rows that the mirror leaves
// out on purpose, and rows of dpproxy's own.
func TestIntrospection(t *testing.T) {
	schema, err := os.ReadFile("testdata/shop.sql")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t, sitetest.Options{Database: "shop", Schema: string(schema), Policy: shopPolicy}, "")
	direct := newServer(t, "real", s.Data.URL("shop", "ana"), s.Data.URL("shop", pgtemp.Superuser))
	through := newServer(t, "dpproxy", s.URL("ana"), s.Mirror.URL("shop", pgtemp.Superuser))
	datadriven.Walk(t, filepath.Join("testdata", "introspection"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return compare(t, d.Input, direct.ask(t, d.Input), through.ask(t, d.Input))
		})
	})
	for _, of := range []string{"--schema-only", "--table=regions"} {
		dump, err := exec.CommandContext(t.Context(), "pg_dump", of, s.URL("ana")).CombinedOutput()
		if err != nil || !strings.Contains(string(dump), "CREATE TABLE public.regions") {
			t.Errorf("pg_dump %s: %v\n%s", of, err, dump)
		}
	}
}

// A server answers as one of two that are compared.
type server struct {
	conn  *pgx.Conn
	names map[string]string // of OIDs that users' objects have
}

// newServer connects as the analyst, and reads the OIDs as the superuser.
func newServer(t *testing.T, name, url, superuser string) *server {
	t.Helper()
	s := &server{conn: sitetest.Dial(t, url), names: map[string]string{}}
	rows, err := sitetest.Dial(t, superuser).Query(t.Context(), `
		SELECT oid, 'class ' || oid::regclass::text FROM pg_class WHERE oid >= 16384
		UNION ALL SELECT oid, 'type ' || oid::regtype::text FROM pg_type WHERE oid >= 16384
		UNION ALL SELECT oid, 'constraint ' || conname FROM pg_constraint WHERE oid >= 16384
		UNION ALL SELECT oid, 'function ' || proname FROM pg_proc WHERE oid >= 16384
		UNION ALL SELECT oid, 'schema ' || nspname FROM pg_namespace WHERE oid >= 16384
		UNION ALL SELECT oid, 'database ' || datname FROM pg_database WHERE oid >= 16384
		UNION ALL SELECT oid, 'role ' || rolname FROM pg_roles WHERE oid >= 16384
		UNION ALL SELECT oid, 'large object' FROM pg_largeobject_metadata`)
	if err != nil {
		t.Fatal(err)
	}
	var oid uint32
	var text string
	_, err = pgx.ForEachRow(rows, []any{&oid, &text}, func() error {
		s.names[strconv.FormatUint(uint64(oid), 10)] = text
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// An answer is a list of columns and of rows, or an error.
type answer struct {
	columns string
	rows    []string
	err     string
}

// ask sends a query as a client does; {name} in it stands for the OID of the relation
// or type.
func (s *server) ask(t *testing.T, sql string) answer {
	t.Helper()
	sql = placeholder.ReplaceAllStringFunc(sql, func(name string) string {
		for _, kind := range []string{"class ", "type "} {
			for oid, n := range s.names {
				if n == kind+name[1:len(name)-1] {
					return oid
				}
			}
		}
		return name
	})
	results := s.conn.PgConn().Exec(t.Context(), sql)
	var last pgconn.Result
	for results.NextResult() {
		reader := results.ResultReader()
		fields := slices.Clone(reader.FieldDescriptions()) // a result without rows has none
		last = *reader.Read()
		last.FieldDescriptions = fields
	}
	if err := results.Close(); err != nil {
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok {
			t.Fatal(err)
		}
		return answer{err: fmt.Sprintf("%s %s", refused.Code, refused.Message)}
	}
	return s.read(&last)
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

var (
	// madeName is a name that Postgres makes up from an OID.
	madeName = regexp.MustCompile(`_[0-9]{5}(_index)?$`)
	// databaseSize depends on the locales that the machine has: each is a row.
	databaseSize = regexp.MustCompile(`^([0-9]{4,5} kB|[0-9]{2} MB)$`)
)

// read makes the OIDs of users' objects comparable.
func (s *server) read(result *pgconn.Result) answer {
	var a answer
	var columns []string
	for _, f := range result.FieldDescriptions {
		kind := strconv.FormatUint(uint64(f.DataTypeOID), 10)
		if name := s.names[kind]; name != "" {
			kind = name
		}
		columns = append(columns, f.Name+" "+kind)
	}
	a.columns = strings.Join(columns, ", ")
	for _, row := range result.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = s.cell(result.FieldDescriptions[i], value)
		}
		a.rows = append(a.rows, strings.Join(cells, " | "))
	}
	return a
}

func (s *server) cell(f pgconn.FieldDescription, value []byte) string {
	text := string(value)
	switch {
	case value == nil:
		return "∅"
	case f.DataTypeOID == pgtype.OIDOID && s.names[text] != "":
		return s.names[text]
	case databaseSize.MatchString(text):
		return "some MB"
	}
	return strings.ReplaceAll(madeName.ReplaceAllString(text, "_OID$1"), "\n", "\\n")
}

// manyRows are of Postgres's own objects: their number is its version's, and their
// order says nothing.
const manyRows = 100

// compare describes an answer and how the other differs. The order of rows is
// compared where the query asks for one.
func compare(t *testing.T, sql string, direct, through answer) string {
	t.Helper()
	if direct.err != "" || through.err != "" {
		return fmt.Sprintf("real:    %s\ndpproxy: %s\n", direct.err, through.err)
	}
	var out strings.Builder
	count := strconv.Itoa(len(direct.rows))
	if len(direct.rows) > manyRows {
		count = "more than 100"
	}
	fmt.Fprintf(&out, "%s\n%s rows\n", direct.columns, count)
	if direct.columns != through.columns {
		fmt.Fprintf(&out, "COLUMNS DIFFER: %s\n", through.columns)
	}
	only := func(sign string, a, b []string) {
		left := slices.Clone(b)
		var missing []string
		for _, row := range a {
			if i := slices.Index(left, row); i >= 0 {
				left = slices.Delete(left, i, i+1)
				continue
			}
			missing = append(missing, fmt.Sprintf("%s %s\n", sign, row))
		}
		slices.Sort(missing) // without an order, Postgres's is that of OIDs
		out.WriteString(strings.Join(missing, ""))
	}
	only("-", direct.rows, through.rows)
	only("+", through.rows, direct.rows)
	if strings.Contains(strings.ToLower(sql), "order by") && len(direct.rows) <= manyRows && !sameOrder(direct.rows, through.rows) {
		out.WriteString("ORDER DIFFERS\n")
	}
	return out.String()
}

// sameOrder compares the order of the rows that both have.
func sameOrder(a, b []string) bool {
	common := func(rows, other []string) []string {
		var both []string
		for _, r := range rows {
			if slices.Contains(other, r) {
				both = append(both, r)
			}
		}
		return both
	}
	return slices.Equal(common(a, b), common(b, a))
}
