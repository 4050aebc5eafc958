package policy_test

import (
	"math/big"
	"slices"
	"testing"

	"dpproxy/planner/policy"
)

// TestSteps reads the steps of numeric and floating-point columns, and one that is not stated.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		table  int
		column string
		stated *big.Rat
		want   *big.Rat
	}{
		{1, "tip", big.NewRat(1, 100), big.NewRat(1, 100)},
		{1, "tip", big.NewRat(1, 1), big.NewRat(1, 1)},
		{0, "weight", big.NewRat(1, 100), big.NewRat(1, 128)},
		{0, "weight", big.NewRat(1, 128), big.NewRat(1, 128)},
		{0, "weight", big.NewRat(1, 1e12), big.NewRat(1, 1<<40)},
		{0, "weight", nil, nil},
	} {
		p, s := clinicPolicy(), clinicSchema()
		p.Tables[c.table].Columns[c.column] = policy.ColumnPolicy{Step: c.stated}
		m, problems := policy.Check(p, s)
		if problems != nil {
			t.Errorf("%s by %v: %v", c.column, c.stated, problems)
			continue
		}
		for _, col := range m.Table(p.Tables[c.table].Name).Columns {
			if col.Name == c.column && ((col.Step == nil) != (c.want == nil) || c.want != nil && col.Step.Cmp(c.want) != 0) {
				t.Errorf("%s by %v is summed by %v, not by %v", c.column, c.stated, col.Step, c.want)
			}
		}
	}
}

// TestModelOfContributions holds that a model has the limits of its policy.
func TestModelOfContributions(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	p.Units, p.Tables[0].MaxRows, p.Tables[0].MaxPartitions, p.Tables[0].AutoRows = 300, 0, 0, 40
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	patients, visits := m.Table(name("patients")), m.Table(name("visits"))
	got := []int64{m.Units(), patients.MaxRows, patients.AutoRows, visits.MaxRows, visits.AutoRows}
	if want := []int64{300, 0, 40, 20, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
