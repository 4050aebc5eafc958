package scalar_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// The fixture is one table t with a column of every type, and rows that are made to
// break expressions over them.

// field is a column of t with what the policy says of it.
type field struct {
	name, sqlType string
	oid           uint32
	mod           int32
	low, high     string // bounds, or empty
	notNull       bool
}

var fields = []field{
	{name: "u", sqlType: "int4", oid: 23, mod: -1, notNull: true},
	{name: "i2", sqlType: "int2", oid: 21, mod: -1, low: "-100", high: "100"},
	{name: "i4", sqlType: "int4", oid: 23, mod: -1, low: "-1000000", high: "1000000"},
	{name: "nn", sqlType: "int4", oid: 23, mod: -1, low: "1", high: "10", notNull: true},
	{name: "i8", sqlType: "int8", oid: 20, mod: -1, low: "-9223372036854775808", high: "9223372036854775807"},
	{name: "iu", sqlType: "int4", oid: 23, mod: -1},
	{name: "num", sqlType: "numeric(12,2)", oid: 1700, mod: (12<<16 | 2) + 4, low: "-1000.5", high: "99999.99"},
	{name: "nf", sqlType: "numeric", oid: 1700, mod: -1, low: "-1000000", high: "1000000"},
	{name: "nu", sqlType: "numeric", oid: 1700, mod: -1},
	{name: "f4", sqlType: "float4", oid: 700, mod: -1, low: "-1000", high: "1000"},
	{name: "f8", sqlType: "float8", oid: 701, mod: -1, low: "-1000000", high: "1000000"},
	{name: "fw", sqlType: "float8", oid: 701, mod: -1, low: "0", high: "1e200"},
	{name: "fu", sqlType: "float8", oid: 701, mod: -1},
	{name: "b", sqlType: "bool", oid: 16, mod: -1},
	{name: "d", sqlType: "date", oid: 1082, mod: -1, low: "2020-01-01", high: "2024-12-31"},
	{name: "du", sqlType: "date", oid: 1082, mod: -1},
	{name: "ts", sqlType: "timestamp", oid: 1114, mod: -1, low: "2020-01-01", high: "2024-12-31 23:59:59.5"},
	{name: "tz", sqlType: "timestamptz", oid: 1184, mod: -1, low: "2020-01-01 00:00:00Z", high: "2024-12-31 12:00:00+02:00"},
	{name: "tm", sqlType: "time", oid: 1083, mod: -1},
	{name: "iv", sqlType: "interval", oid: 1186, mod: -1},
	{name: "s", sqlType: "text", oid: 25, mod: -1},
	{name: "v", sqlType: "varchar(10)", oid: 1043, mod: 14},
	{name: "c", sqlType: "char(5)", oid: 1042, mod: 9},
	{name: "cc", sqlType: `text COLLATE "POSIX"`, oid: 25, mod: -1},
	{name: "nd", sqlType: "text COLLATE nocase", oid: 25, mod: -1},
	{name: "e", sqlType: "mood", oid: 0, mod: -1},
	{name: "id", sqlType: "uuid", oid: 2950, mod: -1},
	{name: "j", sqlType: "jsonb", oid: 3802, mod: -1},
	{name: "xi", sqlType: "int4[]", oid: 1007, mod: -1},
	{name: "xs", sqlType: "text[]", oid: 1009, mod: -1},
	{name: "xv", sqlType: "varchar(10)[]", oid: 1015, mod: 14},
	{name: "xn", sqlType: "numeric(12,2)[]", oid: 1231, mod: (12<<16 | 2) + 4},
	{name: "xb", sqlType: "bool[]", oid: 1000, mod: -1},
	{name: "xd", sqlType: "date[]", oid: 1182, mod: -1},
	{name: "xz", sqlType: "timestamptz[]", oid: 1185, mod: -1},
}

