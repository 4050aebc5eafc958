package suggest_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/suggest"
)

// TestDeclared holds that declared values which a type or a constraint excludes are found, and values that it admits and that are not
// declared, and that a condition which is not understood says nothing.
func TestDeclared(t *testing.T) {
	const int4, texts, date, boolean, padded = 23, 25, 1082, 16, 1042
	for _, c := range []struct {
		name           string
		typ            uint32
		check          string
		values         string
		never, missing string
	}{
		{"a list of numbers", int4, "(g = ANY (ARRAY[1, 2]))", "0 1", "0", "2"},
		{"all of a list", int4, "(g = ANY (ARRAY[1, 2]))", "2 1", "", ""},
		{
			"a list of texts", texts,
			"((g)::text = ANY ((ARRAY['f'::character varying, 'm'::character varying])::text[]))", "f x", "x", "m",
		},
		{"alternatives", texts, "((g = 'f'::text) OR (g = 'm'::text) OR (g IS NULL))", "f x", "x", "m"},
		{"alternatives, one of which is not understood", texts, "((g = 'f'::text) OR (lower(g) = 'm'::text))", "f x", "", ""},
		{"alternatives with another column", texts, "((g = 'f'::text) OR ((g = 'm'::text) AND (h > 3)))", "f x", "x", "m"},
		{"another column", int4, "(h > 3)", "0 1", "", ""},
		{"a value that is excluded", texts, "(g <> 'x'::text)", "f x", "x", ""},
		{"values that are excluded", texts, "(g <> ALL (ARRAY['x'::text, 'y'::text]))", "f x", "x", ""},
		{"NOT", texts, "(NOT (g = ANY (ARRAY['x'::text, 'y'::text])))", "f x", "x", ""},
		{"a range", int4, "((g >= 1) AND (g <= 9))", "0 1 2 3 4 5 6 7 10", "0 10", "8 9"},
		{"an open range", int4, "((g > 0) AND (g < 4))", "0 1 2 4", "0 4", "3"},
		{"half a range", int4, "(g > 0)", "-1 0 5", "-1 0", ""},
		{"the constant first", int4, "(0 < g)", "0 5", "0", ""},
		{"negative numbers", int4, "((g >= '-1'::integer) AND (g <= 1))", "-2 -1 0", "-2", "1"},
		{"BETWEEN", int4, "((g BETWEEN 1 AND 2))", "1 3", "3", "2"},
		{"a long range", int4, "((g >= 0) AND (g <= 5000))", "1 6000", "6000", ""},
		{"ends of a list", int4, "(g = ANY (ARRAY[1, 9]))", "1 5", "5", "9"},
		{"arithmetic", int4, "((g % 2) = 0)", "0 1", "", ""},
		{"order of texts", texts, "(g > 'm'::text)", "f x", "", ""},
		{"a text that is cast to a number", texts, "((g)::integer = 1)", "01 1 2", "", ""},
		{"a pattern", texts, "(g ~ '^[fm]$'::text)", "f x", "", ""},
		{"the empty text", texts, "(g = ANY (ARRAY['f'::text, ''::text]))", "f x", "", ""},
		{"NULL in a list", texts, "(g = ANY (ARRAY['f'::text, NULL::text]))", "f x", "", ""},
		{
			"days", date, "((g >= '2020-01-01'::date) AND (g < '2021-01-01'::date))",
			"2019-12-31 2020-01-01 2021-01-01", "2019-12-31 2021-01-01", "",
		},
		{"booleans", boolean, "", "true", "", "false"},
		{"padded texts", padded, "(g = ANY (ARRAY['f  '::bpchar, 'm'::bpchar]))", "f x", "x", "m"},
		{"nothing declared", int4, "(g = ANY (ARRAY[1, 2]))", "", "", ""},
	} {
		for _, ofDomain := range []bool{false, true} {
			src, people := column("g", c.typ, "x"), catalog.Table{Checks: []catalog.Check{{Expr: c.check}}}
			if ofDomain {
				called := strings.NewReplacer("g ", "VALUE ", "(g)", "(VALUE)", " g)", " VALUE)").Replace(c.check)
				src.Checks, people.Checks = []string{called}, nil
			}
			never, missing := suggest.Declared(&people, &src, strings.Fields(c.values), nil)
			if n, m := strings.Join(never, " "), strings.Join(missing, " "); n != c.never || m != c.missing {
				t.Errorf("%s, of a domain %v: never %q, missing %q", c.name, ofDomain, n, m)
			}
		}
	}
	mood := column("mood", 20001, "mood")
	mood.Type.Kind = 'e'
	people := catalog.Table{Checks: []catalog.Check{{Expr: "(mood <> 'happy'::mood)"}}}
	never, missing := suggest.Declared(&people, &mood, []string{"sad", "angry"}, []string{"sad", "ok", "happy"})
	if strings.Join(never, " ") != "angry" || strings.Join(missing, " ") != "ok" {
		t.Errorf("of an enum: never %q, missing %q", never, missing)
	}
}
