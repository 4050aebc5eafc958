package core_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/core"
)

// TestJudgment evaluates random terms, and holds the promise of their types against their rows.
func TestJudgment(t *testing.T) {
	const terms = 20_000
	protected, operators := 0, map[string]int{}
	for seed := range uint64(terms) {
		g := newGenerator(seed)
		r, typ := g.Rel(4)
		world := g.World()
		unit := fmt.Sprint(g.IntN(3))
		if g.IntN(4) == 0 {
			unit = "call " + unit
		}
		all := Eval(r, world(func(string) bool { return true }))
		rest := Eval(r, world(func(of string) bool { return of != unit }))
		own := Eval(r, world(func(of string) bool { return of == unit }))
		if typ.Unit == 0 {
			own = nil
		} else {
			protected++
		}
		if len(typ.Loose) > 0 {
			continue
		}
		operators[fmt.Sprintf("%T", r)]++
		if fault := broken(typ, all, rest, own, unit); fault != "" {
			t.Fatalf("seed %d: %s\n%s\n%+v\n%s", seed, fault, Draw(r), typ, strings.Join(shown(all), "\n"))
		}
	}
	t.Logf("%d terms, %d protected: %v", terms, protected, operators)
	if protected < terms/2 || len(operators) < 9 {
		t.Errorf("%d terms of %d are protected, of operators %v", protected, terms, operators)
	}
}

func shown(rows []Row) (list []string) {
	for _, r := range rows {
		list = append(list, Show(r))
	}
	slices.Sort(list)
	return list
}

// broken says which part of the promise does not hold.
func broken(typ core.Type, all, rest, own []Row, unit string) string {
	if !slices.Equal(shown(all), shown(append(slices.Clip(rest), own...))) {
		return "the rows are not those of the others and those of the unit:\n" + strings.Join(shown(rest), "\n") + "\nand\n" +
			strings.Join(shown(own), "\n")
	}
	for _, r := range own {
		if r[typ.Unit].Class != unit || r[typ.Unit].Null {
			return "a row has another unit"
		}
	}
	if typ.Rows > 0 && int64(len(own)) > typ.Rows {
		return fmt.Sprintf("%d rows", len(own))
	}
	pairs := equalIn(typ, all)
	for i, r := range all {
		if fault := falseOf(typ.Facts, r); fault != "" {
			return fault
		}
		if fault := falseOf(core.Facts{Equal: pairs}, r); fault != "" {
			return "it does not follow that " + fault
		}
		for c := range r {
			if !r[c].Null && r[c].Class != r[typ.Unit].Class && typ.Identifies(c) {
				return fmt.Sprintf("%d does not identify the unit", c)
			}
			if r[c].Null && typ.Valued(c) {
				return fmt.Sprintf("it does not follow that %d has a value", c)
			}
		}
		for _, s := range all[:i] {
			if identical(typ.Row, r, s) {
				return "two rows are one"
			}
			if fault := apart(typ, r, s); fault != "" {
				return fault
			}
		}
	}
	return ""
}

// equalIn are the columns of rows that are equal, as follows from the facts.
func equalIn(typ core.Type, rows []Row) (pairs []core.Pair) {
	if len(rows) == 0 {
		return nil
	}
	for a := range rows[0] {
		for b := range rows[0] {
			if a < b && typ.Equal(a, b) {
				pairs = append(pairs, core.Pair{A: a, B: b})
			}
		}
	}
	return pairs
}

// falseOf says which fact does not hold of a row.
func falseOf(f core.Facts, r Row) string {
	has := func(c core.Col) bool { _, ok := r[c]; return ok }
	for _, p := range f.Equal {
		if has(p.A) && has(p.B) && (r[p.A].Null || r[p.B].Null || r[p.A].Class != r[p.B].Class || p.Identical && r[p.A] != r[p.B]) {
			return fmt.Sprintf("%d and %d differ", p.A, p.B)
		}
	}
	for c := range f.Valued.All() {
		if has(c) && r[c].Null {
			return fmt.Sprintf("%d is NULL", c)
		}
	}
	for _, g := range f.Given {
		for c := range g.If.All() {
			if has(c) && !r[c].Null {
				if fault := falseOf(g.Says, r); fault != "" {
					return "given " + fault
				}
			}
		}
	}
	return ""
}

func identical(s core.Set, a, b Row) bool {
	for c := range s.All() {
		if x, ok := a[c]; !ok || x != b[c] {
			return false
		}
	}
	return true
}

// apart says which dependency does not hold of two rows: one that is said, or follows.
func apart(typ core.Type, a, b Row) string {
	same := core.Set{}
	for c := range a {
		if a[c] == b[c] {
			same = same.Or(core.Of(c))
		}
	}
	for c := range typ.Closure(same).All() {
		if _, ok := a[c]; ok && a[c] != b[c] {
			return fmt.Sprintf("%d is not determined", c)
		}
	}
	if typ.Unit == 0 || a[typ.Unit].Class != b[typ.Unit].Class {
		return ""
	}
	for c := range typ.PerUnit(same).All() {
		if _, ok := a[c]; ok && a[c] != b[c] {
			return fmt.Sprintf("%d is not determined in a unit", c)
		}
	}
	return ""
}
