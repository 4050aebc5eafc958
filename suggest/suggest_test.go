package suggest_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/suggest"
)

func name(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }

func column(name string, oid uint32, display string) catalog.Column {
	n := catalog.Name{Schema: "pg_catalog", Name: display}
	return catalog.Column{Name: name, NotNull: true, Deterministic: true, Type: catalog.TypeRef{
		Name: n, OID: oid, Mod: -1, Display: display, Base: n, BaseOID: oid, BaseMod: -1, Kind: 'b',
	}}
}

func number(name string) catalog.Column { return column(name, 23, "int4") }

func text(name string) catalog.Column { return column(name, 25, "text") }

func table(n string, columns ...catalog.Column) *catalog.Table {
	return &catalog.Table{
		Name: name(n), Kind: 'r', Columns: columns, Keys: []catalog.Key{{Name: "pkey", Columns: []string{columns[0].Name}, Primary: true}},
	}
}

// refers adds a foreign key of one column to the first column of a table.
func refers(t *catalog.Table, column string, to *catalog.Table) *catalog.Table {
	t.Foreign = append(t.Foreign, catalog.ForeignKey{
		Name: t.Name.Name + "_" + column, Columns: []string{column}, References: to.Name, Target: []string{to.Columns[0].Name},
	})
	return t
}

func survey(tables ...*catalog.Table) *introspect.Survey {
	s := &introspect.Survey{
		Schema: &catalog.Schema{Database: "db", Tables: map[catalog.Name]*catalog.Table{}, Types: map[catalog.Name]*catalog.Type{}},
		Checks: map[catalog.Name][]string{},
	}
	for _, t := range tables {
		s.Tables[t.Name] = t
	}
	return s
}

// clinic has visits of patients, with labs that hang on them, in wards; and letters between two patients.
func clinic() *introspect.Survey {
	wards := table("wards", number("id"), text("email"))
	patients := table("patients", number("id"), number("age"), text("name"))
	visits := table("visits", number("id"), number("patient"), number("ward"), number("cost"))
	refers(refers(visits, "patient", patients), "ward", wards)
	labs := refers(table("labs", number("id"), number("visit"), number("value")), "visit", visits)
	letters := refers(refers(table("letters", number("id"), number("writer"), number("reader")), "writer", patients), "reader", patients)
	s := survey(wards, patients, visits, labs, letters)
	s.Checks[name("patients")] = []string{"((age >= 0) AND (age <= 120))"}
	return s
}

// TestCandidates finds the table of the units by foreign keys and by names.
func TestCandidates(t *testing.T) {
	first := func(s *introspect.Survey) string { return suggest.Candidates(s)[0].Table.Name }
	if got := first(clinic()); got != "patients" {
		t.Errorf("of a clinic it is %s", got)
	}
	hub, c := table("hub", number("id")), table("c", number("id"))
	a, b := table("a", number("id"), number("x")), table("b", number("id"), number("x"))
	if got := first(survey(c, refers(a, "x", hub), refers(b, "x", hub), hub)); got != "hub" {
		t.Errorf("of tables without people it is %s", got)
	}
	// A shop's products are referred to as often as its customers.
	products, customers := table("products", number("id")), table("AppCustomers", number("id"))
	orders := refers(refers(table("orders", number("id"), number("p"), number("c")), "p", products), "c", customers)
	if got := first(survey(products, customers, orders)); got != "AppCustomers" {
		t.Errorf("of a shop it is %s", got)
	}
	// A student is a person: the part's key refers to the whole's.
	persons, students := table("persons", number("id")), table("students", number("person"))
	refers(students, "person", persons)
	marks := refers(table("marks", number("id"), number("s")), "s", students)
	terms := refers(table("terms", number("id"), number("s")), "s", students)
	if got := first(survey(persons, students, marks, terms)); got != "persons" {
		t.Errorf("of a school it is %s", got)
	}
	keyless := table("people", number("id"))
	keyless.Keys = nil
	if all := suggest.Candidates(survey(keyless)); len(all) > 0 {
		t.Errorf("without a key: %v", all)
	}
}

