package scalar_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// bounding resolves the columns of t, of which an expression has bounds.
func bounding(text, low, high string) (*scalar.Resolver, error) {
	tree, refusal := parser.ParseDerived(text)
	if refusal != nil {
		return nil, refusal
	}
	r := resolver()
	b, err := scalar.NewBounded("x", text, tree, r.Column)
	if err != nil {
		return nil, err
	}
	b.Bounds = &scalar.Bounds{LowText: low, HighText: high}
	if b.Expr().Type().Number() {
		b.Bounds.Low, _ = new(big.Rat).SetString(low)
		b.Bounds.High, _ = new(big.Rat).SetString(high)
	}
	row, plain := &scalar.Row{Bounded: []*scalar.Bounded{b}}, r.Column
	r.Column = func(ref *ast.Column) (*scalar.Column, error) {
		c, err := plain(ref)
		if err == nil {
			c.Row = row
		}
		return c, err
	}
	return r, nil
}

// boundedCases are expressions with bounds, and ones that compute them; in what plain Postgres has to compute, {} is the clamped value.
var boundedCases = []struct{ is, low, high, text, native string }{
	{"i4 - i2", "0", "60", "i4 - i2", "i4 - i2"}, // as it is
	{"i4 - i2", "0", "60", "i4 - i2 > 60", "i4 - i2 > 60"},
	{"i4 - i2", "0", "60", "(i4 - i2) IS NULL", "(i4 - i2) IS NULL"},
	{"i4 - i2", "0", "60", "(i4 - i2)::float8", "(i4 - i2)::float8"},
	{"i4 - i2", "0", "60", "(i4 - i2) * 2", "{} * 2"},
	{"i4 - i2", "-5", "-3", "abs(i4 - i2)", "abs({})"},
	{"i4 - i2", "0", "60", "i2 - i4 + 1", "i2 - i4 + 1"}, // another expression
	{"i4 + nn", "0", "60", "(nn + i4) * 2", "{} * 2"},
	{"i4 * nn + 2", "0", "60", "(2 + nn * i4) * 2", "{} * 2"},
	{"i4 * nn + 2", "0", "60", "(nn * i4 + 3) * 2", "(nn * i4 + 3) * 2"},
	{"i4 * nn", "0", "1000", "-(i4 * nn)", "-{}"},
	{"i2 * 2 + i8", "0", "1000", "(i8 + 2 * i2) - 1", "{} - 1"},
	{"d + i2", "2021-01-01", "2021-12-31", "(i2 + d) - d", "{} - d"},
	{"i8 * i8", "0", "1e30", "i8 * i8 - i2", "LEAST(GREATEST(i8::numeric * i8, 0), 9223372036854775807)::int8 - i2"},
	{"num / i2", "0", "10.005", "round(num / i2, 1)", "round({}, 1)"},
	{"num * num", "0.00001", "10.00001", "num * num + nn", clampOf("num * num", "0.0000", "10.0001") + " + nn"}, // rounded outward
	{"num * num", "-10", "10", "num * num + nn", "{} + nn"},
	{"f8 / f4", "-1", "1", "f8 / f4 * 2", "{} * 2"},
	{"f8 * f8", "0", "0.0078125", "f8 * f8 * f8", "{} * f8"},
	{"sqrt(abs(f8))", "1", "20", "sqrt(abs(f8)) / 2", "{} / 2"},
	{"length(s)", "0", "3", "length(s) - 1", "{} - 1"},
	{"d - '2021-01-01'::date", "0", "100", "d - '2021-01-01'::date + 1", "{} + 1"},
	{"d - ts::date", "0", "100", "d - ts::date + 1", "{} + 1"},
	{"d + 30", "2021-01-01", "2021-12-31", "d + 30 - d", "{} - d"},
	{"ts + interval '1 day'", "2021-01-01", "2021-12-31 12:00:00", "extract(doy FROM ts + interval '1 day')", "extract(doy FROM {})"},
	{"ts - tz::timestamp", "0 days", "60 days", "extract(epoch FROM ts - tz::timestamp)", "extract(epoch FROM {})"},
	{"ts - d", "-1 days -12:00:00", "1 day 12:00:00", "extract(day FROM ts - d)", "extract(day FROM {})"},
	{"ts - d", "-00:30", "1 day 01:02:03.5", "extract(epoch FROM (ts - d)) * 2", "extract(epoch FROM {}) * 2"},
	{"ts - d", "0 days", "60 days", "ts - d > interval '60 days'", "ts - d > interval '60 days'"},
	{"ts - d", "0 days", "60 days", "(ts - d) IS NULL", "(ts - d) IS NULL"},
	{"ts - d", "0 days", "60 days", "extract(epoch FROM d - ts)", "extract(epoch FROM d - ts)"},
	{"ts - d", "1 day", "2 days", "extract(epoch FROM COALESCE(ts - d, ts - ts))", "extract(epoch FROM COALESCE({}, ts - ts))"},
	{"tz - d", "1 day", "2 days", "extract(epoch FROM tz - d)", "extract(epoch FROM {})"},
	{"extract(year FROM d)", "2021", "2022", "extract(year FROM d) + 1", "{} + 1"},
	{"COALESCE(i4, 0) - i2", "0", "60", "(COALESCE(i4, 0) - i2) * 2", "{} * 2"},
	{"CASE WHEN b THEN i4 ELSE i2 END - nn", "0", "60", "(CASE WHEN b THEN i4 ELSE i2 END - nn) * 2", "{} * 2"},
}

