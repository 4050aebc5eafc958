package scalar_test

import (
	"strings"
	"testing"

	"dpproxy/parser/ast"
	"dpproxy/planner/scalar"
)

func mustResolve(t *testing.T, r *scalar.Resolver, text string) scalar.Expr {
	t.Helper()
	e, _, err := parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	x, err := r.Expr(e)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return x
}

func TestNeverNull(t *testing.T) {
	for _, c := range []struct {
		where, x string
		want     bool
	}{
		{"i4 > 3", "i4", true},
		{"i4 + 1 > 3", "i4", true},
		{"i4 / i2 > 3", "i2", true},
		{"i4 > 3 AND b", "i4", true},
		{"i4 > 3 OR i4 < 1", "i4", true},
		{"NOT i4 = 3", "i4", true},
		{"NOT (i4 = 3 OR b)", "i4", true},
		{"i4 IN (1, 2)", "i4", true},
		{"i4 NOT IN (1, 2)", "i4", true},
		{"i4 BETWEEN 1 AND 2", "i4", true},
		{"i4 NOT BETWEEN 1 AND 2", "i4", true},
		{"3 BETWEEN i4 AND 5", "i4", true},
		{"i4 IS NOT NULL", "i4", true},
		{"i4 + i2 IS NOT NULL", "i2", true},
		{"NOT i4 IS NULL", "i4", false},
		{"(i4 > 3) IS TRUE", "i4", true},
		{"s LIKE 'a%'", "s", true},
		{"NOT s LIKE 'a%'", "s", true},
		{"b", "b", true},
		{"i4 + 1 = 2", "i4 + 1", true},
		{"true", "nn", false},
		{"true", "u", true},

		{"i4 > 3 OR b", "i4", false},
		{"i4 > 3", "i2", false},
		{"i4 IS NULL", "i4", false},
		{"COALESCE(i4, 0) = 0", "i4", false},
		{"CASE WHEN b THEN i4 END = 1", "i4", false},
		{"(i4 > 3) IS NOT TRUE", "i4", false},
		{"i4 IS DISTINCT FROM 3", "i4", false},
		{"NOT (i4 = 3 AND b)", "i4", false},
		{"3 NOT BETWEEN i4 AND 5", "i4", false},
		{"3 BETWEEN SYMMETRIC i4 AND 5", "i4", false},
		{"concat(v, 'x') = 'x'", "v", false},
		{"i4 <> ALL ($5)", "i4", false},
		{"NULLIF(i4, 3) IS NULL", "i4", false},
		{"3 IN (i4, 3)", "i4", false},
		{"i4 = LEAST(i2, 3)", "i2", false},
	} {
		r := resolver()
		cond, x := mustResolve(t, r, c.where), mustResolve(t, r, c.x)
		if c.x == "nn" {
			x.(*scalar.Ref).Column.NotNull = false
		}
		if got := scalar.NeverNull([]scalar.Expr{cond}, x); got != c.want {
			t.Errorf("%s where %s: %v", c.x, c.where, got)
		}
	}
}

func TestEquality(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"i4 = i2", true},
		{"i4 = i8", true},
		{"s = v", true},
		{"num = nf", true},
		{"d = du", true},
		{"f8 = fw", true},
		{"i4 = num", false},
		{"f4 = f8", false},
		{"d = ts", false},
		{"s = c", false},
		{"v = c", false},
		{"nd = nd", false},
		{"i4 = i4 + 1", false},
		{"i4 = 5", false},
		{"i4 < i2", false},
		{"i4 IS NOT DISTINCT FROM i2", false},
		{"i4 = i2 OR b", false},
	} {
		if _, _, ok := scalar.Equality(mustResolve(t, resolver(), c.text)); ok != c.want {
			t.Errorf("%s: %v", c.text, ok)
		}
	}
}

func TestSeparates(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"i8 = i4", true},
		{"i8 = num", true},
		{"i4 = f8", true},
		{"i8 = f8", false},
		{"f8 = i8", true},
		{"num = f8", false},
		{"f4 = f8", true},
		{"d = ts", true},
		{"ts = tz", false},
		{"tz = ts", true},
		{"s = c", true},
		{"c = s", true},
		{"s || v = v", false},
		{"nd = nd", true},
	} {
		if scalar.Separates(mustResolve(t, resolver(), c.text)) != c.want {
			t.Errorf("%s: %v", c.text, !c.want)
		}
	}
}

