package core_test

import (
	"errors"
	"reflect"
	"testing"

	"dpproxy/core"
)

// A judge whose work may not go on says so, wherever that happens. While it may go on, its types are those that nobody counts.
func TestSpend(t *testing.T) {
	spent := errors.New("spent")
	calls, ended := 0, 0
	for seed := range uint64(300) {
		r, typ := newGenerator(seed).Rel(3)
		last := 0
		counted, err := (&core.Judge{Spend: func(int) error { last++; return nil }}).Check(r)
		if err != nil || !reflect.DeepEqual(said(counted), said(typ)) {
			t.Fatalf("seed %d: counted it is %+v, %v, and else %+v", seed, counted, err, typ)
		}
		calls += last
		for n := 1; n <= last; n += 1 + last/50 {
			call := 0
			j := &core.Judge{Spend: func(int) error {
				if call++; call >= n {
					return spent
				}
				return nil
			}}
			if _, err := j.Check(r); !errors.Is(err, spent) {
				t.Fatalf("seed %d: %v after call %d of %d", seed, err, n, last)
			}
			ended++
		}
	}
	t.Logf("%d calls, ended at %d", calls, ended)
}

// said is all that a type says.
func said(t core.Type) []any {
	return []any{t.Cols, t.Row, t.Spelled, t.Facts, t.Deps, t.Unit, t.Rows, t.Loose}
}

// Questions to a type are counted as well. Once there is no more work, answers are incomplete.
func TestSpendOfTypes(t *testing.T) {
	s := &core.Scan{Cols: []core.Col{1, 2, 3}, Row: 4, Unit: 5}
	s.Deps = []core.Dep{{From: core.Of(1), To: core.Of(2)}, {From: core.Of(2), To: core.Of(3)}}
	steps, most := 0, 1000
	j := &core.Judge{Spend: func(n int) error {
		if steps += n; steps > most {
			return errors.New("spent")
		}
		return nil
	}}
	typ, err := j.Check(s)
	if err != nil || steps == 0 || !typ.Closure(core.Of(1)).Has(3) {
		t.Fatalf("%d steps, %v", steps, err)
	}
	if most = 0; typ.Closure(core.Of(1)).Has(3) {
		t.Error("asked without an end")
	}
}
