package proxy

import (
	"encoding/json"
	"slices"

	"dpproxy/dp"
	"dpproxy/mirror"
	"dpproxy/planner/policy"
	"dpproxy/proxy/survey"
)

// This file holds the local tables among the relations of the schema dp. Their budgets are of each object: the spent part is that of the
// object that has lost most, and dp.odometer tells more.

// localBudgets are rows of dp.budget.
func localBudgets(p *Proxy, all []survey.Description) []budgetRow {
	var rows []budgetRow
	for _, t := range all {
		left := t.LeftPico
		epsilon := float64(left) / dp.PicoPerUnit
		rows = append(rows, budgetRow{
			Scope: t.Name.String(), Kind: "local", Measure: dp.PureDP.String(), Limit: pico(t.Budget.EpsilonPico), Spent: pico(t.MostPico),
			Remaining: pico(left), DeltaMax: json.Number(dp.Decimal(t.Budget.DeltaAtto, 18)), Delta: "0",
			Held: "0", Epsilon: &epsilon, Questions: surveysLeft(p, left),
		})
	}
	return rows
}

// localTables are rows of dp.tables.
func localTables(p *Proxy, all []survey.Description) []tableRow {
	var rows []tableRow
	for _, t := range all {
		left := t.LeftPico
		epsilon := float64(left) / dp.PicoPerUnit
		rows = append(rows, tableRow{
			Schema: mirror.LocalSchema, Name: t.Name.Name, Unit: "each row", Contribution: "dp.survey", Measure: dp.PureDP.String(),
			Spent: pico(t.MostPico), Held: "0", Remaining: pico(left), Epsilon: &epsilon, Questions: surveysLeft(p, left),
		})
	}
	return rows
}

// localColumns are rows of dp.columns. Private columns have values or bounds, and the others are public.
func localColumns(all []survey.Description) []columnRow {
	var rows []columnRow
	for _, t := range all {
		for _, c := range slices.Concat(t.Shown, t.Private) {
			row := columnRow{Schema: mirror.LocalSchema, Table: t.Name.Name, Name: c.Name, Type: c.Type.Display, Values: c.Values}
			row.Low, row.High = ends(c.Bounds)
			rows = append(rows, row)
		}
	}
	return rows
}

// surveysLeft is how many surveys with the default epsilon fit the rest of a budget of objects.
func surveysLeft(p *Proxy, left int64) int64 { return left / max(p.cfg.Defaults.EpsilonPico, 1) }

// ends are the texts of bounds, nil without them.
func ends(b *policy.Bounds) (low, high *string) {
	if b == nil {
		return nil, nil
	}
	return &b.LowText, &b.HighText
}
