package scalar_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
)

// A sample is a type with SQL of values: some of them equal, or alike in all but their
// spelling.
type sample struct {
	name   string // of the type, in SQL
	typ    pgtype.Type
	values []string
	reach  scalar.Reach
}

// long are texts, some of which are the same in the characters that are read.
var long = []string{
	"''", "'a'", "'a '", "'A'", "'aa'", "'%'", "repeat('a', 70000)", "repeat('a', 16384)", "repeat('a', 16384) || 'b'",
	"repeat('a', 16383) || 'b'", "repeat('a', 65536)", "repeat('a', 65536) || 'b'", "repeat('a', 65535) || 'b'", "repeat('ß', 70000)",
	"repeat('ß', 16384)", "repeat('ß', 65536)",
}

var samples = []sample{
	{"bool", pgtype.Of(16), []string{"true", "false"}, scalar.Whole},
	{"int2", pgtype.Of(21), []string{"0", "-1", "7"}, scalar.Whole},
	{"int4", pgtype.Of(23), []string{"0", "-1", "7", "100"}, scalar.Whole},
	{"int8", pgtype.Of(20), []string{"0", "-1", "7", "9223372036854775807"}, scalar.Whole},
	{
		"numeric", pgtype.Of(1700),
		[]string{"0", "0.00", "-0.0", "6", "6.0", "6.00", "1e2", "100", "'NaN'", "'Infinity'", "'-Infinity'"},
		scalar.Whole,
	},
	{"numeric(10,2)", pgtype.Type{OID: 1700, Mod: 10<<16 | 2 + 4, Deterministic: true}, []string{"0", "6", "6.10", "'NaN'"}, scalar.Whole},
	{"float4", pgtype.Of(700), []string{"'0'", "'-0'", "0.1", "'NaN'", "'-NaN'", "'Infinity'", "1e-45"}, scalar.Whole},
	{"float8", pgtype.Of(701), []string{"'0'", "'-0'", "0.1", "'NaN'", "'-NaN'", "'-Infinity'", "5e-324", "-5e-324"}, scalar.Whole},
	{"text", pgtype.Of(25), long, scalar.Whole},
	{"text", pgtype.Of(25), long, scalar.Beginning},
	{"text", pgtype.Of(25), long, scalar.Short},
	{"varchar", pgtype.Of(1043), long, scalar.Beginning},
	{"varchar(66000)", pgtype.Type{OID: 1043, Mod: 66004, Deterministic: true}, long, scalar.Beginning},
	{
		"text COLLATE public.nocase",
		pgtype.Type{OID: 25, Mod: -1, Collation: catalog.Name{Schema: "public", Name: "nocase"}},
		long,
		scalar.Beginning,
	},
	{"varchar(3)", pgtype.Type{OID: 1043, Mod: 7, Deterministic: true}, []string{"''", "'a'", "'a '"}, scalar.Whole},
	{
		"bpchar", pgtype.Of(1042),
		[]string{"''", "'a'", "'a  '", "repeat('a', 65536)", "repeat('a', 65537)", "repeat('a', 65536) || ' '"},
		scalar.Short,
	},
	{"char(5)", pgtype.Type{OID: 1042, Mod: 9, Deterministic: true}, []string{"''", "'a'", "'a  '", "'ab'"}, scalar.Whole},
	{
		"text COLLATE public.nocase",
		pgtype.Type{OID: 25, Mod: -1, Collation: catalog.Name{Schema: "public", Name: "nocase"}},
		[]string{"'a'", "'A'", "'b'"},
		scalar.Whole,
	},
	{"date", pgtype.Of(1082), []string{"'2020-01-01'", "'2020-01-31'", "'infinity'", "'-infinity'", "'0044-03-15 BC'"}, scalar.Whole},
	{"timestamp", pgtype.Of(1114), []string{"'2020-01-01'", "'2020-01-01 00:00:00.000001'", "'infinity'"}, scalar.Whole},
	{
		"timestamptz", pgtype.Of(1184),
		[]string{"'2020-01-01 00:00+00'", "'2020-01-01 02:00+02'", "'2020-01-01 01:00+02'", "'-infinity'"},
		scalar.Whole,
	},
	{"time", pgtype.Of(1083), []string{"'00:00'", "'24:00'", "'12:00:00.5'"}, scalar.Whole},
	{"interval", pgtype.Of(1186), []string{"'0'", "'1 month'", "'30 days'", "'720 hours'", "'1 day'", "'24 hours'"}, scalar.Whole},
	{"uuid", pgtype.Of(2950), []string{
		"'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-00000000000a'",
		"'{00000000-0000-0000-0000-00000000000A}'",
	}, scalar.Whole},
	{"public.mood", moodType, []string{"'sad'", "'ok'"}, scalar.Whole},
	{"jsonb", other(3802), []string{"'{}'", "'null'", "'[1, 2]'"}, scalar.Whole},
	{"bytea", other(17), []string{"''", `'\x00'`}, scalar.Whole},
	{"int4[]", other(1007), []string{"'{}'", "'{NULL}'", "'{1}'"}, scalar.Whole},
	{"int4range", other(3904), []string{"'empty'", "'[1,2)'"}, scalar.Whole},
	{"public.pair", other(20001), pairs, scalar.Whole},
	{"public.pairs", other(20002), pairs, scalar.Whole}, // a domain over it
	{"public.pair[]", other(20003), []string{"'{}'", `'{"(,)"}'`, `'{NULL}'`}, scalar.Whole},
	{"public.nested", other(20004), []string{
		"ROW(NULL, NULL)", "ROW(ROW(NULL, NULL), NULL)", "ROW(ROW(NULL, NULL), 1)",
		"ROW(ROW(1, NULL), 1)", "ROW(NULL, 1)",
	}, scalar.Whole},
}

