package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"dpproxy/catalog"
	"dpproxy/mirror"
	"dpproxy/mirror/ddl"
)

// TestObjects holds that the statements of every kind of object, and their order, stay as they are:
// an object whose text changes is made anew at every site, and a table with all of its rows. The
// schema is given, as a mirror of the plan shows it, so that no server has a say.
func TestObjects(t *testing.T) {
	datadriven.RunTest(t, "testdata/objects", func(t *testing.T, d *datadriven.TestData) string {
		plan := objectsPlan()
		if d.HasArg("hidden") {
			plan.Views[0].Hidden = []string{"sex"}
		}
		objects, err := mirror.Objects(plan, objectsSchema(), "clinic")
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		for _, o := range objects {
			if string(o.Kind) == strings.ReplaceAll(d.Cmd, "_", " ") || d.Cmd == "order" {
				write(&out, o, d.Cmd == "order")
			}
		}
		return out.String()
	})
}

// write prints an object, or its key and those of the objects that it needs.
func write(out *strings.Builder, o ddl.Object, order bool) {
	if order {
		fmt.Fprintf(out, "%v", o)
		for i, need := range o.Needs {
			fmt.Fprintf(out, "%s %v", []string{" <-", ","}[min(i, 1)], need)
		}
		out.WriteString("\n")
		return
	}
	fmt.Fprintf(out, "# %v, adopt %t\n%s\n# drop\n%s\n# state\n%s\n", o, o.Adopt, o.Create, o.Drop, o.State)
	if o.Otherwise != "" {
		fmt.Fprintf(out, "# otherwise: %s\n%s\n", o.Loss, o.Otherwise)
	}
	for _, d := range o.Beside {
		fmt.Fprintf(out, "# beside: %s\n%s\n", d.Name, d.Script)
	}
	fmt.Fprintf(out, "# digest %s\n\n", o.Digest())
}

func objectsPlan() mirror.Plan {
	return mirror.Plan{
		Protected: []mirror.Protected{
			{
				Name: name("people"), Comment: "protected: it's people",
				Columns: map[string]mirror.Column{"sex": {Comment: "public values: f, m", Labels: []string{"f", "m"}}},
			},
			{Name: name("lab.Calls")},
		},
		Views:  []mirror.View{{Name: name("adults"), Comment: "a view", Shown: true}, {Name: name("secrets")}},
		Public: []catalog.Name{name("towns")},
		Analysts: []mirror.Analyst{
			{Name: "ana", Password: "x", AsidePassword: "y", Tables: []catalog.Name{name("people"), name("adults")}},
			{Name: "Bob's", Password: "x"},
		},
	}
}

func builtin(display string) catalog.TypeRef {
	base := catalog.Name{Schema: "pg_catalog", Name: display}
	return catalog.TypeRef{Name: base, Display: display, Base: base, Kind: 'b'}
}

func made(n string, kind byte) catalog.TypeRef {
	return catalog.TypeRef{Name: name(n), Display: name(n).String(), Base: name(n), Kind: kind}
}

func column(n string, t catalog.TypeRef) catalog.Column { return catalog.Column{Name: n, Type: t} }

func objectsSchema() *catalog.Schema {
	s := &catalog.Schema{
		Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{},
		Collations: map[catalog.Name]*catalog.Collation{},
	}
	for _, t := range objectsTables() {
		s.Tables[t.Name] = t
	}
	for _, t := range []*catalog.Type{
		{Name: name("sex"), Kind: 'e', Labels: []string{"m", "it's", "f"}},
		{Name: name("fee"), Kind: 'd', Base: builtin("numeric(12,2)"), NotNull: true},
		{Name: name("place"), Kind: 'c', Attributes: []catalog.Column{column("Street", builtin("text")), column("fee", made("fee", 'd'))}},
		{Name: name("span"), Kind: 'r', Base: builtin("numeric"), Multirange: name("spans")},
	} {
		s.Types[t.Name] = t
	}
	for _, l := range []*catalog.Collation{
		{Name: catalog.Name{Schema: "lab", Name: "Dütsch"}, Provider: 'i', Locale: "de-AT", Rules: "&a < b"},
		{Name: catalog.Name{Schema: "pg_catalog", Name: "de-x-icu"}, Provider: 'c', Collate: "de", Ctype: "de", Deterministic: true},
	} {
		s.Collations[l.Name] = l
	}
	return s
}

func objectsTables() []*catalog.Table {
	key := func(n, column string) ([]catalog.Key, []catalog.Definition) {
		return []catalog.Key{{Name: n, Columns: []string{column}, Primary: true}},
			[]catalog.Definition{{Name: n, Text: "PRIMARY KEY (" + column + ")", Columns: []string{column}}}
	}
	people := &catalog.Table{Name: name("people"), Kind: 'r', Columns: []catalog.Column{
		{Name: "id", Type: builtin("integer"), NotNull: true, Identity: "ALWAYS"},
		{Name: "No", Type: builtin("bigint"), Serial: "people_No_seq"},
		{Name: "name", Type: builtin("text"), Collation: catalog.Name{Schema: "lab", Name: "Dütsch"}},
		column("sex", made("sex", 'e')),
		column("fee", made("fee", 'd')),
		column("at", made("place", 'c')),
		column("during", made("span", 'r')),
		{Name: "twice", Type: builtin("numeric(9,2)"), Generated: true},
	}}
	people.Keys, people.Constraints = key("people_pkey", "id")
	people.Indexes = []catalog.Definition{
		{Name: "by_no", Text: `CREATE INDEX by_no ON public.people USING btree ("No")`, Columns: []string{"No"}},
	}
	calls := &catalog.Table{
		Name: name("lab.Calls"), Kind: 'r',
		Columns: []catalog.Column{column("person", builtin("integer")), column("town", builtin("text"))},
		Foreign: []catalog.ForeignKey{
			{
				Name: "calls_person", Columns: []string{"person"}, References: name("people"), Target: []string{"id"},
				Definition: "FOREIGN KEY (person) REFERENCES public.people(id) ON DELETE CASCADE",
			},
			{Name: "elsewhere", Columns: []string{"town"}, References: name("unlisted"), Target: []string{"id"}},
		},
	}
	towns := &catalog.Table{Name: name("towns"), Kind: 'r', Columns: []catalog.Column{
		{Name: "code", Type: builtin("text"), NotNull: true, Collation: catalog.Name{Schema: "pg_catalog", Name: "de-x-icu"}},
		{Name: "double", Type: builtin("text"), Generated: true},
	}}
	towns.Keys, towns.Constraints = key("towns_pkey", "code")
	adults := &catalog.Table{
		Name: name("adults"), Kind: 'v', Columns: []catalog.Column{column("sex", made("sex", 'e')), column("day", builtin("date"))},
		View: "SELECT sex, day\n FROM public.secrets", ViewShown: true, Reads: []catalog.Name{name("secrets")},
	}
	secrets := &catalog.Table{
		Name: name("secrets"), Kind: 'v', Columns: []catalog.Column{people.Columns[2], column("day", builtin("date"))},
		View: "SELECT name FROM public.people WHERE name <> 'Bob'", Reads: []catalog.Name{name("people")},
	}
	return []*catalog.Table{people, calls, towns, adults, secrets}
}
