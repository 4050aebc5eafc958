package suggest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/suggest"
)

// parse makes a survey of lines "table: column, column text, column -> table, column? -> table"; the first column is the key unless
// it has a *, ! is a key beside it, ? a column that may be NULL, text, code (of 20 characters), date, uuid and char32 are types, and
// others are integers. A foreign key refers to the first column, or to TABLE.COLUMN.
func parse(t *testing.T, lines ...string) *introspect.Survey {
	t.Helper()
	tables := map[string]*catalog.Table{}
	var all []*catalog.Table
	var references [][3]string
	for _, line := range lines {
		of, rest, _ := strings.Cut(line, ": ")
		var columns []catalog.Column
		var keys []catalog.Key
		keyless := false
		for spec := range strings.SplitSeq(rest, ", ") {
			spec, to, refers := strings.Cut(spec, " -> ")
			name, typ, _ := strings.Cut(spec, " ")
			plain := strings.TrimRight(name, "?*!")
			c := typed(plain, typ)
			c.NotNull = !strings.Contains(name, "?")
			keyless = keyless || strings.Contains(name, "*")
			columns = append(columns, c)
			if strings.Contains(name, "!") {
				keys = append(keys, catalog.Key{Name: of + "_" + plain, Columns: []string{plain}})
			}
			if refers {
				references = append(references, [3]string{of, plain, to})
			}
		}
		made := table(of, columns...)
		if keyless {
			made.Keys = nil
		}
		made.Keys = append(made.Keys, keys...)
		tables[of] = made
		all = append(all, made)
	}
	for _, r := range references {
		to, target, other := strings.Cut(r[2], ".")
		made := refers(tables[r[0]], r[1], tables[to])
		if other {
			made.Foreign[len(made.Foreign)-1].Target = []string{target}
		}
	}
	return survey(all...)
}

func typed(name, typ string) catalog.Column {
	switch typ {
	case "text":
		return text(name)
	case "date":
		return column(name, 1082, "date")
	case "timestamp":
		return column(name, 1114, "timestamp without time zone")
	case "uuid":
		return column(name, 2950, "uuid")
	case "code":
		c := text(name)
		c.Type.Mod, c.Type.BaseMod = 24, 24
		return c
	case "char32":
		c := column(name, 1042, "character(32)")
		c.Type.Mod, c.Type.BaseMod = 36, 36
		return c
	}
	return number(name)
}

// people are patients, visits of theirs, and doctors: most rules have tables beside these.
var people = []string{"patient: patient_id, first_name text, birth_date date", "visit: visit_id, patient_id -> patient"}

