package suggest_test

import (
	"bufio"
	"fmt"
	"regexp"
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
	}
	for _, t := range tables {
		s.Tables[t.Name] = t
	}
	return s
}

// clinic has visits of patients, with labs that hang on them, in wards; and letters between two patients, rooms, and suppliers.
func clinic() *introspect.Survey {
	wards := table("wards", number("id"), text("email"))
	rooms, suppliers := table("rooms", number("id")), table("suppliers", number("id"), text("email"))
	patients := table("patients", number("id"), number("age"), text("name"))
	visits := table("visits", number("id"), number("patient"), number("ward"), number("cost"))
	refers(refers(visits, "patient", patients), "ward", wards)
	labs := refers(table("labs", number("id"), number("visit"), number("value")), "visit", visits)
	letters := refers(refers(table("letters", number("id"), number("writer"), number("reader")), "writer", patients), "reader", patients)
	s := survey(wards, patients, visits, labs, letters, rooms, suppliers)
	s.Tables[name("patients")].Checks = []catalog.Check{{Expr: "((age >= 0) AND (age <= 120))", Columns: []string{"age"}}}
	return s
}

// TestCandidates finds whom a database is about, by columns, names and foreign keys.
func TestCandidates(t *testing.T) {
	first := func(s *introspect.Survey) string {
		all := suggest.Candidates(s)
		if len(all) == 0 {
			return "nobody"
		}
		return all[0].Table.Name
	}
	if got := first(clinic()); got != "patients" {
		t.Errorf("of a clinic it is %s", got)
	}
	hub, c := table("hub", number("id")), table("c", number("id"))
	a, b := table("a", number("id"), number("x")), table("b", number("id"), number("x"))
	if got := first(survey(c, refers(a, "x", hub), refers(b, "x", hub), hub)); got != "nobody" {
		t.Errorf("of tables without people it is %s", got)
	}
	// A shop's products are referred to as often as its customers.
	products, customers := table("products", number("id")), table("AppCustomers", number("id"), text("email"))
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
		"  wards: # it has email\n    reference: true\n    columns:\n      id: {} # a key\n      email: hidden # ",
		"  # suppliers: {public: true} # ? it has email\n", "  # rooms: {public: true}\n",
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

// TestReferencesByName holds that a column which is called after a reference table, and has the type of its key, refers to it by its name
// alone, and stays open; a column of another type, or that could be of two tables, does not.
func TestReferencesByName(t *testing.T) {
	patients := table("patients", number("id"), text("first_name"))
	address := table("address", number("address_id"), text("street"), number("keeper"))
	address = refers(address, "keeper", patients)
	visits := table("visits", number("id"), number("patient_id"), number("address_id"))
	visits = refers(refers(visits, "patient_id", patients), "address_id", address)
	bills := table("bills", number("id"), number("patient_id"), number("address_id"), text("visitors_address_id"))
	bills = refers(bills, "patient_id", patients)
	ch := suggest.NewChoices(suggest.Service{})
	ch.References[address.Name] = true
	d, err := suggest.New(survey(patients, address, visits, bills), ch)
	if err != nil {
		t.Fatal(err)
	}
	out := d.YAML()
	for _, want := range []string{
		"  bills:\n    unit: patient_id\n    max_rows_per_group: auto\n    refers: {address_id: address} # by their names alone\n",
		"      address_id: {}\n      visitors_address_id", "  address: # chosen\n    reference: true\n    not_protected: [keeper]",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Count(out, "refers: {") != 1 {
		t.Errorf("%s", out)
	}
}

// TestNumbersOfThings: bounds are asked for of what can be added up, and not of what tells things from others.
func TestNumbersOfThings(t *testing.T) {
	s := parse(t, slices.Concat(people, []string{
		"sample: id, patient_id -> patient, hadm_id, pharmacy_id, linkorderid, spec_itemid, seq_num, isolate_num, poe_seq, zip_code, " +
			"kontonummer, código, valuenum, number_of_beds, max_no, severity, taken date",
	})...)
	d, err := suggest.New(s, suggest.NewChoices(suggest.Service{}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"valuenum", "number_of_beds", "max_no", "severity"}
	var inFile, asked []string
	for line := range strings.Lines(d.YAML()) {
		if column, _, found := strings.Cut(strings.TrimSpace(line), ": {} # bounds: ? [low, high]"); found {
			inFile = append(inFile, column)
		}
	}
	for _, o := range suggest.Unbounded(d.Table(name("sample")).Source, func(string) bool { return true }) {
		asked = append(asked, o.Column)
	}
	if diff := cmp.Diff(want, inFile); diff != "" {
		t.Errorf("asked in the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(append(want, "taken"), asked); diff != "" {
		t.Errorf("asked in the dialogue (-want +got):\n%s", diff)
	}
}

// TestReferencesToPeopleByName: a column that is called as the key of one other protected table refers to it, one of two tables does not,
// nor does one of another type, one to a table that has one row of each unit, nor one that is a way or the unit.
func TestReferencesToPeopleByName(t *testing.T) {
	s := parse(t, slices.Concat(people, []string{
		"admission: hadm_id, patient_id -> patient", "sheet: sheet_id text, patient_id -> patient",
		"lab: lab_id, patient_id -> patient, hadm_id?, sheet_id? text, visit_id?, id",
		"other: id, patient_id -> patient, hadm_id text, lab_id -> lab",
		"fall: case_id, patient_id -> patient", "fall_archive: case_id, patient_id -> patient", "fee: id, patient_id -> patient, case_id",
		"file: file_id, patient_id! -> patient", "loan: id, patient_id -> patient, file_id, lab_id?",
		"aliquot: id, lab_id -> lab, sheet_id? text",
		"post: post_id, patient_id -> patient", "reaction: id, patient_id -> patient, post_id", "vote: id, patient_id -> patient, post_id",
	})...)
	d, err := suggest.New(s, suggest.NewChoices(suggest.Service{
		Listen: "127.0.0.1:0", Data: "postgres://r@d/x", Mirror: "postgres://m@m/x", Ledger: "/l",
	}))
	if err != nil {
		t.Fatal(err)
	}
	out := d.YAML()
	const told = " # by name alone: dpproxy check --data tells whether it holds\n"
	for _, want := range []string{
		"    refers: {hadm_id: admission, sheet_id: sheet, visit_id: visit}" + told +
			"    # Joins by hadm_id, sheet_id and visit_id keep only pairs of one patient.",
		"      hadm_id: {} # refers to admission by its name alone: of the same patient, it is assumed\n",
		"      sheet_id: {} # refers to sheet by its name alone: of the same patient, it is assumed\n",
		"    refers: {lab_id: lab}" + told, "    refers: {sheet_id: sheet}" + told,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Count(out, "refers: {") != 3 {
		t.Errorf("%s", out)
	}
	if said := d.Summary(""); !strings.Contains(said, "By name       5: ") || !strings.Contains(said, "lab.hadm_id") {
		t.Errorf("the summary is\n%s", said)
	}
	fits(t, "hospital", s, d)
}

// TestOtherSchemas: the summary names the schemas that statements must name, and public is none of them.
func TestOtherSchemas(t *testing.T) {
	for _, others := range []bool{false, true} {
		s := parse(t, append(slices.Clone(people), "lab: id, patient_id -> patient")...)
		if others {
			lab := s.Tables[name("lab")]
			delete(s.Tables, lab.Name)
			lab.Name.Schema = "hosp"
			s.Tables[lab.Name] = lab
		}
		d, err := suggest.New(s, suggest.NewChoices(suggest.Service{}))
		if err != nil {
			t.Fatal(err)
		}
		const line = "Schemas       hosp: statements name their tables with the schema, or after SET search_path\n"
		if said := d.Summary(""); strings.Contains(said, line) != others || strings.Contains(said, "Schemas ") != others {
			t.Errorf("with other schemas %v the summary is\n%s", others, said)
		}
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

// effects says the question that it was asked.
type effects struct{}

func (effects) Budget(*suggest.Draft) string { return "budget" }

// hold plays a conversation.
func hold(t *testing.T, answers ...string) (policy, said string, err error) {
	t.Helper()
	var out strings.Builder
	s := clinic()
	nurses := table("nurses", number("id"), text("first_name"))
	shifts := refers(table("shifts", number("id"), number("nurse")), "nurse", nurses)
	s.Tables[nurses.Name], s.Tables[shifts.Name] = nurses, shifts
	c := &suggest.Conversation{In: bufio.NewReader(strings.NewReader(strings.Join(answers, "\n"))), Out: &out, Effects: effects{}}
	d, err := c.Hold(s, suggest.NewChoices(suggest.Service{}))
	if err != nil {
		return "", out.String(), err
	}
	return d.YAML(), out.String(), nil
}

// TestConversation asks six questions, again where an answer is none, and says what answers do.
func TestConversation(t *testing.T) {
	policy, said, err := hold(t,
		"nobody", "patients", // the unit
		"nurses=public", "nurses=reference", // other people
		"letters=both", "letters=writer", // whose letters are
		"perhaps", "rooms", // public
		"suppliers=7", "suppliers=public", // doubtful
		"0", "2.5", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"name: patient", "epsilon: 2.5", "  letters:\n    unit: writer\n    max_rows_per_group: auto\n",
		"not_protected: [reader]", "  visits:\n    unit: patient\n    max_rows_per_group: auto\n",
		"value: {} # bounds: ?", "  rooms: {public: true}\n  suppliers: {public: true}\n", "  nurses: # chosen\n    reference: true\n",
		"tables: [patients, letters, visits, labs, nurses, wards]",
	} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %q in\n%s", want, policy)
		}
	}
	for _, want := range []string{
		"Whom to protect?", "1. patients.id: called patient; age; 2 tables lead there", "a number from 1 to 2, or a name",
		"Other people: nurses. Leave them out, with 1 of theirs? [yes / TABLE=reference; Enter: yes, they are left out]: ",
		"yes, or TABLE=reference",
		"Whose is it? letters: writer. [yes / TABLE=COLUMN / TABLE=out; Enter: yes, as named here]: ", "letters can be writer, reader, out",
		"letters protects those behind writer, and may tell of those behind reader",
		"Nothing in these could lead to a patient: rooms. ", "no, yes, or some of these names",
		"Doubtful, and left out: shifts (nurse), suppliers (email). Use any?", "suppliers can be public, reference, out",
		"a number above 0", "-> budget",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if n := strings.Count(said, "]: "); n != 6+6 {
		t.Errorf("%d questions, six of them again, in\n%s", n, said)
	}
}

// TestConversationOfDefaults takes the defaults: all that --yes does, and the owner where rows are about two people.
func TestConversationOfDefaults(t *testing.T) {
	policy, said, err := hold(t, slices.Repeat([]string{""}, 7)...)
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{"  letters:\n    unit: writer\n", "  # rooms: {public: true}\n", "epsilon: 5,"} {
		if !strings.Contains(policy, want) {
			t.Errorf("no %q in\n%s", want, policy)
		}
	}
}

// TestEnterIsSaid holds that each of the six questions says which answer a bare Enter is, before it is pressed, and that it is that answer.
func TestEnterIsSaid(t *testing.T) {
	bare, said, err := hold(t, slices.Repeat([]string{""}, 7)...)
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, m := range regexp.MustCompile(`\[[^\]]*; Enter: ([^,\]]+)(, [^\]]+)?\]: `).FindAllStringSubmatch(said, -1) {
		answers = append(answers, m[1])
	}
	if len(answers) != 6 || strings.Count(said, "]: ") != 6 {
		t.Fatalf("%q are said in\n%s", answers, said)
	}
	typed, _, err := hold(t, append(answers, "")...)
	if err != nil || typed != bare {
		t.Errorf("%q make, %v\n%s\nand not\n%s", answers, err, typed, bare)
	}
	if !strings.Contains(said, "Enter: 1, patients.id]") {
		t.Errorf("whom Enter protects is not said in\n%s", said)
	}
}

// TestNoQuestionWithoutACase asks of a database that is clear for its budget alone.
func TestNoQuestionWithoutACase(t *testing.T) {
	patients := table("patients", number("id"), text("first_name"))
	visits := refers(table("visits", number("id"), number("patient")), "patient", patients)
	var out strings.Builder
	c := &suggest.Conversation{In: bufio.NewReader(strings.NewReader("\n")), Out: &out}
	if _, err := c.Hold(survey(patients, visits), suggest.NewChoices(suggest.Service{})); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "]: "); got != 1 {
		t.Errorf("%d questions:\n%s", got, out.String())
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

// TestManyDoubts groups more than twelve doubtful tables by their reasons.
func TestManyDoubts(t *testing.T) {
	for _, n := range []int{12, 13} {
		lines := slices.Clone(people)
		for i := range n {
			lines = append(lines, fmt.Sprintf("shop_%d: id, phone text", i))
		}
		var out strings.Builder
		c := &suggest.Conversation{In: bufio.NewReader(strings.NewReader("\n\n")), Out: &out}
		if _, err := c.Hold(parse(t, lines...), suggest.NewChoices(suggest.Service{})); err != nil {
			t.Fatal(err)
		}
		if grouped := strings.Contains(out.String(), "phone: shop_0, shop_1, "); grouped != (n > 12) {
			t.Errorf("%d tables are grouped: %v\n%s", n, grouped, out.String())
		}
	}
}