// TestBounded computes expressions that the policy bounds over rows that are made to break them.
func TestBounded(t *testing.T) {
	db := open(t)
	for _, c := range boundedCases {
		r, err := bounding(c.is, c.low, c.high)
		if err != nil {
			t.Errorf("%s: %v", c.is, err)
			continue
		}
		e, _, err := parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		res, err := db.resolve(t.Context(), r, e)
		if err == nil {
			err = db.total(t.Context(), res, strings.ReplaceAll(c.native, "{}", clampOf(c.is, c.low, c.high)))
		}
		if err != nil {
			t.Errorf("%s of %s in [%s, %s]\n\t%v", c.text, c.is, c.low, c.high, err)
		}
	}
}

// clampOf writes a clamp as plain Postgres computes it.
func clampOf(x, low, high string) string {
	if strings.Contains(low, "-01-01") || strings.Contains(high, ":") || strings.Contains(high, "day") {
		low, high = "'"+low+"'", "'"+high+"'"
	}
	return fmt.Sprintf("(CASE WHEN %[1]s IS NOT NULL THEN LEAST(GREATEST(%[1]s, %[2]s), %[3]s) END)", x, low, high)
}

// TestBoundedBelow computes with columns of derived tables that stand for expressions that the policy bounds: they are as columns of
// tables that it bounds.
func TestBoundedBelow(t *testing.T) {
	db := open(t)
	for _, c := range []struct {
		text, native string
		branches     []string
	}{
		{"s", "s", []string{"i4 - i2"}},
		{"s > 60", "s > 60", []string{"i4 - i2"}},
		{"s + 1", clampOf("s", "0", "60") + " + 1", []string{"i4 - i2"}},
		{"s + 1", "s + 1", []string{"i4 - nn"}},
		{"s * 0", "s * 0", []string{"i4 - i2", "i4"}},
		{"s - s", "s - s", []string{"i4", "i4 - i2"}},
		{"extract(epoch FROM s)", "extract(epoch FROM " + clampOf("s", "0 days", "60 days") + ")", []string{"ts - d"}},
		{"extract(epoch FROM s)", "extract(epoch FROM " + clampOf("s", "0 days", "60 days") + ")", []string{"ts - d", "ts - ts"}},
		{"s > interval '60 days'", "s > interval '60 days'", []string{"ts - d"}},
		{"s IS NULL", "s IS NULL", []string{"ts - d", "ts - ts"}},
	} {
		r, err := bounding("i4 - i2", "0", "60")
		if strings.Contains(c.branches[0], "ts") {
			r, err = bounding("ts - d", "0 days", "60 days")
		}
		if err == nil {
			err = db.derivedAs(t.Context(), r, c.text, c.native, c.branches...)
		}
		if err != nil {
			t.Errorf("%s of %q\n\t%v", c.text, c.branches, err)
		}
	}
}

// boundedKinds have bounds of random expressions, on either side of zero, on it, wide and far, and what is computed of these.
var boundedKinds = map[string]struct {
	bounds [][2]string
	outer  []string
}{
	"int": {
		[][2]string{{"0", "60"}, {"-7.5", "-3"}, {"0", "0"}, {"-1e30", "1e30"}, {"4e9", "5e9"}},
		[]string{"%s * 2 - 1", "100 / %s", "(%s)::int2"},
	},
	"numeric": {[][2]string{{"0", "60"}, {"-7.123456789", "0.001"}, {"1e-40", "1e40"}}, []string{"%s / 3", "7 / %s", "%s * %[1]s"}},
	"float":   {[][2]string{{"0", "60"}, {"-1e-200", "1e-90"}, {"1", "1e300"}}, []string{"%s * %[1]s", "1 / %s", "(%s)::float4"}},
	"date": {
		[][2]string{{"2021-01-01", "2021-12-31"}, {"1900-01-01", "1900-01-01"}},
		[]string{"%s + 1", "%s - d", "date_trunc('month', %s)"},
	},
	"interval": {
		[][2]string{{"0 days", "60 days"}, {"-12:00:00", "-00:00:01"}, {"1 day", "36:00:00.5"}},
		[]string{
			"extract(epoch FROM %s)", "%s > '1 day'", "extract(epoch FROM COALESCE(%s, ts - d))", "extract(day FROM GREATEST(%s, ts - ts))",
		},
	},
	"timestamp": {
		[][2]string{{"2021-01-01 00:00:00", "2021-12-31 12:00:00.5"}}, []string{"extract(year FROM %s)", "%s - ts", "(%s)::date"},
	},
}

