package proxy

import (
	"math/big"
	"reflect"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// Plans of two tables whose names are alike with their schemas are two.
func TestPlanKeyOfNames(t *testing.T) {
	key := func(n catalog.Name) planKey {
		return newPlanKey(nil, nil, planner.Settings{Limits: policy.Limits{PublicRows: map[catalog.Name]int64{n: 1}}})
	}
	if key(catalog.Name{Schema: "a.b", Name: "c"}) == key(catalog.Name{Schema: "a", Name: "b.c"}) {
		t.Error("they have one plan")
	}
}

// TestPlanKeyHasAllSettings changes each setting by itself, within structures too, and holds
// that each change is another plan, and that equal settings are one.
func TestPlanKeyHasAllSettings(t *testing.T) {
	var base planner.Settings
	seen := map[planKey]string{newPlanKey(nil, nil, base): "no setting"}
	var visit func(at []int, typ reflect.Type)
	visit = func(at []int, typ reflect.Type) {
		if typ.Kind() == reflect.Struct {
			for i := range typ.NumField() {
				visit(append(at, i), typ.Field(i).Type)
			}
			return
		}
		keys := map[planKey]bool{}
		for range 2 {
			s := base
			field := reflect.ValueOf(&s).Elem()
			for _, i := range at {
				field = field.Field(i)
			}
			field.Set(other(t, typ))
			keys[newPlanKey(nil, nil, s)] = true
		}
		name := reflect.TypeOf(base).FieldByIndex(at).Name
		if len(keys) != 1 {
			t.Errorf("two equal values of %s have two plans", name)
		}
		for k := range keys {
			if seen[k] != "" {
				t.Errorf("%s and %s have one plan", name, seen[k])
			}
			seen[k] = name
		}
	}
	visit(nil, reflect.TypeOf(base))
	if len(seen) < 15 {
		t.Errorf("%d settings were seen", len(seen))
	}
}

// other makes a value that is not the zero value of its type.
func other(t *testing.T, typ reflect.Type) reflect.Value {
	t.Helper()
	switch typ.Kind() { //nolint:exhaustive // a setting of another kind fails the test
	case reflect.Int64:
		return reflect.ValueOf(int64(1)).Convert(typ)
	case reflect.Float64:
		return reflect.ValueOf(0.1 + 0.2).Convert(typ)
	case reflect.String:
		return reflect.ValueOf("x").Convert(typ)
	case reflect.Bool:
		return reflect.ValueOf(true).Convert(typ)
	case reflect.Slice:
		return reflect.MakeSlice(typ, 1, 1)
	case reflect.Map:
		m := reflect.MakeMap(typ)
		m.SetMapIndex(reflect.Zero(typ.Key()), reflect.Zero(typ.Elem()))
		return m
	case reflect.Pointer:
		if typ == reflect.TypeFor[*big.Rat]() {
			return reflect.ValueOf(big.NewRat(1, 3))
		}
	}
	t.Fatalf("a setting of the type %v: the key must write its value", typ)
	return reflect.Value{}
}
