package scalar_test

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// numbered writes n constants from a template, in which # is a number from 0 on, and some more.
func numbered(n int, template string, more ...string) string {
	list := more
	for i := range n {
		list = append(list, strings.ReplaceAll(template, "#", strconv.Itoa(i)))
	}
	return strings.Join(list, ", ")
}

// longLists are values that rows of t have among many others, by column.
var longLists = map[string]string{
	"i2": numbered(150, "#"), "i4": numbered(5000, "#", "12345"), "i8": numbered(150, "#", "9876543210", "'-1'"),
	"nn": numbered(120, "#.0"),
	"iu": numbered(150, "#", "2.5", "42"), "num": numbered(150, "#", "99.5", "'-1000.5'"), "nf": numbered(150, "0.#", "'NaN'", "1e-28"),
	"nu": numbered(150, "#", "2.5", "'1e20'"),
	"f4": numbered(150, "#.5"), "f8": numbered(150, "#", "'-0'", "'NaN'", "-0.1"), "fu": numbered(150, "#", "'Infinity'", "2.5"),
	"b":  numbered(150, "'f'"),
	"d":  numbered(150, "'2020-02-29'::date + #", "'infinity'", "'2021-03-14'"),
	"du": numbered(150, "'2020-02-29'::timestamp + interval '#' day", "'2021-01-01'::date"),
	"ts": numbered(150, "'2022-11-06 01:30:00'::timestamp + interval '#' day"),
	"tz": numbered(150, "'2020-01-01'::date + #", "'2022-11-06 05:30:00+00'::timestamptz"),
	"tm": numbered(150, "'12:34:56'"), "iv": numbered(150, "interval '# days'", "'1 mon 3 days'"),
	"s": numbered(150, "'a#'", "''", "'Ärger über Öl'"),
	"v": numbered(150, "'a#'", "'a b c'"), "c": numbered(150, "'a#  '", "'ab'", "'abcde  '"), "cc": numbered(150, "'x#'", "'xyz'"),
	"nd": numbered(150, "'x#'", "'ABC'"),
	"e":  numbered(150, "'sad'", "'ok'"), "id": numbered(150, "'00000000-0000-0000-0000-000000000001'"),
	"lower(v)": numbered(150, "'a#'", "'a b c'", "repeat('x', 2000)"), "nullif(i2, 7)": numbered(150, "#"),
}

// TestLongLists compares IN and NOT IN of many constants with plain Postgres.
func TestLongLists(t *testing.T) {
	db := open(t)
	for column, list := range longLists {
		for _, text := range []string{
			column + " IN (" + list + ")", column + " NOT IN (" + list + ")", column + " NOT IN (" + list + ", NULL)",
			column + " IN (NULL, " + list + ")",
		} {
			if err := db.check(t.Context(), text); err != nil {
				t.Errorf("%.200s\n\t%.3000v", text, err)
			}
			r := resolver()
			e, _, err := parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Expr(e); err != nil || len(r.Constants.Folds()) > 2 {
				t.Errorf("%.200s: %d constants, %v", text, len(r.Constants.Folds()), err)
			}
		}
	}
}

// A long list narrows a sensitivity as a short one does, and has a limit.
func TestLongListBounds(t *testing.T) {
	db, r := open(t), resolver()
	where, _, err := parse("i4 IN (" + numbered(150, "#", "-7") + ")")
	if err != nil {
		t.Fatal(err)
	}
	cond, err := r.Boolean(where)
	if err != nil {
		t.Fatal(err)
	}
	e, _, err := parse("i4")
	if err != nil {
		t.Fatal(err)
	}
	res, err := db.resolve(t.Context(), r, e)
	if err != nil {
		t.Fatal(err)
	}
	in := res.env.Narrowed(res.x, []scalar.Expr{cond})
	if in.Null || in.Low == nil || in.Low.Cmp(big.NewRat(-7, 1)) != 0 || in.High.Cmp(big.NewRat(149, 1)) != 0 {
		t.Errorf("narrowed to %s", drawInterval(in))
	}
	e, _, err = parse("i4 IN (" + numbered(10_001, "#") + ")")
	if err != nil {
		t.Fatal(err)
	}
	_, err = resolver().Expr(e)
	if refused, ok := errors.AsType[*pgerr.Error](err); !ok || refused.Code != pgerr.ProgramLimitExceeded || refused.Hint == "" {
		t.Errorf("10,001 constants: %v", err)
	}
}

// TestListed counts the values of a list of constants. One that cannot be read has no number that a proof could take.
func TestListed(t *testing.T) {
	r := resolver()
	list, err := r.List(ast.List{Array: &ast.Array{Elems: []ast.Expr{&ast.Const{Kind: ast.Integer, Text: "1"}}}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	array := func(cells ...[]byte) []byte { // as array_send writes it
		b := []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, byte(len(cells)), 0, 0, 0, 1}
		for _, c := range cells {
			if c == nil {
				b = append(b, 255, 255, 255, 255)
				continue
			}
			b = append(append(b, 0, 0, 0, byte(len(c))), c...)
		}
		return b
	}
	one, two := []byte{0, 0, 0, 1}, []byte{0, 0, 0, 2}
	for _, c := range []struct {
		value             scalar.Value
		n                 int64
		distinct, notNull bool
	}{
		{scalar.Value{Binary: true, Bytes: array(one, two)}, 2, true, true},
		{scalar.Value{Binary: true, Bytes: array(one, two, one)}, 3, false, true},
		{scalar.Value{Binary: true, Bytes: array(one, nil)}, 2, true, false},
		{scalar.Value{}, 0, true, true},
		{scalar.Value{Bytes: []byte("{1,2}")}, -1, false, false},
		{scalar.Value{Binary: true, Bytes: array(one, two)[:25]}, -1, false, false},
	} {
		n, notNull := scalar.Values{c.value}.Listed(list)
		distinct := scalar.Values{c.value}.Different([]scalar.Expr{list})
		if n != c.n || distinct != c.distinct || notNull != c.notNull {
			t.Errorf("%v: %d, %t, %t", c.value, n, distinct, notNull)
		}
	}
	if n, _ := (scalar.Values{}).Listed(list); n >= 0 {
		t.Errorf("%d values before they are known", n)
	}
}
