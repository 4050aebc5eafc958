package accountant_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

// OraclesVariable names the environment variable with the path of another file of
// reference numbers.
const oraclesVariable = "DPPROXY_ORACLES"

// handlers compute the outcome that an oracle expects, by the first word of its
// name.
var handlers = map[string]func(inputs) any{}

// register adds handlers; a kind has one.
func register(more map[string]func(inputs) any) {
	for kind, f := range more {
		if handlers[kind] != nil {
			panic("two handlers for oracles of kind " + kind)
		}
		handlers[kind] = f
	}
}

// TestOracles computes every number of a file of reference numbers, which were
// computed elsewhere with fifty digits or in exact rationals, and compares them.
// A kind of oracle that nothing here can compute fails.
func TestOracles(t *testing.T) {
	path := "testdata/oracles.json"
	if other := os.Getenv(oraclesVariable); other != "" {
		path = other
	}
	all := readOracles(t, path)
	for _, o := range all {
		t.Run(o.Name, func(t *testing.T) {
			kind, _, _ := strings.Cut(o.Name, " ")
			compute := handlers[kind]
			if compute == nil {
				t.Fatalf("nothing computes oracles of kind %q", kind)
			}
			var want any
			if err := json.Unmarshal(o.Expected, &want); err != nil {
				t.Fatal(err)
			}
			got := compute(inputs{t: t, name: o.Name, raw: o.Inputs, want: want})
			if err := agree(got, want, o.Tolerance); err != nil {
				t.Errorf("%v", err)
			}
		})
	}
	t.Logf("%d oracles from %s", len(all), path)
}

// TestOraclesCanFail moves each expected number by more than its tolerance.
func TestOraclesCanFail(t *testing.T) {
	for _, want := range []any{1.0, true, []any{1.0, []any{2.0}}, map[string]any{"a": 1.0}} {
		if err := agree(want, want, 0); err != nil {
			t.Errorf("%v does not agree with itself: %v", want, err)
		}
	}
	for _, pair := range [][2]any{
		{1.0, 1.0 + 2e-9},
		{math.NaN(), 1.0},
		{true, false},
		{1.0, true},
		{1e-3, 0.0},
		{[]any{1.0}, []any{1.0, 2.0}},
		{[]any{1.0, 2.1}, []any{1.0, 2.0}},
		{map[string]any{"a": 1.0}, map[string]any{"a": 1.0, "b": 2.0}},
	} {
		if agree(pair[0], pair[1], 1e-9) == nil {
			t.Errorf("%v agrees with %v", pair[0], pair[1])
		}
	}
}

// An oracle is a result computed elsewhere.
type oracle struct {
	Name             string
	Inputs, Expected json.RawMessage
	Tolerance        float64
}

func readOracles(t *testing.T, path string) []oracle {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []oracle
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("no oracles in %s", path)
	}
	return all
}

// inputs are the arguments of an oracle.
type inputs struct {
	t    *testing.T
	name string
	raw  json.RawMessage
	want any // whose shape says how much is asked for
}

// decode reads the inputs into a struct or a map.
func decode[In any](in inputs) In {
	in.t.Helper()
	var v In
	if err := json.Unmarshal(in.raw, &v); err != nil {
		in.t.Fatal(err)
	}
	return v
}

// number adapts a function of named numbers.
func number(f func(in map[string]float64) float64) func(inputs) any {
	return func(in inputs) any { return f(decode[map[string]float64](in)) }
}

// numbers adapts a function of named numbers with several results.
func numbers(f func(in map[string]float64) []float64) func(inputs) any {
	return func(in inputs) any { return list(f(decode[map[string]float64](in))) }
}

// list returns xs as JSON would.
func list[T any](xs []T) []any {
	all := make([]any, len(xs))
	for i, x := range xs {
		all[i] = x
	}
	return all
}

// agree reports how got differs from want by more than the tolerance, which is
// relative, but absolute for 0; truth values must be equal.
func agree(got, want any, tolerance float64) error {
	switch want := want.(type) {
	case float64:
		g, ok := toFloat(got)
		limit := tolerance * math.Abs(want)
		if want == 0 {
			limit = tolerance
		}
		if !ok || !(math.Abs(g-want) <= limit) {
			return fmt.Errorf("%v, want %v within %v", got, want, tolerance)
		}
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		for i := range want {
			if err := agree(g[i], want[i], tolerance); err != nil {
				return fmt.Errorf("number %d: %w", i, err)
			}
		}
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return fmt.Errorf("%v, want %v", got, want)
		}
		for key := range want {
			if err := agree(g[key], want[key], tolerance); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
	default:
		if got != want {
			return fmt.Errorf("%v, want %v", got, want)
		}
	}
	return nil
}

func toFloat(v any) (float64, bool) {
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		return r.Float(), true
	case r.CanInt():
		return float64(r.Int()), true
	}
	return 0, false
}