// documents are the fields of the column j, by their keys.
var documents = []field{
	{name: "s", oid: 25},
	{name: "b", oid: 16},
	{name: "i2", oid: 21, low: "-100", high: "100"},
	{name: "i4", oid: 23, low: "0", high: "1000"},
	{name: "i8", oid: 20},
	{name: "n", oid: 1700, low: "-1000000", high: "1000000"},
	{name: "nu", oid: 1700},
	{name: "f", oid: 701, low: "-1000000", high: "1e100"},
	{name: "d", oid: 1082, low: "2020-01-01", high: "2024-12-31"},
	{name: "ts", oid: 1114, low: "2020-01-01", high: "2024-12-31 23:59:59.5"},
	{name: "tz", oid: 1184, low: "2020-01-01 00:00:00Z", high: "2024-12-31 12:00:00+02:00"},
	{name: "a.b", oid: 23, low: "0", high: "1000"},
	{name: `a."b.c"`, oid: 25},
}

// columns returns the columns of t as a resolver sees them.
func columns() map[string]*scalar.Column {
	all := map[string]*scalar.Column{}
	for _, f := range fields {
		t := pgtype.Type{OID: f.oid, Mod: f.mod, Deterministic: f.name != "nd"}
		switch f.name {
		case "j":
			t.Display = "jsonb"
		case "e":
			t.Enum = catalog.Name{Schema: "public", Name: "mood"}
		case "cc":
			t.Collation = catalog.Name{Schema: "pg_catalog", Name: "POSIX"}
		case "nd":
			t.Collation = catalog.Name{Schema: "public", Name: "nocase"}
		}
		c := &scalar.Column{Name: f.name, Type: t, NotNull: f.notNull, SQL: "t0." + ast.QuoteIdent(f.name)}
		if strings.HasSuffix(f.sqlType, "[]") {
			c.Type = pgtype.OfColumn(catalog.TypeRef{OID: f.oid, Mod: f.mod, Kind: 'b', Display: f.sqlType}, catalog.Name{}, true)
		}
		if f.name == "s" || c.Type.Array {
			c.Reach = scalar.ReachOf(c.Type, false)
		}
		c.Bounds = f.bounds()
		all[f.name] = c
	}
	for _, f := range documents {
		keys, _ := ast.KeysOf(f.name)
		c := scalar.NewField(all["j"], keys, pgtype.Of(f.oid))
		c.Bounds = f.bounds()
		all["j"].Fields = append(all["j"].Fields, c)
	}
	return all
}

// bounds are those of a field, nil if it has none.
func (f field) bounds() *scalar.Bounds {
	if f.low == "" {
		return nil
	}
	b := &scalar.Bounds{LowText: f.low, HighText: f.high}
	low, okLow := new(big.Rat).SetString(f.low)
	high, okHigh := new(big.Rat).SetString(f.high)
	if okLow && okHigh {
		b.Low, b.High = low, high
	}
	return b
}

// relations is the catalogue of the parser.
type relations struct{ ast.Strangers }

// Grouped implements [ast.Bonds]: u names the unit.
func (relations) Grouped(by []ast.Origin) ast.Bond {
	if slices.ContainsFunc(by, func(o ast.Origin) bool { return o.Column == "u" }) {
		return ast.Named
	}
	return ast.Apart
}

func (relations) Relation(_, name string) (ast.Relation, bool) {
	if name != "t" {
		return ast.Relation{}, false
	}
	r := ast.Relation{Schema: "public", Name: "t", Protected: true}
	for _, f := range fields {
		r.Columns = append(r.Columns, f.name)
	}
	return r, true
}

// parse returns the tree of an expression, and the statement that holds it.
func parse(text string) (ast.Expr, string, error) {
	sql := "SELECT count(" + text + ") FROM t"
	b, err := block(sql)
	if err != nil {
		return nil, sql, err
	}
	return b.Aggregates[0].Args[0], sql, nil
}

// parseInner returns the tree of an expression over the rows of one unit.
func parseInner(text, by string) (x ast.Expr, keys []ast.Expr, sql string, err error) {
	sql = "SELECT count(x) FROM (SELECT " + text + " AS x FROM t GROUP BY u" + by + ") s"
	b, err := block(sql)
	if err != nil {
		return nil, nil, sql, err
	}
	s := b.From.(*ast.Derived).Query.(*ast.Select)
	return s.Targets[0].X, s.Groups, sql, nil
}

func block(sql string) (*ast.Block, error) {
	script, err := parser.Parse(sql, relations{})
	if err != nil {
		return nil, err
	}
	st := script.Statements[0]
	switch {
	case st.Refusal != nil:
		return nil, st.Refusal
	case len(st.Blocks) != 1:
		return nil, fmt.Errorf("%d blocks in %s", len(st.Blocks), sql)
	case st.Blocks[0].Err != nil:
		return nil, st.Blocks[0].Err
	}
	return st.Blocks[0], nil
}

