package scalar_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// about are expressions, each with constants that lie close together, and constants of other types beside them.
var about = [][]string{
	{"i4", "0", "1", "-1", "1.0", "0.5", "1::int8", "$1", "4", "12345", "1000000", "1000001", "NULL", "'1'", "0::int2"},
	{"i4::int8", "0", "1", "1000000", "1000001", "-1000000", "-1000001", "0.5"},
	{"i2", "32767", "32768", "-32768", "-32769", "0", "7", "1e0", "'NaN'::float8"},
	{"i8", "9223372036854775807", "-9223372036854775808", "0", "0.5", "3e18"},
	{"i8::float8", "0", "9223372036854775807", "9223372036854775800"},
	{"num", "0", "0.01", "0.005", "99.50", "99.5", "99.499", "'NaN'::numeric", "9999999999.99", "-0.01", "$3"},
	{"num::numeric(12,2)", "99999.99", "100000", "-1000.5", "0"},
	{"nu", "2.5", "2.50", "1e20", "'Infinity'::numeric", "'-Infinity'::numeric", "'NaN'::numeric", "0"},
	{"f8", "0", "'-0'::float8", "'NaN'::float8", "'Infinity'::float8", "-0.1", "1e308", "NULL::float8"},
	{"f4::float8", "1.5", "1000", "'NaN'::float8", "'-Infinity'::float8"},
	{
		"d", "'2021-03-14'", "'2021-03-14'::timestamp", "'2021-03-14 12:00'::timestamp", "'2021-03-15'", "'infinity'::date",
		"'2020-01-01'", "'2019-12-31'",
	},
	{"d::date", "'2024-12-31'", "'2025-01-01'", "'2020-01-01'", "'2021-03-14'"},
	{"d::timestamp", "'2024-12-31'", "'2024-12-31 00:00:01'", "'2020-01-01'", "'2021-03-14 06:00'"},
	{
		"ts", "'2022-11-06 01:30:00'", "'2022-11-06'", "'2022-11-07'", "'2022-11-06'::date", "'2020-01-01'", "'infinity'",
		"'2024-12-31 23:59:59.5'", "'2020-01-01'::date",
	},
	{"ts::date", "'2022-11-06'", "'2022-11-07'", "'2020-01-01'", "'2024-12-31'", "'2025-01-01'"},
	{"tz", "'2022-11-06 05:30:00+00'", "$4", "'-infinity'"},
	{
		"d::timestamptz", "'2021-03-14 00:00+00'", "'2021-03-14 00:00+02'", "'2021-03-14 06:00+00'", "'2024-12-31'", "'2025-01-01'",
		"'2020-01-01'", "'infinity'", "'2021-03-14'::date", "'2021-03-14 06:00'::timestamp",
	},
	{"d", "'2021-03-14 00:00+00'::timestamptz", "'2021-03-14 06:00+00'::timestamptz", "'2021-03-15'", "'2021-03-15 00:00+00'::timestamptz"},
	{"ts::timestamptz", "'2022-11-06 01:30:00+00'", "'2022-11-06'", "'2022-11-06 01:30:00'::timestamp", "'2024-12-31 23:59:59.5+00'"},
	{"tz::date", "'2022-11-06'", "'2022-11-07'", "'2022-11-06 05:30:00+00'::timestamptz"},
	{"tz::timestamp", "'2022-11-06 05:30:00'", "'2022-11-06'", "'2022-11-06 05:30:00+00'"},
	{"v", "'a b c'", "''", "'ABCDEFGHIJ'", "$2", "NULL"},
	{"s", "''", "'  spaced  '", "'x'"},
	{"c", "'ab'", "'ab '", "''"},
	{"e", "'ok'", "'sad'", "'happy'"},
	{"id", "'00000000-0000-0000-0000-000000000001'", "'00000000-0000-0000-0000-000000000002'"},
	{"b", "true", "false", "NULL"},
	{"nn + 1", "4", "4.0", "3", "11"},
	{"lower(v)", "'a b c'", "''", "'abcdefghij'"},
	{"nn", "iu", "i4", "3", "i2"},
}