// TestDomains reads constraints as Postgres prints them.
func TestDomains(t *testing.T) {
	for check, want := range map[string][]string{
		"((x >= 0) AND (x <= 120))":                                 {"0", "120"},
		"((x > (0)::numeric) AND (x < '-5'::integer))":              {"0", "-5"},
		"((x >= '-10'::integer))":                                   {"-10", ""},
		"(100 >= x)":                                                {"", "100"},
		"((x >= '2020-01-01'::date) AND (x <= '2020-12-31'::date))": {"2020-01-01", "2020-12-31"},
		"((x)::text = ANY ((ARRAY['f'::character varying, 'm'::character varying])::text[]))": {"", "", "f", "m"},
		"(x = ANY (ARRAY['a'::text, 'b c'::text]))":                                           {"", "", "a", "b c"},
		"((x >= 0) OR (x <= 120))":                                                            {"", ""},
		"(NOT (x >= 0))":                                                                      {"", ""},
		"(y >= 0)":                                                                            {"", ""},
		"(x >= y)":                                                                            {"", ""},
		"((x % 2) = 0)":                                                                       {"", ""},
		"(public.valid(x))":                                                                   {"", ""},
		"(x <> ALL (ARRAY['a'::text]))":                                                       {"", ""},
		"(x >= (- (3)::numeric))":                                                             {"-3", ""},
		"not SQL":                                                                             {"", ""},
		"(x >= 0)); DROP TABLE y; SELECT ((1 = 1)":                                            {"", ""},
	} {
		low, high, values := suggest.DomainOf("x", []string{check})
		if d := cmp.Diff(want, append([]string{low, high}, values...)); d != "" {
			t.Errorf("%s: -want +got:\n%s", check, d)
		}
	}
}

