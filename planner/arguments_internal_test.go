package planner

import (
	"testing"

	"dpproxy/planner/scalar"
)

// TestNamed writes names in hints so that a statement can have them.
func TestNamed(t *testing.T) {
	for name, want := range map[string]string{"cost": "cost", "Shoe size": `"Shoe size"`, `a"b`: `"a""b"`, "Cost": `"Cost"`} {
		if got := named(&scalar.Column{Name: name}); got != want {
			t.Errorf("%s is written %s, not %s", name, got, want)
		}
	}
}
