package pgtype_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/internal/stattest"
	"dpproxy/planner/pgtype"
)

// An overload is a function that says which of its name it is.
type overload struct {
	types []string
	n     int
}

// Arguments implements pgtype.Overload.
func (o overload) Arguments() []uint32 {
	var list []uint32
	for _, t := range o.types {
		list = append(list, oid(t))
	}
	return list
}

// answer is how Postgres answers to a call that picks an overload.
func answer(o overload, ok bool) string {
	if !ok {
		return "none"
	}
	return strconv.Itoa(o.n)
}

// overloads are different functions of as many arguments, of a few types.
func overloads(rng *rand.Rand, arity int) []overload {
	types := names()
	rng.Shuffle(len(types), func(i, j int) { types[i], types[j] = types[j], types[i] })
	types = types[:2+rng.IntN(6)]
	var list []overload
	seen := map[string]bool{}
	for range 1 + rng.IntN(8) {
		o := overload{n: len(list)}
		for range arity {
			o.types = append(o.types, types[rng.IntN(len(types))])
		}
		if key := strings.Join(o.types, ","); !seen[key] {
			seen[key] = true
			list = append(list, o)
		}
	}
	return list
}

// define writes the overloads as functions f of a schema, and as operators of it where they
// have two arguments.
func define(schema string, list []overload) string {
	var b strings.Builder
	fmt.Fprintf(&b, "DROP SCHEMA IF EXISTS %s CASCADE; CREATE SCHEMA %[1]s;", schema)
	for _, o := range list {
		fmt.Fprintf(&b, "CREATE FUNCTION %s.f(%s) RETURNS text LANGUAGE sql AS 'SELECT %d::text';",
			schema, strings.Join(o.types, ", "), o.n)
		if len(o.types) == 2 {
			fmt.Fprintf(&b, "CREATE OPERATOR %s.@#@ (leftarg = %s, rightarg = %s, function = %[1]s.f);", schema, o.types[0], o.types[1])
		}
	}
	return b.String()
}

// TestPick makes random functions and operators in Postgres, and compares which of them calls
// with arguments of random types pick.
func TestPick(t *testing.T) {
	rng := rand.New(stattest.Source(t))
	types := append(names(), "", "")
	var queries, got []string
	for i := range 60 {
		arity := 1 + i%3
		schema := "o" + strconv.Itoa(i)
		list := overloads(rng, arity)
		if _, err := open(t).Exec(t.Context(), define(schema, list)); err != nil {
			t.Fatal(err)
		}
		for range 100 {
			var args []string
			var oids []uint32
			for k := range arity {
				name := types[rng.IntN(len(types))]
				if o := list[rng.IntN(len(list))]; rng.IntN(2) == 0 {
					name = o.types[k]
				}
				args, oids = append(args, null(name)), append(oids, oid(name))
			}
			queries = append(queries, "SELECT "+schema+".f("+strings.Join(args, ", ")+")")
			got = append(got, answer(pgtype.Pick(list, oids)))
			if arity == 2 {
				queries = append(queries, "SELECT "+args[0]+" OPERATOR("+schema+".@#@) "+args[1])
				got = append(got, answer(pgtype.PickOperator(list, oids)))
			}
		}
	}
	want := try(t, queries)
	found := 0
	for i, q := range queries {
		if want[i] != got[i] {
			t.Errorf("%s picks %s, in Postgres %s", q, got[i], want[i])
		}
		if want[i] != "none" {
			found++
		}
	}
	if none := len(want) - found; found < 1000 || none < 1000 {
		t.Errorf("%d calls are resolved, %d are not", found, none)
	}
}

// TestCommon compares the type that three values have together with that of COALESCE, and the
// type of a column of two queries with that of UNION ALL, for all known types.
func TestCommon(t *testing.T) {
	var queries, got []string
	compare := func(typ pgtype.Type, ok bool, query string) {
		name := "none"
		if ok {
			name = typ.String()
		}
		queries, got = append(queries, query), append(got, name)
	}
	types := append(names(), "")
	of := func(names ...string) []pgtype.Type {
		var list []pgtype.Type
		for _, n := range names {
			list = append(list, pgtype.Of(oid(n)))
		}
		return list
	}
	for _, a := range types {
		for _, b := range types {
			for _, c := range types {
				typ, ok := pgtype.Common(of(a, b, c))
				compare(typ, ok, fmt.Sprintf("SELECT typname FROM pg_type WHERE oid = pg_typeof(COALESCE(%s, %s, %s))::oid",
					null(a), null(b), null(c)))
			}
			if typ, ok := pgtype.Union(pgtype.Of(oid(a)), pgtype.Of(oid(b))); ok && a != "" {
				compare(typ, ok, fmt.Sprintf("SELECT t.typname FROM (SELECT %s AS x UNION ALL SELECT %s) AS s "+
					"JOIN pg_type t ON t.oid = pg_typeof(x)::oid LIMIT 1", null(a), null(b)))
			}
		}
	}
	for i, want := range try(t, queries) {
		if want != got[i] {
			t.Errorf("%s is of type %s, in Postgres %s", queries[i], got[i], want)
		}
	}
	if !slices.Contains(got, "none") {
		t.Error("all types have a common one")
	}
}

// TestAggregateTypes compares the types of sums and means with Postgres's.
func TestAggregateTypes(t *testing.T) {
	var queries, got []string
	for _, n := range names() {
		typ := pgtype.Of(oid(n))
		if !typ.Number() {
			continue
		}
		for _, f := range []string{"sum", "avg", "variance", "stddev"} {
			result := pgtype.Mean(typ)
			if f == "sum" {
				result = pgtype.Sum(typ)
			}
			queries = append(queries, fmt.Sprintf("SELECT typname FROM pg_type WHERE oid = (SELECT pg_typeof(%s(%s))::oid)", f, null(n)))
			got = append(got, result.String())
		}
	}
	for i, want := range try(t, queries) {
		if want != got[i] {
			t.Errorf("%s is of type %s, in Postgres %s", queries[i], got[i], want)
		}
	}
}