// resolver resolves the columns of t. Parameters are $1 integer, $2 text, $3 numeric,
// $4 timestamptz, $5 integer[].
func resolver() *scalar.Resolver {
	all := columns()
	return &scalar.Resolver{
		Constants: &scalar.Constants{},
		Params:    []uint32{23, 25, 1700, 1184, 1007},
		Field:     func(*scalar.Column, *scalar.Column, int) error { return nil },
		Column: func(c *ast.Column) (*scalar.Column, error) {
			if col := all[c.Name]; col != nil {
				return col, nil
			}
			return nil, pgerr.New(pgerr.NotAllowed, "no column %q", c.Name).At(c.At)
		},
	}
}

// database is a Postgres with t: one session as the analyst has it, one as the planner's
// SQL meets it.
type database struct {
	analyst, data *pgx.Conn
	zones         map[string]bool
	today         string // what CURRENT_DATE is, if it is not the servers' own
	version       int    // of data, such as 15
	stepsSeen     int    // expressions that were computed in whole steps
	productsSeen  int    // of these those that are products of linear numbers
}

const analystZone = "America/New_York"

// server is what all tests of the package share.
var server struct {
	servers []*pgtemp.Server
	db      *database
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, s := range server.servers {
		s.Stop()
	}
	os.Exit(code)
}