// TestNothingUnasked holds that defaults make no table public, and take no side where rows are about two people.
func TestNothingUnasked(t *testing.T) {
	d, err := suggest.New(clinic(), suggest.NewChoices(suggest.Service{}))
	if err != nil {
		t.Fatal(err)
	}
	out := d.YAML()
	for _, want := range []string{
		"  patients:\n    unit: id\n    columns:", "      age: {bounds: [0, 120]}", "      name: hidden",
		"  visits:\n    unit: patient\n    max_rows_per_group: auto\n", "      cost: {} # bounds: ?",
		"  labs:\n    unit: {via: visit, to: visits.id}",
		"  # wards: {public: true} # it has email: are these people?",
		"  # letters: {unit: reader, not_protected: [writer]}", "  # letters: {unit: writer, not_protected: [reader]}",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if len(d.Public) > 0 || d.Table(name("letters")) != nil {
		t.Errorf("unasked:\n%s", out)
	}
}

// TestNobodyIsSuggested: a policy says of which tables rows are left out, since nobody is found behind them.
func TestNobodyIsSuggested(t *testing.T) {
	s := clinic()
	s.Tables[name("visits")].Columns[1].NotNull = false
	labs := s.Tables[name("labs")]
	labs.Loose, labs.Foreign = labs.Foreign, nil
	d, err := suggest.New(s, suggest.NewChoices(suggest.Service{}))
	if err != nil {
		t.Fatal(err)
	}
	out := d.YAML()
	const left = "# Rows that belong to no patient are left out of every answer: "
	for _, want := range []string{
		"    unit: patient\n    " + left + "patient is NULL.\n" +
			"    # nobody: rows would count them: of each the row is protected, not a person.\n",
		"    unit: {via: visit, to: visits.id}\n    " + left + "visit has no row in visits, or visits.patient is NULL.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Count(out, left) != 2 {
		t.Errorf("said of another table in\n%s", out)
	}
}

// effects tells the question that it was asked.
type effects struct{}

func (effects) Rows(_ *suggest.Draft, n catalog.Name) string { return "rows of " + n.Name }

func (effects) Column(_ *suggest.Draft, n catalog.Name, c *suggest.Column) string {
	return "bounds of " + n.Name + "." + c.Source.Name
}

func (effects) Budget(*suggest.Draft) string { return "budget" }

// hold plays a conversation.
func hold(t *testing.T, answers ...string) (policy, said string, err error) {
	t.Helper()
	var out strings.Builder
	c := &suggest.Conversation{In: bufio.NewReader(strings.NewReader(strings.Join(answers, "\n"))), Out: &out, Effects: effects{}}
	d, err := c.Hold(clinic(), suggest.NewChoices(suggest.Service{}))
	if err != nil {
		return "", out.String(), err
	}
	return d.YAML(), out.String(), nil
}

// TestConversation asks about all that the catalogue does not tell, again where an answer is none, and tells of each
// answer's effect.
func TestConversation(t *testing.T) {
	policy, said, err := hold(t,
		"nobody", "patients", "case", // the unit
		"7", "writer", // whose letters are
		"perhaps", "yes", // wards
		"-1", "12", "", "{auto: 3}", "auto", // rows of letters, visits, labs
		"5", "9, 1", "[0, 1000]", "none", // bounds of visits.cost and labs.value
		"0", "2.5", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"name: case", "epsilon: 2.5", "  letters:\n    unit: writer\n    max_rows_per_group: 12\n    max_groups_contributed: 1\n",
		"not_protected: [reader]", "  visits:\n    unit: patient\n    max_rows_per_group: auto\n", "cost: {bounds: [0, 1000]}",
		"value: {} # bounds: ?", "  wards: {public: true}",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %q in\n%s", want, policy)
		}
	}
	for _, want := range []string{
		"Which table has one row for each person", "1. patients: 2 tables refer to it", "a number from 1 to 5, or a name",
		"Whose is it?", "y or n\n", "copied to the mirror", "auto, or a number from 1 to 1000000", "-> rows of letters",
		"two ends, the lower first: 0, 100", "-> bounds of visits.cost", "a number above 0", "-> budget",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
}

// TestConversationOfDefaults takes the defaults, as --yes does.
func TestConversationOfDefaults(t *testing.T) {
	policy, said, err := hold(t, slices.Repeat([]string{""}, 20)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	d, err := suggest.New(clinic(), suggest.NewChoices(suggest.Service{}))
	if err != nil {
		t.Fatal(err)
	}
	// Letters stay out, which need not be asked again.
	want, _, _ := strings.Cut(d.YAML(), "\n  # unit: ?")
	if got, _, _ := strings.Cut(policy, "\n  # Left out:\n  # letters: its rows refer to several people"); got != want {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
}

// TestConversationEnds holds that an input which ends makes no policy.
func TestConversationEnds(t *testing.T) {
	if policy, _, err := hold(t, "", "", "1"); err == nil {
		t.Errorf("a policy without answers:\n%s", policy)
	}
}

// TestScalars holds that texts which YAML would read otherwise are quoted.
func TestScalars(t *testing.T) {
	for text, want := range map[string]string{
		"visits": "visits", "Students": "Students", "lab.labs": "lab.labs", "no": `"no"`, "NULL": `"NULL"`, "1": `"1"`, "2024S": `"2024S"`,
		"a b": `"a b"`, "a: b": `"a: b"`, "x#": `"x#"`, "": `""`, "it's": `"it's"`, `a"b`: `"a\"b"`,
		"a<b": `"a<b"`, "Zoë": `"Zoë"`, "- x": `"- x"`,
		"postgres://r@db/x?sslmode=require": "postgres://r@db/x?sslmode=require", "127.0.0.1:6432": "127.0.0.1:6432",
		"/var/lib/dpproxy": "/var/lib/dpproxy", "SCRAM-SHA-256$4096:A+/=$b:c=": "SCRAM-SHA-256$4096:A+/=$b:c=",
		"a,b": `"a,b"`, "a]": `"a]"`,
	} {
		if got := suggest.Scalar(text); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}