// randomTest is a condition about one of the expressions.
func randomTest(r *rapid.T, depth int) string {
	if depth > 0 && rapid.IntRange(0, 2).Draw(r, "join") > 0 {
		word := rapid.SampledFrom([]string{"AND", "OR", "AND", "IS TRUE", "IS NOT TRUE", "IS FALSE", "IS UNKNOWN", "NOT"}).Draw(r, "word")
		x := randomTest(r, depth-1)
		switch word {
		case "AND", "OR":
			return "(" + x + ") " + word + " (" + randomTest(r, depth-1) + ")"
		case "NOT":
			return "NOT (" + x + ")"
		}
		return "(" + x + ") " + word
	}
	list := rapid.SampledFrom(about).Draw(r, "about")
	constant := func() string { return rapid.SampledFrom(list[1:]).Draw(r, "constant") }
	x, form := list[0], rapid.SampledFrom([]string{
		"=", "<>", "<", "<=", ">", ">=", "turned", "turned", "IN", "NOT IN", "BETWEEN", "NOT BETWEEN", "SYMMETRIC", "NULL", "NOT NULL",
		"DISTINCT", "NOT DISTINCT", "ANY", "ALL",
	}).Draw(r, "form")
	op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(r, "operator")
	switch form {
	case "turned":
		return constant() + " " + op + " " + x
	case "IN", "NOT IN":
		items := make([]string, rapid.IntRange(1, 11).Draw(r, "items"))
		for i := range items {
			items[i] = constant()
		}
		return x + " " + form + " (" + strings.Join(items, ", ") + ")"
	case "BETWEEN", "NOT BETWEEN":
		return x + " " + form + " " + constant() + " AND " + constant()
	case "SYMMETRIC":
		return x + " BETWEEN SYMMETRIC " + constant() + " AND " + constant()
	case "NULL", "NOT NULL":
		return x + " IS " + form
	case "DISTINCT", "NOT DISTINCT":
		return x + " IS " + form + " FROM " + constant()
	case "ANY":
		return x + " = ANY (ARRAY[" + constant() + ", " + constant() + "])"
	case "ALL":
		return x + " <> ALL (ARRAY[" + constant() + ", " + constant() + "])"
	}
	return x + " " + form + " " + constant()
}

// asked is a condition that was seen, with its value for each row.
type asked struct {
	text   string
	values []string
}

// TestNormalForms holds that conditions with one normal form are the same for each row of the fixture, as it is written for DATA: true for
// the same rows, and, if the form is whole, also false for the same rows. Many conditions must meet in one form.
func TestNormalForms(t *testing.T) {
	db := open(t)
	whole, only := map[string]asked{}, map[string]asked{}
	met, all := 0, 0
	see := func(r *rapid.T, forms map[string]asked, form string, now asked) {
		before, ok := forms[form]
		if !ok {
			forms[form] = now
			return
		}
		if before.text != now.text {
			met++
		}
		if !slices.Equal(before.values, now.values) {
			r.Fatalf("%s\n%s\nhave one form, %s, and different values:\n%v\n%v", before.text, now.text, form, before.values, now.values)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		for range 10 {
			text := randomTest(r, rapid.IntRange(0, 2).Draw(r, "depth"))
			values, form, trueForm, err := db.normal(context.Background(), text)
			var refusal *pgerr.Error
			if errors.As(err, &refusal) && refusal.Code != pgerr.Internal || errors.Is(err, errMirror) {
				continue
			}
			if err != nil {
				r.Fatalf("%s\n%v", text, err)
			}
			all++
			see(r, whole, form, asked{text, values})
			isTrue := slices.Clone(values)
			for i, v := range isTrue {
				if v != "true" {
					isTrue[i] = "not true"
				}
			}
			see(r, only, trueForm, asked{text, isTrue})
		}
	})
	if met < all/10 {
		t.Errorf("of %d conditions only %d met another one in its form", all, met)
	}
	t.Logf("%d conditions, %d met another one in its form", all, met)
}

// normal returns the value of a condition for each row, and its normal forms: whole, and as a condition that must be true.
func (db *database) normal(ctx context.Context, text string) (values []string, form, trueForm string, err error) {
	res, err := db.resolved(ctx, text)
	if err != nil {
		return nil, "", "", err
	}
	sql, err := value(res.writer(), res.x)
	if err != nil {
		return nil, "", "", err
	}
	rows, err := db.query(ctx, res.env, "SELECT CAST("+sql+" AS pg_catalog.text) FROM public.t AS t0 ORDER BY k")
	if err != nil {
		return nil, "", "", err
	}
	for _, row := range rows {
		if row[0] == nil {
			values = append(values, "NULL")
		} else {
			values = append(values, *row[0])
		}
	}
	w := normalWriter(res)
	if form, err = w.Expr(res.x); err != nil {
		return nil, "", "", err
	}
	conditions, err := normalWriter(res).All([]scalar.Expr{res.x})
	return values, form, strings.Join(conditions, " AND "), err
}

func normalWriter(res *resolved) *scalar.Writer {
	w := res.writer()
	w.Normal = scalar.NormalForms{}
	w.Fold = func(i int) string {
		v := res.env.Values[i]
		return fmt.Sprintf("<%d %t %s>", v.OID, v.Bytes == nil, hex.EncodeToString(v.Bytes))
	}
	return w
}