func open(t *testing.T) *database {
	t.Helper()
	if server.db == nil {
		if err := start(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	return server.db
}

func start(ctx context.Context) error {
	data, mirror, err := pgtemp.StartPair(ctx, pgtemp.Options{})
	if err != nil {
		return err
	}
	server.servers = []*pgtemp.Server{data}
	version, err := data.Version()
	if err != nil {
		return err
	}
	if mirror != data {
		server.servers = append(server.servers, mirror)
	}
	for _, s := range server.servers {
		if err := fill(ctx, s, data.InfiniteNumerics()); err != nil {
			return err
		}
	}
	connect := func(s *pgtemp.Server, settings string) (*pgx.Conn, error) {
		return pgx.Connect(ctx, s.URL("postgres", pgtemp.Superuser)+" options='"+settings+"'")
	}
	db := &database{zones: map[string]bool{}, version: version}
	if db.analyst, err = connect(mirror, "-c TimeZone="+analystZone); err != nil {
		return err
	}
	if db.data, err = connect(data, "-c search_path=pg_catalog -c TimeZone=UTC -c DateStyle=ISO -c IntervalStyle=postgres"); err != nil {
		return err
	}
	names, err := db.data.Query(ctx, "SELECT name FROM pg_timezone_names")
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(names, pgx.RowTo[string])
	for _, z := range list {
		db.zones[z] = true
	}
	server.db = db
	return err
}

// fill makes the table and its rows, with infinite numerics where they are to be.
func fill(ctx context.Context, s *pgtemp.Server, infinite bool) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", pgtemp.Superuser)+" options='-c TimeZone="+analystZone+"'")
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	statements := []string{
		"CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
		"CREATE TYPE pair AS (a int4, b text)",
		"CREATE DOMAIN pairs AS pair",
		"CREATE TYPE nested AS (p pair, q int4)",
		"CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
		createTable(),
	}
	for i, r := range rows {
		statements = append(statements, r.insert(i, infinite))
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func createTable() string {
	cols := []string{"k int4 PRIMARY KEY", "inside bool NOT NULL"}
	for _, f := range fields {
		cols = append(cols, f.name+" "+f.sqlType)
	}
	return "CREATE TABLE t (" + strings.Join(cols, ", ") + ")"
}

// insert writes the row's INSERT.
func (r row) insert(k int, infinite bool) string {
	names, values := []string{"k", "inside"}, []string{strconv.Itoa(k), strconv.FormatBool(!r.outside)}
	for name, v := range r.values {
		if !infinite && (name == "nf" || name == "nu") {
			v = strings.Replace(v, "Infinity", "1e1000", 1)
		}
		names, values = append(names, name), append(values, v)
	}
	return "INSERT INTO t (" + strings.Join(names, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// row has SQL values of some columns; the others are NULL.
type row struct {
	outside bool // some value is not within its bounds
	values  map[string]string
}

var rows = []row{
	{values: map[string]string{
		"u": "1", "i2": "7", "i4": "12345", "nn": "3", "i8": "9876543210", "iu": "42", "num": "99.50", "nf": "3.14159265358979",
		"nu": "2.50", "f4": "1.5", "f8": "-0.1", "fw": "1e100", "fu": "2.5", "b": "true", "d": "'2021-03-14'", "du": "'2021-01-01'",
		"ts": "'2022-11-06 01:30:00'", "tz": "'2022-11-06 05:30:00+00'", "tm": "'12:34:56'", "iv": "'1 mon 3 days'",
		"s": "'Ärger über Öl'", "v": "'a b c'", "c": "'ab'", "cc": "'xyz'", "nd": "'Abc'", "e": "'ok'",
		"id": "'00000000-0000-0000-0000-000000000001'",
		"j": `'{"s": "é", "b": true, "i2": 7, "i4": 12, "i8": -5, "n": 1.50, "nu": 2, "f": 0.1, "d": "2021-03-14",
			"ts": "2022-11-06 01:30:00", "tz": "2022-11-06T05:30:00Z", "a": {"b": 3, "b.c": "x"}}'`,
		"xi": "'{1,2,NULL}'", "xs": "'{a,b,NULL}'", "xv": "'{a,b}'", "xn": "'{1.5,2}'", "xb": "'{t,f}'", "xd": "'{2021-03-14,NULL}'",
		"xz": "'{2022-06-15 12:00:00+00}'",
	}},
	{values: map[string]string{
		"u": "1", "i2": "0", "i4": "0", "nn": "1", "i8": "0", "iu": "0", "num": "0", "nf": "0", "nu": "0", "f4": "0", "f8": "0",
		"fw": "0", "fu": "0", "b": "false", "d": "'2020-02-29'", "ts": "'2024-02-29 23:59:59.5'", "tz": "'2020-03-08 06:59:59+00'",
		"s": "''", "v": "''", "c": "''", "cc": "''", "e": "'sad'", "iv": "'0'",
		"j": `'{"s": "", "b": "off", "i2": "0", "i4": "0012", "i8": "9223372036854775807", "n": "-.5e2", "nu": "1e-2", "f": "1e30",
			"d": "2020-02-29", "ts": "2024-02-29T23:59", "tz": "2020-03-08 06:59:59+0000", "a": null}'`,
		"xi": "'{}'", "xs": "'{}'", "xv": "'{}'", "xn": "'{}'", "xb": "'{}'", "xd": "'{}'", "xz": "'{}'",
	}},
	{values: map[string]string{
		"u": "1", "i2": "-100", "i4": "-1000000", "nn": "10", "i8": "-9223372036854775808", "iu": "-2147483648", "num": "-1000.50",
		"nf": "-1000000", "nu": "-1", "f4": "-1000", "f8": "-1000000", "fw": "1e200", "d": "'2020-01-01'", "ts": "'2020-01-01'",
		"tz": "'2020-01-01 00:00:00+00'", "s": "E'back\\\\'", "v": "'%_%'", "c": "'     '", "cc": "'X'", "e": "'happy'",
		"j": `'{"s": 12, "b": 1, "i2": "+100", "i4": 1000, "i8": -9223372036854775808, "n": 1000000.000, "nu": "5.", "f": -1000000,
			"d": "2020-01-01", "ts": "2020-01-01", "tz": "2020-01-01T00:00:00-00:30", "a": {"b": null}}'`,
		"xi": "'{{1,2},{3,4}}'", "xs": "'[5:6]={a,Z}'", "xn": "'{NULL}'", "xb": "'{NULL,t}'", "xd": "'{infinity,-infinity}'",
	}},
	{values: map[string]string{
		"u": "1", "i2": "100", "i4": "1000000", "nn": "5", "i8": "9223372036854775807", "iu": "2147483647", "num": "99999.99",
		"nf": "1000000", "nu": "1e20", "f4": "1000", "f8": "1000000", "fw": "1e-20", "d": "'2024-12-31'", "ts": "'2024-12-31 23:59:59.5'",
		"tz": "'2024-12-31 10:00:00+00'", "s": "'  spaced  '", "v": "'ABCDEFGHIJ'", "c": "'abcde'",
		"xi": "array_fill(3, ARRAY[1000])", "xs": "array_fill('a'::text, ARRAY[10, 100])", "xn": "'{NaN}'",
	}},
	{values: map[string]string{"u": "2", "nn": "2"}},
	{values: map[string]string{
		"u": "2", "nn": "2", "f8": "'-0'", "f4": "'-0'", "i2": "-1", "i4": "-1", "i8": "-1", "num": "-0.01", "nf": "1e-28",
		"s": "'ǅ ß İ ﬁ 🎉'", "d": "'2024-02-29'", "ts": "'2024-03-10 02:30:00'", "tz": "'2021-11-07 06:00:00+00'",
	}},
	{outside: true, values: map[string]string{
		"u": "3", "i2": "-32768", "i4": "-2147483648", "nn": "-2147483648", "i8": "-9223372036854775808", "iu": "-2147483648",
		"num": "'NaN'", "nf": "'NaN'", "nu": "'NaN'", "f4": "'NaN'", "f8": "'NaN'", "fw": "'NaN'", "fu": "'NaN'", "d": "'-infinity'",
		"du": "'-infinity'", "ts": "'-infinity'", "tz": "'-infinity'", "iv": "'-178000000 years'", "s": "repeat(E'\\\\', 70000)",
		"v": "E'\\\\'",
	}},
	{outside: true, values: map[string]string{
		"u": "3", "i2": "32767", "i4": "2147483647", "nn": "2147483647", "i8": "9223372036854775807", "iu": "2147483647",
		"num": "9999999999.99", "nf": "'Infinity'", "nu": "'Infinity'", "f4": "'Infinity'", "f8": "'Infinity'", "fw": "'Infinity'",
		"fu": "'Infinity'", "d": "'infinity'", "du": "'infinity'", "ts": "'infinity'", "tz": "'infinity'", "iv": "'178000000 years'",
		"s": "repeat('ß', 100000)", "xi": "array_fill(1, ARRAY[1001])", "xs": "ARRAY[repeat('a', 10000000)]",
		"xv": "array_fill('a'::text, ARRAY[100000])", "xn": "array_fill(1.5, ARRAY[2000])", "xb": "array_fill(true, ARRAY[40, 50])",
	}},
	{outside: true, values: map[string]string{
		"u": "3", "nn": "0", "num": "-9999999999.99", "nf": "'-Infinity'", "nu": "'-Infinity'", "f4": "'-Infinity'", "f8": "'-Infinity'",
		"fw": "'-Infinity'", "fu": "'-Infinity'", "d": "'4713-01-01 BC'", "du": "'5874897-12-31'", "ts": "'4713-01-01 BC'",
		"tz": "'294276-12-31 23:59:59+00'", "s": "repeat('%_', 50000)",
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "0", "nf": "1e1000", "nu": "1e-1000", "f4": "3.4e38", "f8": "1e308", "fw": "1e308", "fu": "1e308",
		"d": "'5874897-12-31'", "ts": "'294276-12-31 23:59:59'",
		"tz": "'4713-01-02 BC'",
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "0", "nf": "1e-1000", "nu": "-1e1000", "f4": "1e-45", "f8": "1e-308", "fw": "5e-324", "fu": "5e-324",
		"num": "0.01", "i4": "1", "i2": "1",
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "0", "nf": "(repeat('9', 131072) || '.' || repeat('9', 31))::numeric",
		"nu": "(repeat('9', 131072) || '.' || repeat('9', 31))::numeric",
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "0", "f4": "-1.2e-38", "f8": "-5e-324", "fw": "-1e-308", "fu": "-1e308",
		"nf": "-1e-200", "nu": "1e-16000",
	}},
	{values: map[string]string{"u": "2", "nn": "2", "j": "'[]'"}},
	{values: map[string]string{"u": "2", "nn": "2", "j": `'"s"'`}},
	{values: map[string]string{"u": "2", "nn": "2", "j": "'null'"}},
	{values: map[string]string{"u": "2", "nn": "2", "j": `'{"i4": 1, "i4": 2, "s": "a", "s": "b", "n": 1, "n": "x"}'`}},
	{values: map[string]string{
		"u": "2", "nn": "2",
		"j": `'{"s": null, "b": "maybe", "i2": 32768, "i4": "12abc", "i8": 9223372036854775808, "n": "", "nu": "-", "f": "1e400",
			"d": "2021-02-29", "ts": "2021-13-01", "tz": "2021-01-01 25:00:00Z", "a": {"b": "x"}}'`,
	}},
	{values: map[string]string{
		"u": "2", "nn": "2",
		"j": `'{"b": [], "i2": "--1", "i4": [1], "i8": -9223372036854775809, "n": "1e", "nu": "+e5", "f": "1e-400", "d": "2021-04-31",
			"ts": "0000-01-01", "tz": "2021-01-01 00:00:00+99", "a": [{"b": 1}]}'`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2",
		"j": `'{"s": {"t": "secret"}, "b": "tru", "i2": " 1", "i4": 1001, "i8": "1_000", "n": 1e400, "nu": "Infinity",
			"f": 1e100, "d": "today", "ts": "epoch", "tz": "now", "a": {"b": -1}}'`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2",
		"j": `'{"s": ["secret"], "b": " t", "i2": "0x1", "i4": "2147483647", "i8": "-0", "n": "NaN", "nu": 1e-400, "f": "-Infinity",
			"d": "20210101", "ts": "infinity", "tz": "9999-12-31 23:59:59.999999-14:59", "a": {"b": 2147483647}}'`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2", "j": `('{"a":' || repeat('{"a":', 10000) || '1' || repeat('}', 10001))::jsonb`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2", "j": `jsonb_build_object('s', repeat('x', 10000000), 'i4', repeat('1', 100000), 'n', repeat('1', 100000))`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2",
		"j": `jsonb_build_object('s', repeat('ß', 100000), 'i4', repeat('0', 100000), 'nu', repeat('9', 99999), 'n', 1e1000, 'f', 1e-1000)`,
	}},
	{outside: true, values: map[string]string{
		"u": "4", "nn": "2",
		"j": `jsonb_build_object('s', 'x', 'i4', 5, 'more', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 1000) AS n))`,
	}},
}

// resolved is an expression with its constants evaluated in the analyst's session.
type resolved struct {
	x   scalar.Expr
	env *scalar.Env
}

// resolve resolves the text of an expression and evaluates its constants.
func (db *database) resolve(ctx context.Context, r *scalar.Resolver, e ast.Expr) (*resolved, error) {
	x, err := r.Expr(e)
	if err != nil {
		return nil, err
	}
	values, err := db.evaluate(ctx, r.Constants)
	if err != nil {
		return nil, err
	}
	if err := r.Constants.Check(values); err != nil {
		return nil, err
	}
	return &resolved{x: x, env: &scalar.Env{Values: values, TimeZones: db.zones, UTF8: true, Before14: db.version < 14}}, nil
}

// paramTexts are the values of $1, $2, ... in the analyst's session.
var paramTexts = []string{"4", "a%", "2.25", "2022-06-15 12:00:00+00", "{1,2,NULL}"}

// errMirror marks an error of the mirror, which an analyst sees as Postgres's own.
var errMirror = errors.New("mirror")

// evaluate computes the folds as the prelude does: built-in types in binary.
func (db *database) evaluate(ctx context.Context, c *scalar.Constants) ([]scalar.Value, error) {
	folds := c.Folds()
	if len(folds) == 0 {
		return nil, nil
	}
	list := make([]string, len(folds))
	formats := make([]int16, len(folds))
	for i, f := range folds {
		list[i] = f.SQL
		if db.today != "" {
			list[i] = strings.ReplaceAll(f.SQL, "CURRENT_DATE", "DATE '"+db.today+"'")
		}
		if f.Type.Enum.Name == "" {
			formats[i] = 1
		}
	}
	sql := "SELECT " + strings.Join(list, ", ")
	oids := []uint32{23, 25, 1700, 1184, 1007}
	params := make([][]byte, len(paramTexts))
	for i, p := range paramTexts {
		params[i] = []byte(p)
	}
	res := db.analyst.PgConn().ExecParams(ctx, sql, params, oids, nil, formats).Read()
	if res.Err != nil {
		return nil, errors.Join(errMirror, fmt.Errorf("%s: %w", sql, res.Err))
	}
	values := make([]scalar.Value, len(folds))
	for i := range folds {
		values[i] = scalar.Value{OID: res.FieldDescriptions[i].DataTypeOID, Binary: formats[i] == 1, Bytes: res.Rows[0][i]}
	}
	return values, nil
}

// writer writes for the session data, whose statements get the values of all folds.
func (r *resolved) writer() *scalar.Writer {
	return &scalar.Writer{Env: r.env, Fold: func(i int) string { return "$" + strconv.Itoa(i+1) }}
}

// query runs a statement of the planner with the constants as parameters.
func (db *database) query(ctx context.Context, env *scalar.Env, sql string) ([][]*string, error) {
	var params [][]byte
	var oids []uint32
	var formats []int16
	for i, v := range env.Values {
		if !strings.Contains(sql, "$"+strconv.Itoa(i+1)) {
			v = scalar.Value{OID: 25}
		}
		params = append(params, v.Bytes)
		format := int16(0)
		if v.Binary {
			format = 1
		}
		oid := v.OID
		if oid >= 16384 {
			oid = 25
		}
		oids, formats = append(oids, oid), append(formats, format)
	}
	return collect(db.data.PgConn().ExecParams(ctx, sql, params, oids, formats, nil).Read())
}

func collect(res *pgconn.Result) ([][]*string, error) {
	if res.Err != nil {
		return nil, res.Err
	}
	out := make([][]*string, len(res.Rows))
	for i, r := range res.Rows {
		out[i] = make([]*string, len(r))
		for k, cell := range r {
			if cell != nil {
				s := string(cell)
				out[i][k] = &s
			}
		}
	}
	return out, nil
}

// native runs a statement of the analyst's as plain Postgres would.
func (db *database) native(ctx context.Context, sql string) ([][]*string, error) {
	used := 0
	for i := range paramTexts {
		if strings.Contains(sql, "$"+strconv.Itoa(i+1)) {
			used = i + 1
		}
	}
	params := make([][]byte, used)
	for i := range params {
		params[i] = []byte(paramTexts[i])
	}
	return collect(db.analyst.PgConn().ExecParams(ctx, sql, params, []uint32{23, 25, 1700, 1184, 1007}[:used], nil, nil).Read())
}

// shown writes a value of a type as text that is the same for the same values.
func shown(t pgtype.Type, sql string) string {
	switch t.Family() { //nolint:exhaustive // the others look the same
	case pgtype.IntFamily, pgtype.NumericFamily:
		return "CAST(pg_catalog.trim_scale(CAST(" + sql + " AS pg_catalog.numeric)) AS pg_catalog.text)"
	case pgtype.FloatFamily:
		return "CAST(CAST(CASE WHEN (" + sql + ") = 0 THEN 0 ELSE (" + sql + ") END AS " + t.SQL() + ") AS pg_catalog.text)"
	case pgtype.InstantFamily:
		return "CAST(pg_catalog.timezone('UTC', " + sql + ") AS pg_catalog.text)"
	case pgtype.NoFamily:
		return "CAST((" + sql + ") IS NULL AS pg_catalog.text)"
	}
	return "CAST((" + sql + ") AS pg_catalog.text)"
}

// measured writes a value as a number in the units of an Interval.
func measured(t pgtype.Type, sql string) string {
	micros := func(zero string) string {
		return "CAST(EXTRACT(epoch FROM (" + sql + ") - CAST('2000-01-01 00:00:00+00' AS " + zero +
			"))::numeric * 1000000 AS pg_catalog.text)"
	}
	switch t.OID {
	case 1082:
		return "CAST((" + sql + ") - CAST('2000-01-01' AS date) AS pg_catalog.text)"
	case 1114:
		return micros("timestamp")
	case 1184:
		return micros("timestamptz")
	case 1186:
		sql = "(" + sql + ")"
		field := func(name string) string { // a double before 14
			return "CAST(extract(" + name + " FROM " + sql + ") AS pg_catalog.numeric)"
		}
		days := field("year") + " * 360 + " + field("month") + " * 30 + " + field("day")
		seconds := field("hour") + " * 3600 + " + field("minute") + " * 60 + " + field("second")
		return "CAST(((" + days + ") * 86400 + " + seconds + ") * 1000000 AS pg_catalog.text)"
	case 16:
		return "CAST(CAST((" + sql + ") AS int4) AS pg_catalog.text)"
	}
	return "CAST((" + sql + ") AS pg_catalog.text)"
}