var pairs = []string{
	"ROW(NULL, NULL)", "ROW(1, NULL)", "ROW(NULL, '')", "ROW(1, '')", "ROW(1, 'a')", "ROW(NULL, repeat(md5('a'), 100))",
	"ROW(1, repeat('a', 100000))", "ROW(NULL, repeat('a', 100000))",
}

func other(oid uint32) pgtype.Type {
	return pgtype.Type{OID: oid, Mod: -1, Deterministic: true, Display: "other"}
}

// column returns a column x of the type, of a table v.
func (s sample) column() *scalar.Column {
	c := &scalar.Column{Name: "x", Type: s.typ, SQL: "v.x", Reach: s.reach}
	if f := s.typ.Family(); f == pgtype.IntFamily || f == pgtype.NumericFamily || f == pgtype.FloatFamily {
		c.Bounds = &scalar.Bounds{Low: big.NewRat(-1000, 1), High: big.NewRat(1000, 1)}
	}
	if f := s.typ.Family(); f == pgtype.DateFamily || f == pgtype.InstantFamily {
		c.Bounds = &scalar.Bounds{LowText: "2000-01-01", HighText: "2030-01-01"}
		if f == pgtype.InstantFamily {
			c.Bounds = &scalar.Bounds{LowText: "2000-01-01 00:00:00Z", HighText: "2030-01-01 00:00:00Z"}
		}
	}
	return c
}

// typed returns a value as a constant.
func (s sample) typed(v string) string {
	name, collation, _ := strings.Cut(s.name, " ")
	return "CAST(" + v + " AS " + name + ") " + collation
}

// rows returns all values as rows of v.
func (s sample) rows() string {
	list := []string{"(0, " + s.typed("NULL") + ")"}
	for i, v := range s.values {
		list = append(list, fmt.Sprintf("(%d, %s)", i+1, s.typed(v)))
	}
	return "(VALUES " + strings.Join(list, ", ") + ") AS v(i, x)"
}

// arguments are constants for the other arguments of functions, by type.
var arguments = map[uint32][]string{
	16: {"true"}, 21: {"int2 '2'"}, 23: {"2"}, 20: {"int8 '2'"}, 1700: {"2.5", "9.5"}, 700: {"float4 '2'"},
	701: {"float8 '2'", "float8 '9'"},
	25:  {"'a'", "'month'", "'UTC'", "'YYYY'"}, 1042: {"bpchar 'a'"}, 1082: {"date '2020-02-02'"}, 1114: {"timestamp '2020-02-02'"},
	1184: {"timestamptz '2020-02-02 00:00+00'"}, 1186: {"interval '1 day'"},
}

// narrow are functions that no column of a sample is narrow enough for.
var narrow = []string{"exp", "make_date"}

