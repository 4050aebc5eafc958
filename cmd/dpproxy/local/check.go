package local

import (
	"context"
	"fmt"
	"strings"

	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
)

// Check says how local tables add to the guarantee.
func (s Site) Check(ctx context.Context, file string, cat *policy.Model) error {
	tables, _, err := s.tables(ctx)
	if err != nil || len(tables) == 0 {
		return err
	}
	sum, delta := s.Policy.Unit.EpsilonPico, s.Policy.Unit.DeltaAtto
	parts := []string{dp.Decimal(sum, 12)}
	for _, t := range tables {
		sum, delta = sum+t.BudgetPico, delta+t.DeltaAtto
		parts = append(parts, dp.Decimal(t.BudgetPico, 12))
		fmt.Printf("%s: %v is of the local model: the rows that it has, and their %s, are public\n", file, t,
			strings.Join(append([]string{t.Key}, t.Public...), ", "))
		for _, n := range t.Units(cat) {
			fmt.Printf("%s: %sthe objects of %v are the %s of %v: the central budget no longer hides who is in the database\n", file,
				mirror.Warning, t, s.Policy.Tables.Unit, n)
		}
	}
	who, total := "whoever is in all of them", strings.Join(parts, " + ")+" = "+dp.Decimal(sum, 12)
	if len(s.Policy.Tables.Tables) == 0 && len(tables) == 1 {
		who, total, delta = "each object", parts[1], tables[0].DeltaAtto
	}
	if delta > 0 {
		total += ", delta " + dp.Scientific(delta, 18) + " in all"
	}
	fmt.Printf("%s: %s is protected against a change of values by epsilon %s, and not against the fact of being listed\n", file, who, total)
	return nil
}