// The determined side is compared as it is, or as a type that tells all of its values apart, and has one spelling of each; the other is an
// expression over columns of its row.
func TestDetermines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"i4 = i2 + 1", "i4"},
		{"i2 + 1 = i4", "i4"},
		{"i4 = i2", "i4 i2"},
		{"i4 = num", "i4 num"},
		{"nu = num", "num"}, // a number without a scale can be written in several ways
		{"i8 = f8", ""},
		{"i4 = f8", "i4"},
		{"d = CAST(ts AS date)", "d"},
		{"d = ts", "d ts"},
		{"s = lower(v)", "s"},
		{"v = lower(s)", "v"},
		{"c = lower(s)", ""},
		{"nd = lower(nd)", ""},
		{"i4 = 5", ""},
		{"i4 < i2 + 1", ""},
		{"i4 = i2 + 1 OR b", ""},
		{"e = e", "e e"},
	} {
		var got []string
		for _, d := range scalar.Determines(mustResolve(t, resolver(), c.text)) {
			got = append(got, d.Column.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s determines %v", c.text, got)
		}
	}
}

func TestHashes(t *testing.T) {
	for text, want := range map[string]bool{
		"i4 = i8": true, "i4 = num": true, "d = CAST(ts AS date)": true, "d = ts": false, "s = v": true,
	} {
		if scalar.Hashes(mustResolve(t, resolver(), text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

func TestFixed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"i4 = 5", "i4"},
		{"5 = i4", "i4"},
		{"i4 = 3000000000", "i4"},
		{"s = 'x'", "s"},
		{"v = 'x'", "v"},
		{"c = 'x'", "c"},
		{"e = 'ok'", "e"},
		{"cc = 'x'", "cc"},
		{"d = current_date", "d"},
		{"i4 = 5.0", ""},
		{"nd = 'x'", ""},
		{"i4 = i2", ""},
		{"i4 <> 5", ""},
		{"i4 + 1 = 5", ""},
	} {
		col, ok := scalar.Fixed(mustResolve(t, resolver(), c.text))
		if ok != (c.want != "") || ok && col.Name != c.want {
			t.Errorf("%s: %v", c.text, ok)
		}
	}
}

func TestEqual(t *testing.T) {
	same := []string{
		"i4", "i2", "i4 + 1", "i4 + 2", "i4 - 1", "1 + i4", "i4 + i2", "i4 > 1", "i4 >= 1", "i4 IS NULL", "i4 IS NOT NULL",
		"i4 IN (1, 2)", "i4 NOT IN (1, 2)", "i4 IN (1)", "i4 BETWEEN 1 AND 2", "i4 BETWEEN SYMMETRIC 1 AND 2", "NOT b", "b",
		"b AND i4 > 1", "b OR i4 > 1", "b IS TRUE", "b IS FALSE", "s LIKE 'a'", "s ILIKE 'a'", "CASE WHEN b THEN i4 END",
		"CASE WHEN b THEN i4 ELSE i2 END", "CASE i4 WHEN 1 THEN 2 END", "COALESCE(i4, i2)", "GREATEST(i4, i2)", "NULLIF(i4, 1)",
		"i4::int8", "i4::numeric", "num::numeric(4,1)", "num::numeric(5,1)", "i4 = ANY ($5)", "i4 = ALL ($5)", "i4 IS DISTINCT FROM 1",
		"i4 IS NOT DISTINCT FROM 1", "lower(s)", "upper(s)", "date_trunc('month', d)", "date_trunc('year', d)",
	}
	r := resolver()
	first, second := make([]scalar.Expr, len(same)), make([]scalar.Expr, len(same))
	for i, text := range same {
		first[i], second[i] = mustResolve(t, r, text), mustResolve(t, r, " "+text)
	}
	for i := range same {
		for k := range same {
			if got := scalar.Equal(first[i], second[k]); got != (i == k) {
				t.Errorf("%s and %s: %v", same[i], same[k], got)
			}
		}
	}
}

func TestConjuncts(t *testing.T) {
	r := resolver()
	if n := len(scalar.Conjuncts(mustResolve(t, r, "i4 > 1 AND (b AND i2 < 3) AND (i4 = 1 OR b)"))); n != 4 {
		t.Errorf("%d conjuncts", n)
	}
}

func TestColumns(t *testing.T) {
	x := mustResolve(t, resolver(), "CASE WHEN b THEN i4 + i2 ELSE i4 END > nn")
	var names []string
	for _, c := range x.Columns() {
		names = append(names, c.Name)
	}
	if want := "[b i4 i2 nn]"; want != sprint(names) {
		t.Errorf("%v, want %s", names, want)
	}
}

// TestConditionHook hands sub-selects to whoever knows relations.
func TestConditionHook(t *testing.T) {
	r := resolver()
	uses := columns()["i4"]
	r.Condition = func(e ast.Expr) (scalar.Expr, error) {
		return &scalar.Query{Uses: []*scalar.Column{uses}, At: e.Pos()}, nil
	}
	x := mustResolve(t, r, "EXISTS (SELECT FROM pg_class) AND b")
	query := func(*scalar.Writer, *scalar.Query) (string, error) { return "EXISTS (SELECT)", nil }
	sql, err := (&scalar.Writer{Env: &scalar.Env{}, Query: query}).Expr(x)
	if want := `(EXISTS (SELECT) AND t0."b")`; err != nil || sql != want {
		t.Errorf("%s, %v", sql, err)
	}
	if len(x.Columns()) != 2 {
		t.Errorf("columns %v", x.Columns())
	}
}

func sprint(names []string) string { return "[" + strings.Join(names, " ") + "]" }

func TestMagnitude(t *testing.T) {
	all := columns()
	for _, c := range []struct {
		mod    int32
		digits int
		known  bool
	}{
		{(12<<16 | 2) + 4, 10, true},
		{18<<16 + 4, 18, true},
		{(2<<16 | 5) + 4, 0, true},     // below 0.001
		{(3<<16 | 2046) + 4, 0, false}, // a scale of -2
		{-1, 0, false},
	} {
		column := *all["num"]
		column.Type.Mod = c.mod
		for _, x := range []*scalar.Column{&column, {Type: column.Type, Of: []scalar.Expr{&scalar.Ref{Column: &column}}}} {
			if digits, known := scalar.Magnitude(&scalar.Ref{Column: x}); digits != c.digits || known != c.known {
				t.Errorf("modifier %d: %d digits, %v; want %d, %v", c.mod, digits, known, c.digits, c.known)
			}
		}
	}
	r := resolver()
	for _, x := range []string{"num + 1", "-num", "coalesce(num, 1)", "num::numeric(4,2)", "i4", "f8"} {
		if digits, known := scalar.Magnitude(mustResolve(t, r, x)); known {
			t.Errorf("%s has %d digits by its type", x, digits)
		}
	}
	computed := &scalar.Column{Type: all["num"].Type, Of: []scalar.Expr{mustResolve(t, r, "num + 1")}}
	if digits, known := scalar.Magnitude(&scalar.Ref{Column: computed}); known {
		t.Errorf("a column that is computed below has %d digits by its type", digits)
	}
}

// TestWithin holds what is said about one column: where a condition is true, its part is.
func TestWithin(t *testing.T) {
	for where, want := range map[string]string{
		"i4 > 3":                                "i4 > 3",
		"i4 > 3 AND b":                          "i4 > 3",
		"i4 > 3 AND b AND i4 < 7":               "i4 > 3 AND i4 < 7",
		"i4 > 3 OR i4 IS NULL":                  "i4 > 3 OR i4 IS NULL",
		"i4 > 3 AND b OR i4 = 1 AND i2 = 2":     "i4 > 3 OR i4 = 1",
		"b AND (i4 > 3 AND b OR i4 = 1)":        "i4 > 3 OR i4 = 1",
		"i4 > 3 AND i4 < 7 AND b OR NOT i4 = 1": "i4 > 3 AND i4 < 7 OR NOT i4 = 1",
		"i4 > 3 OR b":                           "",
		"i4 > 3 AND b OR i2 = 2":                "",
		"i4 > i2":                               "",
		"NOT (i4 > 3 AND b)":                    "",
		"CASE WHEN b THEN i4 > 3 END":           "",
		"i4 > 3 AND b OR 1 = 2":                 "",
	} {
		r := resolver()
		of := func(c *scalar.Column) bool { return c.Name == "i4" }
		got := scalar.Within(mustResolve(t, r, where), of)
		switch {
		case got == nil && want != "":
			t.Errorf("%s: nothing, not %s", where, want)
		case got != nil && (want == "" || !scalar.Equal(got, mustResolve(t, r, want))):
			t.Errorf("%s: not %s", where, want)
		}
	}
}
