package planner_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

const thingsTable = `
CREATE DOMAIN short AS varchar(10);
CREATE DOMAIN brief AS varchar(10);
CREATE DOMAIN amount AS numeric(10,2);
CREATE TABLE things (id int PRIMARY KEY, t text, v varchar, v10 varchar(10), v5 varchar(5), c char(5), s short, b brief,
  n numeric(10,2), n3 numeric(10,3), m numeric, a amount, i2 int2, i4 int4, i8 int8, d date, ts timestamp, k text COLLATE "C")`

// things is a protected table with a column of each type that is nearly another one's.
func things(t *testing.T) *policy.Model {
	t.Helper()
	domain := func(n string, base catalog.TypeRef) catalog.TypeRef {
		base.Name, base.Display, base.OID, base.Mod, base.BaseMod, base.Kind = name(n), n, 20100, -1, base.Mod, 'd'
		return base
	}
	varchar := func(n int32) catalog.TypeRef { return builtin("varchar", "character varying", 1043, n) }
	byteOrder := column("k", text, false)
	byteOrder.Collation = catalog.Name{Schema: "pg_catalog", Name: "C"}
	table := &catalog.Table{Name: name("things"), Kind: 'r', Keys: primary(), Columns: []catalog.Column{
		column("id", int4, true), column("t", text, false), column("v", varchar(-1), false),
		column("v10", varchar(14), false), column("v5", varchar(9), false),
		column("c", builtin("bpchar", "character(5)", 1042, 9), false), column("s", domain("short", varchar(14)), false),
		column("b", domain("brief", varchar(14)), false),
		column("n", numeric10, false), column("n3", builtin("numeric", "numeric(10,3)", 1700, (10<<16|3)+4), false),
		column("m", numeric, false),
		column("a", domain("amount", numeric10), false), column("i2", builtin("int2", "smallint", 21, -1), false),
		column("i4", int4, false), column("i8", bigint, false),
		column("d", date, false), column("ts", builtin("timestamp", "timestamp without time zone", 1114, -1), false), byteOrder,
	}}
	c, problems := policy.Check(policy.Policy{Unit: "thing", Tables: []policy.TablePolicy{{Name: table.Name, UnitColumn: "id"}}},
		&catalog.Schema{Tables: map[catalog.Name]*catalog.Table{table.Name: table}})
	for _, p := range problems {
		t.Fatal(p)
	}
	return c
}

// alike are expressions that may stand in one column of a UNION ALL: texts, numbers and dates.
var alike = [][]string{
	{
		"t", "v", "v10", "v10", "v5", "s", "s", "b", "'x'", "'x'", "NULL", "'x'::text", "'x'::varchar", "v10::varchar(5)",
		"lower(v)", "coalesce(v10, 'x')", "coalesce(s, b)", "coalesce(s, s)", "coalesce(v10, s)", "CASE WHEN i4 > 1 THEN s END",
		"nullif(s, 'x')", "s::varchar", "greatest(s, s)", "left(s, 3)", "CASE WHEN i4 > 1 THEN s ELSE s END",
	},
	{"c", "c", "c::char(5)", "'x'", "NULL", "t", "v10", "'x'::char(5)"},
	{
		"n", "n", "n3", "m", "a", "a", "coalesce(n, a)", "coalesce(a, a)", "NULL", "1.5", "i4", "n::numeric(10,2)",
		"nullif(a, 1)", "nullif(n, 1)", "a::numeric", "least(a, n)", "-a", "a + 1", "round(a)",
	},
	{"i2", "i4", "i8", "1", "3000000000", "NULL", "'1'", "i4 + i2", "i8::int2"},
	{"d", "d", "ts", "NULL", "'2024-01-01'", "ts::date"},
	{"k", "k", "t", "'x'", "NULL", "lower(k)"},
}

// union makes a UNION ALL, nested to either side.
func union(r *rand.Rand, list []string, depth int) string {
	if depth == 0 || r.IntN(4) == 0 {
		return "SELECT id, " + list[r.IntN(len(list))] + " AS x FROM things"
	}
	side := func() string {
		sql := union(r, list, depth-1)
		switch r.IntN(4) {
		case 0:
			return "SELECT id, x FROM (" + sql + ") q" + strconv.Itoa(r.IntN(1000))
		default:
			return "(" + sql + ")"
		}
	}
	return side() + " UNION ALL " + side()
}

