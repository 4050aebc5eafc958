package source

import (
	"fmt"
	"reflect"
	"slices"

	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// Touched reads a source in every way that a plan does, and returns a change of it, or of
// anything that it refers to; "" if there is none.
func Touched(s *Source, keys []scalar.Expr, w *scalar.Writer) (string, error) {
	before := stateOf(s)
	for range 2 {
		if _, err := s.Write(w, testKeys{}); err != nil {
			return "", err
		}
		for _, k := range keys {
			if _, _, err := s.PublicPart(w, s.Inlined(), k.Columns()); err != nil {
				return "", err
			}
			s.PerUnit(k)
			s.IsUnit(k)
		}
		s.Unique()
		s.Fixes(keys)
		s.Conjuncts()
		s.AllConjuncts()
		s.Told()
		s.EachTable(func(*policy.Table, string) {})
		s.ScannedTable()
		s.RedactHidden("")
		if s.Protected() {
			s.UnitPath()
		}
		s.Computed(func(...scalar.Expr) {}, func(*scalar.Column) {})
	}
	return change(before, stateOf(s)), nil
}

// change returns a line of the state after that was not in the state before; "" if there is none.
func change(before, after []string) string {
	for _, line := range after {
		if _, found := slices.BinarySearch(before, line); !found {
			return line
		}
	}
	if len(after) != len(before) {
		return "something is gone"
	}
	return ""
}

// stateOf lists the values of all variables that a source, or a phase of it, refers to, sorted. Variables are told
// apart by their addresses, so that the same state has the same list in one process.
func stateOf(s any) []string {
	w := &stateWalk{seen: map[uintptr]map[reflect.Type]bool{}}
	w.value("source", reflect.ValueOf(s))
	slices.Sort(w.lines)
	return w.lines
}

type stateWalk struct {
	seen  map[uintptr]map[reflect.Type]bool
	lines []string
}

func (w *stateWalk) note(place string, v any) {
	w.lines = append(w.lines, fmt.Sprintf("%s: %v", place, v))
}

// first reports whether the variable has not been visited yet.
func (w *stateWalk) first(v reflect.Value) bool {
	types := w.seen[v.Pointer()]
	if types == nil {
		types = map[reflect.Type]bool{}
		w.seen[v.Pointer()] = types
	}
	was := types[v.Type()]
	types[v.Type()] = true
	return !was
}

func (w *stateWalk) value(place string, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others hold no variables
	case reflect.Pointer:
		w.note(place, v.Pointer())
		if !v.IsNil() && w.first(v) {
			w.value(fmt.Sprintf("%v %x", v.Type(), v.Pointer()), v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			w.value(place+" "+v.Elem().Type().String(), v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(place+"."+v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		w.note(place, fmt.Sprint(v.Pointer(), " ", v.Len()))
		for i := range v.Len() {
			w.value(fmt.Sprintf("%s[%d]", place, i), v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			w.value(fmt.Sprintf("%s[%d]", place, i), v.Index(i))
		}
	case reflect.Map:
		w.note(place, fmt.Sprint(v.Pointer(), " ", v.Len()))
		if v.IsNil() || !w.first(v) {
			return
		}
		for it := v.MapRange(); it.Next(); {
			w.value(fmt.Sprintf("%s[%v]", place, it.Key()), it.Value())
		}
	case reflect.Func:
		w.note(place, v.Pointer())
	default:
		w.note(place, v)
	}
}
