package mirror

import (
	"slices"
	"testing"

	"dpproxy/catalog"
)

// TestRenamedColumns finds changes that keep each name that the policy says something of, and give it to another
// column: none of them takes effect by itself, whatever harmless change is beside it.
func TestRenamedColumns(t *testing.T) {
	column := func(number int, name string) catalog.Column {
		return catalog.Column{Name: name, Number: number, Type: catalog.TypeRef{OID: 25, Display: "text"}}
	}
	name := catalog.Name{Schema: "public", Name: "people"}
	was := []catalog.Column{column(1, "id"), column(2, "ssn"), column(3, "masked"), column(4, "note")}
	for what, c := range map[string]struct {
		has         []catalog.Column
		fingerprint string
		takes       bool
	}{
		"a name goes to another column": {
			[]catalog.Column{column(1, "id"), column(2, "raw"), column(3, "ssn"), column(4, "note")}, "4 - 2.r.b.l", true,
		},
		"a column takes the name of one that is dropped": {
			[]catalog.Column{column(1, "id"), column(3, "ssn"), column(4, "note")}, "4 - 2.r.b.l", true,
		},
		"two columns swap names, and another is dropped": {
			[]catalog.Column{column(1, "id"), column(2, "masked"), column(3, "ssn")}, "4 - 2.r.b.l", true,
		},
		"a new column has the name of one that is renamed": {
			[]catalog.Column{column(1, "id"), column(2, "raw"), column(3, "masked"), column(4, "note"), column(5, "ssn")},
			"4 - 2.r.b.l", true,
		},
		"a new column has the name of one that was dropped": {
			[]catalog.Column{column(1, "id"), column(3, "masked"), column(4, "note"), column(5, "ssn")}, "4 - 2.r.b.l", true,
		},
		"a column is dropped":                        {was[:3], "4 - 2.r.b.l", false},
		"a column is dropped, and a policy is other": {was[:3], "4 - 2.r.b.m", true},
		"nothing that is known":                      {was, "4 - 2.r.b.l", true},
	} {
		schema := func(columns []catalog.Column, fingerprint string) *catalog.Schema {
			table := &catalog.Table{Name: name, OID: 20000, Columns: columns, Fingerprint: fingerprint}
			return &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{name: table}}
		}
		changes := Plan{}.Changes(name, schema(was, "4 - 2.r.a.l"), schema(c.has, c.fingerprint))
		if got := slices.ContainsFunc(changes, func(c Change) bool { return c.Takes }); got != c.takes || len(changes) == 0 {
			t.Errorf("%s: %+v", what, changes)
		}
	}
}

// TestChecksThatGo: a CHECK that is gone, of a table or of a domain, takes effect with the next Sync. Analysts are not told its text.
func TestChecksThatGo(t *testing.T) {
	name := catalog.Name{Schema: "public", Name: "people"}
	schema := func(fingerprint string, table []catalog.Check, domain ...string) *catalog.Schema {
		columns := []catalog.Column{{Name: "age", Number: 1, Checks: domain}}
		return &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{
			name: {Name: name, OID: 20000, Columns: columns, Checks: table, Fingerprint: fingerprint},
		}}
	}
	positive := []catalog.Check{{Expr: "(age > 0)", Columns: []string{"age"}}}
	was := schema("1 - 0.a,7.b 2.r.d.l", positive, "(VALUE < 130)")
	for text, has := range map[string]*catalog.Schema{
		"(age > 0)": schema("1 - 7.b 2.r.d.l", []catalog.Check{{Expr: "(age > 1)"}}, "(VALUE < 130)"),
		"(VALUE < 130) of the domain of column age": schema("1 - 0.a 2.r.d.l", positive),
	} {
		want := []Change{{"a CHECK is gone, another, or not valid any more: " + text, "its CHECK constraints", false}}
		if got := (Plan{}).Changes(name, was, has); !slices.Equal(got, want) {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestUnlistedChanges holds that analysts are told nothing of a column that the plan does not list, if it hides those: neither of one that
// was there nor of one that has come.
func TestUnlistedChanges(t *testing.T) {
	name := catalog.Name{Schema: "public", Name: "people"}
	schema := func(fingerprint string, columns ...string) *catalog.Schema {
		table := &catalog.Table{Name: name, OID: 20000, Fingerprint: fingerprint}
		for i, c := range columns {
			table.Columns = append(table.Columns, catalog.Column{Name: c, Number: i + 1})
		}
		return &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{name: table}}
	}
	for _, hides := range []bool{false, true} {
		plan := Plan{Protected: []Protected{{Name: name, Columns: map[string]Column{"id": {}}, HidesUnlisted: hides}}}
		changes := plan.Changes(name, schema("4 - 2.r.a.l", "id", "ssn"), schema("4 - 2.r.b.l", "id", "nin"))
		if len(changes) != 1 || changes[0].Text != "column ssn is named nin by now" || (changes[0].Told == "") != hides {
			t.Errorf("hidden %v: %+v", hides, changes)
		}
		shown := plan.visible(schema("", "id", "ssn")).Tables[name].Columns
		if want := map[bool]int{false: 2, true: 1}[hides]; len(shown) != want || shown[0].Name != "id" {
			t.Errorf("hidden %v: the mirror has %v", hides, shown)
		}
	}
}