// calls returns calls of a function with x in each place.
func calls(f scalar.Signature) []string {
	var all []string
	for place := range f.Args {
		lists := [][]string{nil}
		for i, t := range f.Args {
			var longer [][]string
			choices := arguments[t]
			switch {
			case i == place && slices.Contains(narrow, f.Name):
				choices = []string{"greatest(least(x, 9), 1)"}
			case i == place:
				choices = []string{"x"}
			}
			for _, l := range lists {
				for _, c := range choices {
					longer = append(longer, append(slices.Clone(l), c))
				}
			}
			lists = longer
		}
		for _, l := range lists {
			switch {
			case f.Name == "position":
				all = append(all, "position("+l[1]+" IN "+l[0]+")")
			case f.Name == "extract":
				all = append(all, "extract("+l[0]+" FROM "+l[1]+")")
			case !f.Operator:
				all = append(all, f.Name+"("+strings.Join(l, ", ")+")")
			case len(l) == 1:
				all = append(all, "("+f.Name+" "+l[0]+")")
			default:
				all = append(all, "("+l[0]+" "+f.Name+" "+l[1]+")")
			}
		}
	}
	return all
}

// forms returns expressions over x in every form that has a syntax of its own.
func (s sample) forms() []string {
	all := []string{
		"x", "x IS NULL", "x IS NOT NULL", "x IS TRUE", "x IS NOT FALSE", "x IS UNKNOWN", "NOT x", "x AND x", "x OR x", "x = x", "x < x",
		"x IS DISTINCT FROM x", "x IN (x)", "CASE x WHEN x THEN 1 END", "nullif(x, x)", "least(x, x)", "greatest(x, x)", "coalesce(x, x)",
		"CASE WHEN x IS NULL THEN x END", "x IS DISTINCT FROM NULL", "x LIKE 'a%'", "x NOT LIKE 'a_'", "x ILIKE 'A%'", "concat(x, 'b')",
		"concat('b', x)", "x || 'b'", "x BETWEEN x AND x",
	}
	for _, t := range []string{
		"bool", "int2", "int4", "int8", "numeric", "numeric(10,1)", "float4", "float8", "text", "varchar",
		"varchar(2)", "bpchar", "char(4)", "date", "timestamp", "timestamptz", "time", "interval", "uuid",
	} {
		all = append(all, "CAST(x AS "+t+")")
	}
	for _, v := range s.values[:min(len(s.values), 4)] {
		c := s.typed(v)
		for _, op := range []string{"=", "<>", "<", "<=", ">", ">="} {
			all = append(all, "x "+op+" "+c, c+" "+op+" x", "x "+op+" ANY (ARRAY["+c+", "+c+"])", "x "+op+" ALL (ARRAY["+c+"])")
		}
		all = append(all, "x IN ("+c+", "+c+")", "x NOT IN ("+c+")", "x BETWEEN "+c+" AND "+c, "x NOT BETWEEN SYMMETRIC "+c+" AND x",
			"x IS NOT DISTINCT FROM "+c,
			"CASE x WHEN "+c+" THEN 1 ELSE 2 END", "nullif(x, "+c+")", "nullif("+c+", x)", "least(x, "+c+")", "greatest("+c+", x)",
			"coalesce(x, "+c+")", "CASE WHEN x = "+c+" THEN x ELSE "+c+" END")
	}
	return all
}

// accepted calls use with every expression over a value of the type that is allowed.
func (db *database) accepted(t *testing.T, s sample, use func(text string, res *resolved)) {
	t.Helper()
	list := s.forms()
	for _, f := range scalar.Allowed() {
		list = append(list, calls(f)...)
	}
	c := s.column()
	for _, text := range list {
		e, _, err := parse(text)
		if err != nil {
			continue
		}
		r := resolver()
		r.Column = func(*ast.Column) (*scalar.Column, error) { return c, nil }
		res, err := db.resolve(t.Context(), r, e)
		if err != nil {
			if refusal, ok := err.(*pgerr.Error); ok && refusal.Code == pgerr.Internal { //nolint:errorlint // as it is returned
				t.Errorf("%s of %s: %v", text, s.name, err)
			}
			continue
		}
		if len(res.x.Columns()) > 0 {
			use(text, res)
		}
	}
}

