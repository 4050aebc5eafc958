package source

import (
	"errors"
	"testing"

	"dpproxy/core"
	"dpproxy/planner/scalar"
)

// TestNowhere holds that a term about a column without a number is refused, and that two such columns are not the same.
func TestNowhere(t *testing.T) {
	var all terms
	scan := &core.Scan{Table: "t", Unit: all.fresh(), Row: all.fresh()}
	lost := &scalar.Ref{Column: &scalar.Column{}}
	filter := &core.Filter{In: scan, If: []core.Condition{conditionOf(&resolved{}, lost)}}
	if _, err := all.judge.Check(filter); !errors.Is(err, core.ErrScope) {
		t.Errorf("a condition: %v", err)
	}
	defined := &core.Map{In: scan, Defs: []core.Def{{Out: all.fresh(), Cols: cols(lost.Columns())}}}
	if _, err := all.judge.Check(defined); !errors.Is(err, core.ErrScope) {
		t.Errorf("a computed column: %v", err)
	}
	typ, err := all.judge.Check(scan)
	if err != nil {
		t.Fatal(err)
	}
	if (facts{typ}).same(lost.Column, &scalar.Column{}) || typ.Identifies(nowhere) || typ.PerUnit(nil).Has(nowhere) {
		t.Error("a column without a number is known")
	}
}
