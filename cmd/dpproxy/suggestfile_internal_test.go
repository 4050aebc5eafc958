package main

import (
	"testing"

	"dpproxy/config"
	"dpproxy/suggest"
)

// TestDefaultDates writes the default for dates into policies that ask for it, that have other defaults, or none.
func TestDefaultDates(t *testing.T) {
	const rest = "data: postgres://db/clinic\nmirror: postgres://mirror/clinic\nledger: {dir: /var/lib/dpproxy}\n" +
		"privacy_unit: {name: patient, budget: {epsilon: 1}}\n"
	const tables = "tables:\n  visits: {unit: patient_id}\n"
	for _, text := range []string{
		rest + tables, rest + "# defaults: {dates: [2010-01-01, 2025-12-31]}\n" + tables, rest + tables + "defaults: {epsilon: 0.2}\n",
		rest + "defaults:\n  epsilon: 0.2\n  refine: false\n" + tables, rest + "defaults: {}\n" + tables, rest + "defaults: { }\n" + tables,
	} {
		p, err := config.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f := &policyFile{path: "policy.yaml", text: text, policy: p}
		edited := suggest.Apply(text, []suggest.Edit{f.defaultDates("[2020-01-01, 2021-12-31]")})
		now, err := config.Parse("policy.yaml", []byte(edited))
		if err != nil {
			t.Errorf("%v\n%s", err, edited)
			continue
		}
		if d := now.Defaults.Dates; d == nil || d.First != "2020-01-01" || d.Last != "2021-12-31" ||
			now.Defaults.EpsilonPico != p.Defaults.EpsilonPico || now.Defaults.Refine != p.Defaults.Refine {
			t.Errorf("%+v of\n%s", now.Defaults, edited)
		}
	}
}
