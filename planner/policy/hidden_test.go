package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// TestHiddenColumnsAreNotDescribed holds that no list of columns has a hidden one.
func TestHiddenColumnsAreNotDescribed(t *testing.T) {
	cat := hiddenClinic(t, "patient_id", "visit_id")
	for _, d := range cat.Describe() {
		r, ok := cat.Schema().Table("", d.Name.Name)
		var columns []string
		for _, c := range d.Columns {
			if !strings.HasPrefix(c.Name, "notes -") { // a field
				columns = append(columns, c.Name)
			}
		}
		if !ok || !slices.Equal(columns, r.Columns) {
			t.Errorf("%v: described are %v, known %v", d.Name, columns, r.Columns)
		}
		for _, hidden := range []string{"name", "patient_id", "visit_id"} {
			if hidden != "name" && strings.Contains(d.Unit+r.Unit, hidden) || slices.Contains(columns, hidden) {
				t.Errorf("%v has %s", d, hidden)
			}
		}
	}
}

// viewsOf adds views to a schema, by name and query.
func viewsOf(s *catalog.Schema, views map[string]string) {
	for n, query := range views {
		v := &catalog.Table{Name: name(n), Kind: 'v', View: query}
		for _, read := range []string{"patients", "adults", "visits"} {
			if strings.Contains(query, "public."+read) {
				v.Reads = append(v.Reads, name(read))
			}
		}
		list, _, _ := strings.Cut(query, "FROM")
		for range strings.Count(list, ",") + 1 {
			v.Columns = append(v.Columns, column("c"+string(rune('1'+len(v.Columns))), text, false))
		}
		s.Tables[v.Name] = v
	}
}

// TestViewsOfHiddenColumns holds that views lack columns that show a hidden one, at any depth,
// and that a view that tells of one otherwise is a problem of the policy.
func TestViewsOfHiddenColumns(t *testing.T) {
	s := clinicSchema()
	viewsOf(s, map[string]string{
		"adults": "SELECT p.id, p.name AS c2, p.sex FROM public.patients p WHERE (p.birth_year < 2000)",
		"called": "SELECT adults.c2, adults.c1 FROM public.adults",
		"bills":  "SELECT visits.cost, visits.day FROM public.visits",
	})
	cat, problems := policy.Check(clinicPolicy(), s)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for view, want := range map[string]struct {
		columns, withheld []string
		query             string
	}{
		"adults": {[]string{"c1", "c3"}, []string{"c2"}, "SELECT p.id, p.sex FROM public.patients p WHERE (p.birth_year < 2000)"},
		"called": {[]string{"c2"}, []string{"c1"}, "SELECT adults.c1 FROM public.adults"},
		"bills":  {[]string{"c1", "c2"}, nil, "SELECT visits.cost, visits.day FROM public.visits"},
	} {
		r, _ := cat.Relation("public", view)
		if d := cmp.Diff(ast.Relation{Schema: "public", Name: view, Columns: want.columns, View: want.query, Concealed: true}, r); d != "" {
			t.Errorf("%s (-want +got):\n%s", view, d)
		}
		if d := cmp.Diff(want.withheld, cat.Withheld(name(view))); d != "" {
			t.Errorf("%s (-want +got):\n%s", view, d)
		}
	}
	if got := len(s.Tables[name("adults")].Columns); got != 3 {
		t.Errorf("the schema itself has lost columns: %d are left", got)
	}
	for query, want := range map[string]string{
		"SELECT p.id FROM public.patients p WHERE (p.name <> 'Bob')": `the view names the hidden column "name"`,
		"SELECT p.id FROM public.patients p, WHERE":                  "cannot be told from its other text",
	} {
		s := clinicSchema()
		viewsOf(s, map[string]string{"adults": query})
		_, problems := policy.Check(clinicPolicy(), s)
		if len(problems) != 1 || !strings.HasPrefix(problems[0].String(), "tables.public.adults.view: the ") ||
			!strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v", query, problems)
		}
	}
}
