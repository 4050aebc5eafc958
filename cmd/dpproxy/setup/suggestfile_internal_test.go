package setup

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/config"
	"dpproxy/mirror/introspect"
	"dpproxy/planner/pgtype"
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

// TestUpdate proposes the columns that protected and reference tables have got, in whatever style a policy has them, and a new table
// behind them. Comments stay, and nothing is new after it was taken over.
func TestUpdate(t *testing.T) {
	const head = "data: postgres://db/clinic\nmirror: postgres://mirror/clinic\nledger: {dir: /var/lib/dpproxy}\n" +
		"privacy_unit: {name: patient, budget: {epsilon: 1}}\nunlisted: hidden\ntables:\n"
	for style, tables := range map[string]string{
		"lines": "  patients: # kept 1\n    unit: id\n    columns:\n      id: {} # kept 2\n      home: {}\n" +
			"  homes:\n    reference: true\n    columns:\n      id: {}\n  # kept 3\n",
		"columns in braces": "  patients:\n    unit: id\n    columns: {id: {}, home: {}} # kept 1\n" +
			"  homes: # kept 2\n    reference: true\n    columns: {id: {}} # kept 3\n",
		"tables in braces": "  patients: {unit: id, columns: {\"id\": {}, home: {}}} # kept 1\n" +
			"  homes: {columns: {id: {}}, reference: true} # kept 2\n# kept 3\n",
		"braces on several lines": "  patients: {\n    unit: id, # kept 1\n    columns: {\n      id: {}, # kept 2\n" +
			"      home: {bounds: [\n        1, 9]}\n    }\n  }\n" +
			"  homes: {\n    reference: true, columns: {\n      id: {} # kept 3\n    }\n  }\n",
		"a column on several lines": "  homes:\n    reference: true\n    columns: {id: {}} # kept 1\n  patients:\n    unit: id # kept 2\n" +
			"    columns:\n      id: {} # kept 3\n      home: {bounds: [\n      1, 9\n      ]}\n",
		"further in": "    patients:\n        unit: id # kept 1\n        columns: {id: {}, home: {}} # kept 2\n" +
			"    homes: {reference: true, columns: {id: {}}} # kept 3\n",
	} {
		text := head + tables
		for again := range 2 {
			p, err := config.Parse("policy.yaml", []byte(text))
			if err != nil {
				t.Errorf("%s: %v\n%s", style, err, text)
				break
			}
			f := &policyFile{path: "policy.yaml", text: text, policy: p}
			edits, lost, err := suggest.Update(grown(), f.given())
			if err != nil || len(lost) > 0 || again > 0 && len(edits) > 0 {
				t.Errorf("%s: %v, lost %q, again %v\n%s", style, err, lost, edits, text)
				break
			}
			text = suggest.Apply(text, edits)
		}
		p, err := config.Parse("policy.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", style, err, text)
			continue
		}
		listed := map[string][]string{}
		for _, of := range p.Tables.Tables {
			for c := range of.Columns {
				listed[of.Name.Name] = append(listed[of.Name.Name], c)
			}
			slices.Sort(listed[of.Name.Name])
		}
		for table, want := range map[string]string{"patients": "email,home,id", "homes": "email,id,rooms", "fees": "amount,id,patient"} {
			if got := strings.Join(listed[table], ","); got != want {
				t.Errorf("%s: %s has the columns %s, not %s, in\n%s", style, table, got, want, text)
			}
		}
		if strings.Count(text, "# kept ") != strings.Count(tables, "# kept ") || !strings.Contains(text, "# how to reach somebody") {
			t.Errorf("%s: comments are lost in\n%s", style, text)
		}
	}
}

// TestUpdateOfAllInBraces refuses to propose a table among tables that all stand in braces, and says where they do.
func TestUpdateOfAllInBraces(t *testing.T) {
	text := "data: postgres://db/clinic\nmirror: postgres://mirror/clinic\nledger: {dir: /var/lib/dpproxy}\n" +
		"privacy_unit: {name: patient, budget: {epsilon: 1}}\ntables: {patients: {unit: id, columns: {id: {}}}}\n"
	p, err := config.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &policyFile{path: "policy.yaml", text: text, policy: p}
	if _, _, err := suggest.Update(grown(), f.given()); err == nil || !strings.Contains(err.Error(), "line 5: ") {
		t.Error(err)
	}
}

// grown has patients, the homes that they refer to, and fees of patients.
func grown() *introspect.Survey {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{}}
	public := func(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }
	add := func(table string, columns ...string) *catalog.Table {
		t := &catalog.Table{Name: public(table), Kind: 'r', Keys: []catalog.Key{{Columns: []string{"id"}, Primary: true}}}
		for _, c := range columns {
			typ, oid := catalog.Name{Schema: "pg_catalog", Name: "int4"}, uint32(pgtype.Int4)
			if c == "email" {
				typ, oid = catalog.Name{Schema: "pg_catalog", Name: "text"}, pgtype.Text
			}
			t.Columns = append(t.Columns, catalog.Column{Name: c, NotNull: true, Deterministic: true, Type: catalog.TypeRef{
				Name: typ, OID: oid, Mod: -1, Display: typ.Name, Base: typ, BaseOID: oid, BaseMod: -1, Kind: 'b',
			}})
		}
		schema.Tables[t.Name] = t
		return t
	}
	refer := func(t *catalog.Table, column, to string) {
		t.Foreign = append(t.Foreign, catalog.ForeignKey{
			Name: column, Columns: []string{column}, References: public(to), Target: []string{"id"},
		})
	}
	add("homes", "id", "email", "rooms")
	refer(add("patients", "id", "home", "email"), "home", "homes")
	refer(add("fees", "id", "patient", "amount"), "patient", "patients")
	return &introspect.Survey{Schema: schema}
}