// TestUnionTypes compares the type of a released key over a UNION ALL with the one that Postgres
// gives the client's own statement.
func TestUnionTypes(t *testing.T) {
	cat, conn := things(t), emptyServer(t)
	run(t, conn.PgConn(), thingsTable)
	r := rand.New(rand.NewChaCha8([32]byte{3}))
	rows := slices.Concat(literalsBeside, literalsNested)
	for range 1500 {
		rows = append(rows, union(r, alike[r.IntN(len(alike))], 1+r.IntN(3)))
	}
	accepted := 0
	for i, from := range rows {
		aggregate := []string{"count(*)", "max(x)", "sum(x)", "percentile_disc(0.5) WITHIN GROUP (ORDER BY x)"}[i%4]
		sql := "SELECT x, " + aggregate + " FROM (" + from + ") q GROUP BY x"
		relation, err := released(cat, sql)
		if err != nil && i < len(literalsBeside) {
			t.Errorf("%s\n%v", sql, err)
		}
		if e, ok := err.(*pgerr.Error); ok && e.Code != pgerr.Internal && e.Hint != "" { //nolint:errorlint // the planner's own
			continue
		}
		if err != nil {
			t.Fatalf("%s\n%v", sql, err)
		}
		want, err := conn.PgConn().Prepare(t.Context(), "", sql, nil)
		if err != nil {
			continue // the mirror refuses it first
		}
		got, err := conn.PgConn().Prepare(t.Context(), "", "SELECT g1, a1 FROM "+relation+" AS r", nil)
		if err != nil {
			t.Fatalf("%s\n%v\n%s", sql, err, relation)
		}
		accepted++
		for i, w := range want.Fields {
			if g := got.Fields[i]; w.DataTypeOID != g.DataTypeOID || w.TypeModifier != g.TypeModifier {
				t.Errorf("%s\ncolumn %d is of type %d with modifier %d, released "+
					"as %d with %d", sql, i+1, w.DataTypeOID, w.TypeModifier, g.DataTypeOID, g.TypeModifier)
			}
		}
	}
	t.Logf("%d of %d accepted", accepted, len(rows))
	if accepted < 400 {
		t.Errorf("only %d accepted", accepted)
	}
}

// literalsBeside have a literal without a type beside a column of each family.
var literalsBeside = []string{
	"SELECT id, i4 AS x FROM things UNION ALL SELECT id, NULL FROM things",
	"SELECT id, i8 AS x FROM things UNION ALL SELECT id, '1' FROM things",
	"SELECT id, NULL AS x FROM things UNION ALL SELECT id, n FROM things",
	"SELECT id, '1.5' AS x FROM things UNION ALL SELECT id, a FROM things UNION ALL SELECT id, NULL FROM things",
	"SELECT DISTINCT id, 'x' AS x FROM things UNION ALL SELECT id, t FROM things",
	"SELECT id, i2 AS x FROM things UNION ALL (SELECT id, i4 FROM things UNION ALL SELECT id, '-7' FROM things)",
	"SELECT id, length(c) AS x FROM things UNION ALL SELECT id, NULL FROM things",
	"SELECT id, n3 AS x FROM things UNION ALL (SELECT id, n3 FROM things UNION ALL SELECT id, NULL FROM things)",
}

// literalsNested have a literal on either side of the branch that tells its type.
var literalsNested = []string{
	"SELECT id, 'x' AS x FROM things UNION ALL (SELECT id, 'x' FROM things UNION ALL SELECT id, v FROM things)",
	"SELECT id, v AS x FROM things UNION ALL (SELECT id, 'x' FROM things UNION ALL SELECT id, 'y' FROM things)",
	"(SELECT id, 'x' AS x FROM things UNION ALL SELECT id, v10 FROM things) UNION ALL (SELECT id, NULL FROM things " +
		"UNION ALL SELECT id, v10 FROM things)",
	"SELECT id, 'x' AS x FROM things UNION ALL SELECT id, 'y' FROM things UNION ALL SELECT id, v FROM things",
	"SELECT id, NULL AS x FROM things UNION ALL (SELECT id, s FROM things UNION ALL SELECT id, s FROM things)",
	"SELECT id, s AS x FROM things UNION ALL (SELECT id, b FROM things UNION ALL SELECT id, v10 FROM things)",
	"SELECT id, x FROM (SELECT id, 'x' AS x FROM things) p UNION ALL (SELECT id, 'x' FROM things UNION ALL SELECT id, v FROM things)",
}

// released returns the relation that a block is released as.
func released(cat *policy.Model, sql string) (string, error) {
	script, err := parser.Parse(sql, planner.Names(cat))
	if err != nil {
		return "", err
	}
	st := script.Statements[0]
	if st.Refusal != nil {
		return "", st.Refusal
	}
	q, err := planner.Analyze(nil, cat, st, nil)
	if err != nil {
		return "", err
	}
	return q.Relation(0, func(i int) string { return "$" + strconv.Itoa(i+1) }), nil
}