// rules are those of ways, of tables and of columns: each beside a case that looks like it and is another.
var rules = []struct {
	name   string
	tables []string // beside people, unless there is a patient among them
	want   string   // decisions and ways: TABLE=protected by COLUMN, TABLE=asked, TABLE.COLUMN=hidden
}{
	// Ways.
	{"a foreign key to the unit", []string{"bill: id, payer -> patient"}, "bill=protected by payer"},
	{"the name of the unit's key", []string{"bill: id, patient_id"}, "bill=protected by patient_id"},
	{"the unit's word with an identifier", []string{"bill: id, patientno"}, "bill=protected by patientno"},
	{"another type", []string{"bill: id, patient_id uuid"}, "bill=asked"},
	{"a number of patients is none", []string{"room: room_id, max_patient_no"}, "room=public"},
	{"a foreign key to a protected table", []string{"bill: id, visit_id -> visit"}, "bill=protected by visit_id"},
	{
		"two, one without NULL",
		[]string{"stay: stay_id, patient_id -> patient", "bill: id, stay_id? -> stay, visit_id -> visit"},
		"bill=protected by visit_id",
	},
	{
		"two, one at the start of the key",
		[]string{"stay: stay_id, patient_id -> patient", "bill: stay_id -> stay, visit_id -> visit"},
		"bill=protected by stay_id",
	},
	{"two, one with a role", []string{"bill: id, referring_visit -> visit, visit_id -> visit"}, "bill=protected by visit_id"},
	{"may be NULL and is called otherwise", []string{"bed: bed_id, last_visit_id? -> visit"}, "bed=asked"},
	{"may be NULL and is called so", []string{"bill: id, visit_id? -> visit"}, "bill=protected by visit_id"},
	{"called otherwise without NULL", []string{"bill: id, first_visit -> visit"}, "bill=protected by first_visit"},
	{"the name of a protected table's key", []string{"bill: id, visit_id"}, "bill=asked"},
	{"an id of a public table", []string{"room: room_id, floor", "bed: id, room_id"}, "room=public bed=public"},
	{"a chain", []string{"bill: bill_id, visit_id -> visit", "line: id, bill_id -> bill"}, "line=protected by bill_id"},
	// Diamonds.
	{"a diamond", []string{"finding: id, patient_id -> patient, visit_id -> visit"}, "finding=protected by patient_id same visit_id"},
	{
		"a reaction is to another's",
		[]string{
			"post: post_id, patient_id -> patient",
			"comment: id, patient_id -> patient, post_id -> post",
		},
		"comment=protected by patient_id not post_id",
	},
	// Two persons in a row.
	{"two owners", []string{"letter: id, sender_id -> patient, receiver_id -> patient"}, "letter=asked"},
	{"from and to", []string{"letter: id, from_patient_id -> patient, to_patient_id -> patient"}, "letter=asked"},
	{
		"an owner and a role",
		[]string{"letter: id, patient_id -> patient, approved_by -> patient"},
		"letter=protected by patient_id not approved_by",
	},
	{
		"an author and a reviewer",
		[]string{"letter: id, author_id -> patient, reviewer_id -> patient"},
		"letter=protected by author_id not reviewer_id",
	},
	{
		"a role alone, and a way",
		[]string{"bill: id, visit_id -> visit, approved_by -> patient"},
		"bill=protected by visit_id not approved_by",
	},
	{"a role alone", []string{"rule: id, approved_by -> patient"}, "rule=asked"},
	{"two that nothing is known of", []string{"pact: id, x -> patient, y -> patient"}, "pact=asked"},
	{"by names alone", []string{"letter: id, sender_patient_id, receiver_patient_id"}, "letter=asked"},
	{"who has created a row, by a login", []string{
		"account: account_id, patient_id -> patient, login text, password text",
		"bill: id, patient_id -> patient, creator? -> account", "page: id, creator -> account",
	}, "bill=protected by patient_id not creator page=asked"},
	// Outward.
	{"a department and its head", []string{
		"patient: patient_id, first_name text, birth_date date, ward_id -> ward", "visit: id, patient_id -> patient",
		"ward: ward_id, head_no -> patient",
	}, "ward=reference"},
	{"a department and somebody of it", []string{
		"patient: patient_id, first_name text, birth_date date, ward_id -> ward", "visit: id, patient_id -> patient",
		"ward: ward_id, eldest -> patient",
	}, "ward=reference"},
	{"an address that has an owner", []string{
		"patient: patient_id, first_name text, birth_date date, address_id -> address", "visit: id, patient_id -> patient",
		"address: address_id, patient_id -> patient",
	}, "address=protected by patient_id"},
	{"a supertype, and what refers to it", []string{
		"party: party_id, since date", "patient: party_id -> party, first_name text, birth_date date",
		"visit: id, patient_id -> patient",
		"party_note: id, party_id -> party",
	}, "party=reference party_note=asked"},
	{"a family, and what refers to it", []string{
		"patient: patient_id, first_name text, birth_date date, family_id -> family", "visit: id, patient_id -> patient",
		"family: family_id, size", "family_income: id, family_id -> family",
	}, "family=reference family_income=asked"},
	// Other people.
	{
		"employees, and what is theirs",
		[]string{"doctor: doctor_id, first_name text", "rota: id, doctor_id -> doctor, day date"},
		"doctor=others rota=others",
	},
	{"what protected rows refer to and leads to them", []string{
		"doctor: doctor_id, first_name text", "ward: ward_id, head_id -> doctor", "stay: id, patient_id -> patient, ward_id -> ward",
	}, "ward=reference stay=protected by patient_id"},
	{"an actor is nobody to leave out", []string{"actor: actor_id, name text"}, "actor=public"},
	{
		"guardians are their pupils'",
		[]string{"guardian: id, patient_id -> patient, first_name text"},
		"guardian=protected by patient_id",
	},
	// References.
	{"a card", []string{"card: card_id, expires date", "bill: id, patient_id -> patient, card_id -> card"}, "card=reference"},
	{
		"a kind of card",
		[]string{"card_type: card_type_id, label text", "bill: id, patient_id -> patient, card_type_id -> card_type"},
		"card_type=public",
	},
	{"an address with names is no person", []string{
		"address: address_id, first_name text, phone text, street text", "bill: id, patient_id -> patient, address_id -> address",
	}, "address=reference"},
	{"nobody refers to it", []string{"card: card_id, expires date"}, "card=asked"},
	{"an email", []string{"shop: shop_id, email text", "bill: id, patient_id -> patient, shop_id -> shop"}, "shop=reference"},
	// Doubts.
	{"a log", []string{"log: id, day date"}, "log=asked"},
	{"a level of a log", []string{"log_level: id, label text"}, "log_level=public"},
	{"the unit's word", []string{"patient_kind: id, label text"}, "patient_kind=asked"},
	{"an id of nothing", []string{"stock: id, place_ref, amount"}, "stock=asked"},
	{"an amount", []string{"stock: id, amount"}, "stock=public"},
	{"a type beside an id", []string{"tagging: id, thing_type text, thing_id"}, "tagging=asked"},
	{"who made it", []string{"page: id, created_by"}, "page=asked"},
	{"when it was made", []string{"page: id, created date"}, "page=public"},
	{"a token", []string{"hook: id, token text"}, "hook=asked"},
	{
		"the name alone of what it refers to",
		[]string{"event: event_id, day date", "hall: id, event_id -> event"},
		"event=asked hall=public",
	},
	{"a doubt in what it refers to", []string{"shop: shop_id, phone text", "hall: id, shop_id -> shop"}, "shop=asked hall=asked"},
	{
		"a bridge",
		[]string{
			"film: film_id, title text", "genre: genre_id, name text",
			"film_genre: film_id -> film, genre_id -> genre",
		},
		"film_genre=public",
	},
	{"a phone that is sold", []string{"handset: id, label text", "stock: id, phone -> handset"}, "stock=public"},
	{"a phone of somebody", []string{"stock: id, phone text"}, "stock=asked"},
	{"settings", []string{"setup: id, name text, value text"}, "setup=asked"},
	// Columns.
	{"a name in a table of people", []string{"guardian: id, patient_id -> patient, name text"}, "guardian.name=hidden"},
	{"a name elsewhere", []string{"stay: id, patient_id -> patient, name text"}, "stay.name=open"},
	{"an email", []string{"stay: id, patient_id -> patient, email text, email_type text"}, "stay.email=hidden stay.email_type=open"},
	{"a city", []string{"stay: id, patient_id -> patient, city text, street text"}, "stay.city=open stay.street=hidden"},
	{"free text", []string{"stay: id, patient_id -> patient, comment text, kind text"}, "stay.comment=hidden stay.kind=open"},
	{"a digest", []string{"stay: id, patient_id -> patient, mark char32"}, "stay.mark=hidden"},
	{"a title of a letter", []string{"letter: id, patient_id -> patient, title text"}, "letter.title=hidden"},
	{"a title of a course", []string{"course: id, patient_id -> patient, title text"}, "course.title=open"},
	{
		"the number of a doctor",
		[]string{"doctor: doctor_id, first_name text", "stay: id, patient_id -> patient, doctor_id -> doctor"},
		"stay.doctor_id=hidden",
	},
	{"who has approved it", []string{"stay: id, patient_id -> patient, approved_by"}, "stay.approved_by=hidden"},
	{"a bare name in a table of people", []string{"guardian: id, patient_id -> patient, last text"}, "guardian.last=hidden"},
	{"the last of a series", []string{"dose: id, patient_id -> patient, last text"}, "dose.last=open"},
	{"the code of a voucher", []string{"voucher: id, patient_id -> patient, code text"}, "voucher.code=hidden"},
	{"the code of a diagnosis", []string{"finding: id, patient_id -> patient, code text"}, "finding.code=open"},
	{
		"a house number",
		[]string{"stay: id, patient_id -> patient, street_number text, bed_number text"},
		"stay.street_number=hidden stay.bed_number=open",
	},
	{"a clerk by name", []string{"stay: id, patient_id -> patient, clerk text, clock text"}, "stay.clerk=hidden stay.clock=open"},
	{
		"a setting",
		[]string{"liking: id, patient_id -> patient, k text, v text"},
		"liking.k=open liking.v=hidden",
	},
	{
		"raw results",
		[]string{
			"lab: id, patient_id -> patient, value text, valuenum, value_unit text, result_name text, result_text text, result code",
			"survey: id, patient_id -> patient, question_id, answer text, answer_type text, patient_response text, reading text",
		},
		"lab.value=hidden lab.valuenum=open lab.value_unit=open lab.result_name=open lab.result_text=hidden lab.result=open " +
			"survey.patient_response=hidden survey.answer_type=open survey.reading=hidden",
	},
	{
		"raw results in other languages",
		[]string{
			"befunde: id, patient_id -> patient, messwert text, ergebnis text, ergebnisart text, antwort code",
			"enquete: id, patient_id -> patient, valeur text, résultat text, réponse text",
			"examen: id, patient_id -> patient, valor text, resultado text, respuesta text, resposta text, uitslag text, antwoord text",
		},
		"befunde.messwert=hidden befunde.ergebnis=hidden befunde.ergebnisart=open befunde.antwort=open enquete.valeur=hidden " +
			"enquete.résultat=hidden enquete.réponse=hidden examen.valor=hidden examen.resultado=hidden examen.respuesta=hidden " +
			"examen.resposta=hidden examen.uitslag=hidden examen.antwoord=hidden",
	},
	{
		"an attribute and its value",
		[]string{"fact: id, patient_id -> patient, attribute_id, val text, result_code -> kind", "kind: kind text, label text"},
		"fact.val=hidden fact.result_code=open fact.attribute_id=open",
	},
	{
		"a number that is quoted",
		[]string{"invoice: id, patient_id -> patient, number text, kind text"},
		"invoice.number=hidden invoice.kind=open",
	},
	{
		"a number of elsewhere, called as a table that has none of its kind",
		[]string{"source: id, name text", "stay: id, patient_id -> patient, source_id text, other_source_id"},
		"stay.source_id=hidden stay.other_source_id=open",
	},
	{
		"a number of a person by chance",
		[]string{"guardian: id, patient_id -> patient, first_name text, mark uuid"},
		"guardian.mark=hidden",
	},
	{
		"another number of the patient",
		[]string{"mapping: patient_ide text, patient_id -> patient, town text"},
		"mapping=protected by patient_id mapping.patient_ide=hidden mapping.town=open",
	},
	{
		"a doctor in the key",
		[]string{"doctor: doctor_id, first_name text, birth_date date", "stay: doctor_id, patient_id -> patient, ward_id"},
		"stay.doctor_id=hidden stay.ward_id=open",
	},
	{
		"a suffix of the columns",
		[]string{"guardian: id, patient_id -> patient, name_gua text, town_gua text, tel_gua text"},
		"guardian.name_gua=hidden guardian.town_gua=open guardian.tel_gua=hidden",
	},
	{"a suffix of settings", []string{"preference: id_pref, nom_pref text, val_pref text"}, "preference=asked"},
	{"a suffix that says something", []string{"price_list: id, day_price, night_price"}, "price_list=public"},
	{
		"names that changed",
		[]string{"patient_name_change: id, patient_id -> patient, desired_name text, state text"},
		"patient_name_change.desired_name=hidden patient_name_change.state=open",
	},
	{
		"where messages go",
		[]string{"push: id, patient_id -> patient, endpoint text, p256dh text, auth text, browser_kind text"},
		"push.endpoint=hidden push.p256dh=hidden push.auth=hidden",
	},
	{
		"a key of another kind",
		[]string{"stay: id, patient_id -> patient, invite_key text, day_key"},
		"stay.invite_key=hidden stay.day_key=open",
	},
}