// TestBytesOfRows finds expressions that tell two values apart whose bytes are the same: which
// of two rows is kept would then depend on where they lie.
func TestBytesOfRows(t *testing.T) {
	db := open(t)
	seen := map[string]bool{}
	for _, s := range samples {
		n := 0
		s.values = slices.DeleteFunc(slices.Clone(s.values), func(v string) bool { // which an older server has not
			return db.version < 14 && s.typ.OID == 1700 && strings.Contains(v, "Infinity")
		})
		db.accepted(t, s, func(text string, res *resolved) {
			w := res.writer()
			sql, typ, err := w.Value(res.x)
			if err != nil {
				return
			}
			c := res.x.Columns()[0]
			got, err := db.query(t.Context(), res.env, "SELECT "+scalar.Spelled(c.Type, c.Read())+", "+scalar.Spelled(typ, sql)+
				", i FROM "+s.rows())
			if err != nil {
				t.Errorf("%s of %s: %v", text, s.name, err)
				return
			}
			n++
			seen[strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("( )", r) })[0]] = true
			values := map[string][]*string{}
			for _, r := range got {
				if have, ok := values[*r[0]]; ok && *have[1] != *r[1] {
					t.Errorf("%s of %s: rows %s and %s have the same bytes, and it tells them apart", text, s.name, *have[2], *r[2])
				}
				values[*r[0]] = r
			}
		})
		if n < 3 {
			t.Errorf("%s: only %d expressions", s.name, n)
		}
	}
	for _, f := range scalar.Allowed() {
		if !f.Operator && !seen[f.Name] && !db.lacks(t, ast.Quote(f.Name)+"::regproc") {
			t.Errorf("%s was not tried", f.Name)
		}
	}
}

// TestLongTexts holds that no expression mentions a text of any length but to read its
// beginning, or to look whether it is NULL.
func TestLongTexts(t *testing.T) {
	db := open(t)
	n := 0
	for _, s := range samples {
		if s.reach != scalar.Beginning {
			continue
		}
		db.accepted(t, s, func(text string, res *resolved) {
			sql, _, err := res.writer().Value(res.x)
			if err != nil {
				return
			}
			n++
			rest := sql
			for _, limit := range []string{"1024", "16384"} {
				rest = strings.ReplaceAll(rest, "CASE WHEN pg_catalog.octet_length(v.x) OPERATOR(pg_catalog.>) "+limit+
					" THEN pg_catalog.left(v.x, "+limit+") ELSE v.x END", "")
			}
			rest = strings.NewReplacer("(v.x IS NULL)", "", "(v.x IS NOT NULL)", "").Replace(rest)
			if strings.Contains(rest, "v.x") {
				t.Errorf("%s reads all of it: %s", text, sql)
			}
		})
	}
	if n < 300 {
		t.Errorf("only %d expressions", n)
	}
}

// TestIndexedTexts holds that no expression reads more than the beginning of a text that an index
// has, but where it is tested for equality, or handed on.
func TestIndexedTexts(t *testing.T) {
	db := open(t)
	n := 0
	s := sample{name: "text", typ: pgtype.Of(25), values: long[:4], reach: scalar.Whole}
	db.accepted(t, s, func(text string, res *resolved) {
		sql, _, err := res.writer().Value(res.x)
		if err != nil {
			return
		}
		n++
		for _, limit := range []string{"1024", "16384"} {
			sql = strings.ReplaceAll(sql, "CASE WHEN pg_catalog.octet_length(v.x) OPERATOR(pg_catalog.>) "+limit+
				" THEN pg_catalog.left(v.x, "+limit+") ELSE v.x END", "")
		}
		sql = strings.NewReplacer("(v.x IS NULL)", "", "(v.x IS NOT NULL)", "").Replace(sql)
		tests := slices.ContainsFunc([]string{
			" OPERATOR(pg_catalog.=) ", " OPERATOR(pg_catalog.<>) ", " DISTINCT FROM ", "v.x IN (",
			"v.x NOT IN (",
		}, func(op string) bool { return strings.Contains(sql, op) })
		if strings.Contains(sql, "v.x") && sql != "v.x" && !tests {
			t.Errorf("%s reads all of it: %s", text, sql)
		}
	})
	if n < 80 {
		t.Errorf("only %d expressions", n)
	}
}