// TestBoundedRandom computes with random expressions that have bounds: none can fail, and all are where they are said to be.
func TestBoundedRandom(t *testing.T) {
	db := open(t)
	accepted := 0
	rapid.Check(t, func(r *rapid.T) {
		for range 5 {
			kind := rapid.SampledFrom([]string{"int", "numeric", "float", "date", "timestamp", "interval"}).Draw(r, "kind")
			of := boundedKinds[kind]
			is := randomExpr(r, kind, rapid.IntRange(1, 3).Draw(r, "depth"))
			bounds, outer := rapid.SampledFrom(of.bounds).Draw(r, "bounds"), rapid.SampledFrom(of.outer).Draw(r, "outer")
			text := fmt.Sprintf(strings.Replace(outer, "%s", "(%[1]s)", 1), "("+is+")")
			err := db.boundedOnly(context.Background(), is, bounds[0], bounds[1], text)
			var refusal *pgerr.Error
			switch {
			case errors.As(err, &refusal) && refusal.Code == pgerr.Internal:
				r.Fatalf("%s of %s in %v\n%v", text, is, bounds, err)
			case errors.As(err, &refusal), errors.Is(err, errMirror):
			case err != nil:
				r.Fatalf("%s of %s in %v\n%v", text, is, bounds, err)
			default:
				accepted++
			}
		}
	})
	if accepted < 50 {
		t.Errorf("only %d expressions were accepted", accepted)
	}
}

// boundedOnly computes an expression over another that has bounds, for its failures and bounds alone.
func (db *database) boundedOnly(ctx context.Context, is, low, high, text string) error {
	r, err := bounding(is, low, high)
	if err != nil {
		return err
	}
	e, _, err := parse(text)
	if err != nil {
		return err
	}
	res, err := db.resolve(ctx, r, e)
	if err != nil {
		return err
	}
	_, _, err = db.rowsWithin(ctx, res)
	return err
}

// TestNoBounds lists expressions that a policy cannot bound.
func TestNoBounds(t *testing.T) {
	for text, want := range map[string]string{
		"i4":                          "no operator or function",
		"COALESCE(i4, i2)":            "no operator or function",
		"(i4 - i2)::numeric":          "no operator or function",
		"CASE WHEN b THEN i4 - 1 END": "no operator or function",
		"i4 > 3":                      "no operator or function",
		"1 + 2":                       "names no column",
		"upper(s)":                    "type text",
		"age(ts, d)":                  "no difference of two timestamps",
		"count(i4)":                   "aggregate",
		"sum(i4) OVER ()":             "window function",
		"i4 + (SELECT 1)":             "sub-select",
		"i4 + $1":                     "parameter",
		"current_date - d":            "value of the session",
		"i4 - random()":               "random()",
		"i4 + unknown":                "no column",
		"pg_sleep(i4)":                "pg_sleep()",
		"i4 - i2; SELECT 1":           "no expression",
		"i4 - ":                       "no expression",
		"i4 - i2 FROM t":              "no expression",
		"i4 - i2 -- days":             "comments",
		"i4, i2":                      "no expression",
		"EXISTS (SELECT 1)":           "sub-select",
	} {
		if _, err := bounding(text, "0", "1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, which does not say %q", text, err, want)
		}
	}
}

// TestBoundedNative holds that no mirror computes an expression that has bounds, which are of the protected database alone.
func TestBoundedNative(t *testing.T) {
	r, err := bounding("i4 - i2", "0", "60")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"i4 - i2": false, "(i4 - i2) * 2": false, "i2 - i4": true} {
		e, _, err := parse(text)
		if err != nil {
			t.Fatal(err)
		}
		x, err := r.Expr(e)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := scalar.Native(x, (*scalar.Column).Read, r.Constants.Inlined(false)); ok != want {
			t.Errorf("%s is computed on the mirror: %t", text, ok)
		}
	}
}