// TestRules plays the rules.
func TestRules(t *testing.T) {
	for _, c := range rules {
		t.Run(c.name, func(t *testing.T) {
			lines := c.tables
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "patient: ") }) {
				lines = slices.Concat(people, lines)
			}
			d, err := suggest.New(parse(t, lines...), suggest.NewChoices(suggest.Service{}))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range wants(c.want) {
				if got := said(d, want); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}
		})
	}
}

// wants splits at the blanks before TABLE=.
func wants(text string) (all []string) {
	for part := range strings.SplitSeq(text, " ") {
		if strings.Contains(part, "=") {
			all = append(all, part)
		} else {
			all[len(all)-1] += " " + part
		}
	}
	return all
}

// said writes the decision of a draft about the table, or the column, that a text is about.
func said(d *suggest.Draft, about string) string {
	of, _, _ := strings.Cut(about, "=")
	if strings.Contains(of, ".") {
		if hiddenIn(d)[of] {
			return of + "=hidden"
		}
		return of + "=open"
	}
	out := of + "=" + decisions(d)[of]
	if p := d.Table(name(of)); p != nil {
		out += " by " + strings.Join(append(slices.Clone(p.Via), p.Unit), "")
		if p.SamePerson != nil && strings.Contains(about, " same ") {
			out += " same " + strings.Join(p.SamePerson, ",")
		}
		if p.NotProtected != nil && strings.Contains(about, " not ") {
			out += " not " + strings.Join(p.NotProtected, ",")
		}
	}
	return out
}

// whom are cases of whom to protect, and of asking that.
var whom = []struct {
	name   string
	tables []string
	want   string // TABLE.COLUMN, asked with candidates, or none
}{
	{"customers before staff that all refers to", []string{
		"customer: customer_id, email text", "employee: employee_id, first_name text, birth_date date, gender text, ssn text",
		"sale: id, customer_id -> customer, employee_id -> employee", "shift: id, employee_id -> employee",
		"raise: id, employee_id -> employee",
	}, "customer.customer_id"},
	{
		"staff alone",
		[]string{"employee: employee_id, first_name text, birth_date date", "shift: id, employee_id -> employee"},
		"employee.employee_id",
	},
	{
		"artists are nobody",
		[]string{
			"artist: artist_id, first_name text, birth_date date, gender text",
			"album: id, artist_id -> artist",
		},
		"none",
	},
	{"a login is a part", []string{
		"person: person_id, first_name text, birth_date date",
		"app_user: person_id -> person, email text, password text, gender text, dob date, login text",
		"post: id, user_id -> app_user", "vote: id, user_id -> app_user",
	}, "person.person_id"},
	{"a part of people that have no word", []string{
		"subject_file: file_id, first_name text, birth_date date", "patient: file_id -> subject_file, email text",
		"visit: id, file_id -> patient", "letter: id, file_id -> patient",
	}, "subject_file.file_id"},
	{"a user that refers to its person", []string{
		"person: person_id, first_name text, birth_date date, creator? -> account",
		"account: account_id, person_id -> person, login text, password text, email text",
		"a: id, account_id -> account", "b: id, account_id -> account", "c: id, account_id -> account", "visit: id, person_id -> person",
	}, "person.person_id"},
	{"two that come near", []string{
		"member: member_id, first_name text, email text", "client: client_id, first_name text, email text",
		"a: id, member_id -> member", "b: id, client_id -> client",
	}, "asked client.client_id member.member_id"},
	{"one far before another", []string{
		"member: member_id, first_name text, email text, birth_date date", "client: client_id",
		"a: id, member_id -> member", "b: id, member_id -> member",
	}, "member.member_id"},
	{"too little", []string{"client: client_id", "other: id"}, "asked client.client_id"},
	{
		"a key of stays",
		[]string{"patient: stay_id, unique_pid text, first_name text, birth_date date", "lab: id, stay_id -> patient"},
		"asked patient.stay_id patient.unique_pid",
	},
	{
		"a column without a table",
		[]string{"ticket: id, visitor_no, visitor_name text, visitor_email text", "scan: id, visitor_no"},
		"ticket.visitor_no",
	},
	{"it has a table", []string{
		"visitor: visitor_no, first_name text, birth_date date", "ticket: id, visitor_no -> visitor, visitor_name text",
		"scan: id, visitor_no -> visitor",
	}, "visitor.visitor_no"},
	{
		"a table without a key",
		[]string{"customer: customer_no*, first_name text, email text", "sale: id, customer_no"},
		"customer.customer_no",
	},
	{"never by its email", []string{"customer: email* text, first_name text", "sale: id, email text"}, "none"},
	{
		"a dimension",
		[]string{
			"customer_dimension: customer_key, email text, city text",
			"sale: id, customer_key -> customer_dimension",
		},
		"customer_dimension.customer_key",
	},
	{"the key that others refer to", []string{
		"patient: row_id, subject_id!, gender text, birth_date date", "a: id, subject_id -> patient.subject_id",
		"b: id, subject_id -> patient.subject_id",
	}, "patient.subject_id"},
	{"never by a unique email beside its key", []string{
		"user: id, email! text, first_name text, password text", "shop: id, email text", "a: id, user_id -> user", "b: id, email text",
	}, "user.id"},
	{"the firm of its customers", []string{
		"client: client_id, first_name text, email text, organization_id -> organization", "a: id, client_id -> client",
		"organization: organization_id, legal_name text, email text, street text", "b: id, client_id -> client",
	}, "client.client_id"},
	{"machines", []string{"machine: machine_id, model text", "part: id, machine_id -> machine"}, "none"},
	{"a profile by the number of a user", []string{
		"profile: userid, realname text, password text, login text", "bug: id, reporter -> profile", "vote: id, who -> profile",
	}, "profile.userid"},
	{
		"accounts of a ledger",
		[]string{"account: account_id, kind text", "a: id, account_id -> account", "b: id, account_id -> account"},
		"asked account.account_id",
	},
	{
		"accounts of people",
		[]string{"account: account_id, email text", "a: id, account_id -> account", "b: id, account_id -> account"},
		"account.account_id",
	},
	{
		"columns alone",
		[]string{
			"subject_file: id, first_name text, birth_date date, email text",
			"a: id, subject_file -> subject_file", "b: id, subject_file -> subject_file",
		},
		"subject_file.id",
	},
}

// TestWhom finds whom to protect, and asks if it is not clear.
func TestWhom(t *testing.T) {
	for _, c := range whom {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(personOf(suggest.New(parse(t, c.tables...), suggest.NewChoices(suggest.Service{}))), " ")
			if got != c.want {
				t.Errorf("it is %s, want %s", got, c.want)
			}
		})
	}
}

// shuffled has the tables, and the foreign keys of each, in another order.
func shuffled(s *introspect.Survey, r *rand.Rand) *introspect.Survey {
	schema := *s.Schema
	schema.Tables = map[catalog.Name]*catalog.Table{}
	for n, old := range s.Tables {
		again := *old
		again.Foreign, again.Loose = slices.Clone(old.Foreign), slices.Clone(old.Loose)
		r.Shuffle(len(again.Foreign), func(i, j int) { again.Foreign[i], again.Foreign[j] = again.Foreign[j], again.Foreign[i] })
		r.Shuffle(len(again.Loose), func(i, j int) { again.Loose[i], again.Loose[j] = again.Loose[j], again.Loose[i] })
		schema.Tables[n] = &again
	}
	return &introspect.Survey{Schema: &schema}
}

// many makes a database of tables that refer to each other at random, with people among them.
func many(t *testing.T, n int, r *rand.Rand) *introspect.Survey {
	lines := slices.Clone(people)
	for i := range n {
		line := fmt.Sprintf("thing%c_%d: id, label text, amount", 'a'+rune(i%26), i)
		for range r.IntN(4) {
			to := "patient"
			if i > 0 && r.IntN(4) > 0 {
				j := r.IntN(i)
				to = fmt.Sprintf("thing%c_%d", 'a'+rune(j%26), j)
			}
			line += fmt.Sprintf(", c%d? -> %s", strings.Count(line, ","), to)
		}
		lines = append(lines, line)
	}
	return parse(t, lines...)
}

// TestOrderOfTables: the same database gives the same policy, in whatever order its tables and foreign keys come.
func TestOrderOfTables(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		s := many(t, 30, r)
		var first string
		for range 4 {
			d, err := suggest.New(shuffled(s, r), suggest.NewChoices(suggest.Service{}))
			if err != nil {
				t.Fatal(err)
			}
			got := d.Summary("") + d.YAML()
			if first == "" {
				first = got
			}
			if d := cmp.Diff(first, got); d != "" {
				t.Fatalf("-first +other:\n%s", d)
			}
		}
	}
}

func BenchmarkThousandTables(b *testing.B) {
	s := many(&testing.T{}, 1000, rand.New(rand.NewPCG(1, 2)))
	for b.Loop() {
		if _, err := suggest.New(s, suggest.NewChoices(suggest.Service{})); err != nil {
			b.Fatal(err)
		}
	}
}
