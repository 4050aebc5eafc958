package policy_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// spoilt are cases that spoil a valid policy or schema in one way; every one of them would
// break ownership or a proof of sensitivity if it went unseen.
var spoilt = []struct {
	name  string
	spoil func(p *policy.Policy, s *catalog.Schema)
	want  string
}{
	{"missing table", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Name = name("nobody") }, "does not exist"},
	{"missing column", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Columns["age"] = values("1") }, "no such column"},
	{"view", func(_ *policy.Policy, s *catalog.Schema) { s.Tables[name("visits")].Kind = 'v' }, "only tables can be protected"},
	{
		"materialised view", func(_ *policy.Policy, s *catalog.Schema) { s.Tables[name("visits")].Kind = 'm' },
		"only tables can be protected",
	},
	{"row security", func(_ *policy.Policy, s *catalog.Schema) { s.Tables[name("visits")].RowSecurity = true }, "row security"},
	{"inheritance", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("patients")].Children = []catalog.Name{name("old_patients")}
	}, "inheritance children"},
	{"unit missing", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].UnitColumn = "person" }, "no column \"person\""},
	{"unit of a float", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].UnitColumn = "weight" }, "a unit is identified by"},
	{"via a column that is no key", func(_ *policy.Policy, s *catalog.Schema) { s.Tables[name("visits")].Keys = nil }, "proves it a key"},
	{"via a nullable key", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("visits")].Columns[0].NotNull = false
	}, "proves it a key"},
	{"via itself", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[2].To.Table = name("labs") }, "does not reach the privacy unit"},
	{"via a public table", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[2].To.Table = name("hospitals") }, "not a protected table"},
	{"via a column with another collation", func(_ *policy.Policy, s *catalog.Schema) {
		collated(s, "C", true)
	}, "same, deterministic collation"},
	{"via a column with a loose collation", func(_ *policy.Policy, s *catalog.Schema) {
		collated(s, "", false)
	}, "same, deterministic collation"},
	{"second person", func(_ *policy.Policy, s *catalog.Schema) {
		v := s.Tables[name("visits")]
		v.Columns = append(v.Columns, column("doctor_id", int4, true))
		v.Foreign = append(v.Foreign, references("doctor_id", "patients"))
	}, "second way"},
	{"second person by a key that is not enforced", func(_ *policy.Policy, s *catalog.Schema) {
		v := s.Tables[name("visits")]
		v.Columns = append(v.Columns, column("doctor_id", int4, true))
		v.Loose = append(v.Loose, references("doctor_id", "patients"))
	}, "second way"},
	{"part of a key that another column completes", func(p *policy.Policy, s *catalog.Schema) {
		composite(p, s)
		s.Tables[name("visits")].Keys = []catalog.Key{{Name: "pkey", Columns: []string{"id", "day", "cost"}, Primary: true}}
	}, "proves it a key"},
	{"key of several columns, one of them nullable", func(p *policy.Policy, s *catalog.Schema) {
		composite(p, s)
		day, _ := s.Tables[name("visits")].Column("day")
		day.NotNull = false
	}, "proves it a key"},
	{"columns that refer to nothing", func(p *policy.Policy, s *catalog.Schema) {
		composite(p, s)
		s.Tables[name("labs")].Foreign, s.Tables[name("visits")].Keys[0].Primary = nil, false
	}, "no foreign key over (visit_id, visit_day) refers to public.visits"},
	{"a column of a path that is not there", func(p *policy.Policy, s *catalog.Schema) {
		composite(p, s)
		p.Tables[2].ViaKey = []string{"visit_id", "visit_month"}
	}, "no column \"visit_month\""},
	{"columns of a path with other types", func(p *policy.Policy, s *catalog.Schema) {
		composite(p, s)
		day, _ := s.Tables[name("labs")].Column("visit_day")
		day.Type = text
	}, "have different types"},
	{"second person by a key that has the unit's column in another place", func(_ *policy.Policy, s *catalog.Schema) {
		v := s.Tables[name("visits")]
		v.Foreign = append(v.Foreign, catalog.ForeignKey{
			Name: "other", Columns: []string{"id", "patient_id"}, References: name("visits"), Target: []string{"patient_id", "id"},
		})
	}, "second way"},
	{"public table about people by a key that is not enforced", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("hospitals")].Loose = []catalog.ForeignKey{references("id", "patients")}
	}, "references the protected table"},
	{
		"column that is computed when it is read",
		func(_ *policy.Policy, s *catalog.Schema) { virtual(s, "visits", "cost") }, "make it STORED, or hide it",
	},
	{"unit that is computed when it is read", func(p *policy.Policy, s *catalog.Schema) {
		virtual(s, "visits", "patient_id")
		p.Tables[1].Columns["patient_id"] = policy.ColumnPolicy{Hidden: true}
	}, `"patient_id" is a virtual generated column`},
	{"path that is computed when it is read", func(p *policy.Policy, s *catalog.Schema) {
		virtual(s, "labs", "visit_id")
		p.Tables[2].Columns["visit_id"] = policy.ColumnPolicy{Hidden: true}
	}, `"visit_id" is a virtual generated column`},
	{"public table about people", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("hospitals")].Foreign = []catalog.ForeignKey{references("id", "patients")}
	}, "references the protected table"},
	{"units of two types", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("visits")].Columns[1].Type = text
	}, "must identify the same unit"},
	{
		"number bounds of text",
		func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Columns["sex"] = bounds("0", "1") },
		"numbers as bounds",
	},
	{"bounds upside down", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[0].Columns["birth_year"] = bounds("2010", "1920")
	}, "above the upper"},
	{"values beyond the type", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[0].Columns["birth_year"] = values("3000000000")
	}, "no integer"},
	{"values twice", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Columns["sex"] = values("f", "f") }, "listed twice"},
	{"values with blanks that mean nothing", func(p *policy.Policy, s *catalog.Schema) {
		s.Tables[name("patients")].Columns[2].Type = builtin("bpchar", "character(3)", 1042, 7)
		p.Tables[0].Columns["sex"] = values("f", "f ")
	}, "ends with blanks"},
	{
		"values of an instant", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].Columns["at"] = values("now") },
		"cannot have declared values",
	},
	{
		"values of a float",
		func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Columns["weight"] = values("1.5") },
		"cannot have declared values",
	},
	{"values spelled oddly", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[0].Columns["birth_year"] = values("0x7c6")
	}, "no integer"},
	{"enum values of a text", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[0].Columns["sex"] = policy.ColumnPolicy{EnumValues: true}
	}, "is no enum"},
	{"step of an integer", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[0].Columns["birth_year"] = step(1, 10)
	}, "not for integer"},
	{"step of a text", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[0].Columns["sex"] = step(1, 10) }, "not for text"},
	{
		"step of a numeric with a scale",
		func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].Columns["cost"] = step(1, 1000) }, "have a step already",
	},
	{"step of a numeric that is no power of ten", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Columns["tip"] = step(1, 4)
	}, "power of ten"},
	{"step of no width", func(p *policy.Policy, _ *catalog.Schema) { p.Tables[1].Columns["tip"] = step(0, 1) }, "above 0"},
	{"step that leaves out digits before the point", func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Columns["tip"] = step(10, 1)
	}, "at most 1"},
	{"nobody's rows without a key", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyRows)
		s.Tables[name("visits")].Keys = nil
	}, "no unique index over NOT NULL columns"},
	{"nobody's rows by a key that can be NULL", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyRows)
		nullable(s, "visits", "id")
	}, "no unique index over NOT NULL columns"},
	{"nobody's rows by a key without bytes", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyRows)
		c, _ := s.Tables[name("visits")].Column("id")
		c.Type = plannertest.Jsonb
		s.Tables[name("labs")].Columns[1].Type = plannertest.Jsonb
	}, "no unique index over NOT NULL columns"},
	{"nobody's rows along a way", func(p *policy.Policy, s *catalog.Schema) {
		nullable(s, "labs", "visit_id")
		p.Tables[2].Nobody = policy.NobodyRows
	}, "count by its own nobody"},
	{"nobody's rows of a partition otherwise than of its whole", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyRows)
		part := *s.Tables[name("visits")]
		part.Name, part.Parents = name("visits_2024"), []catalog.Name{name("visits")}
		s.Tables[part.Name] = &part
		s.Tables[name("visits")].Kind = 'p'
		of := p.Tables[1]
		of.Name, of.Nobody = part.Name, ""
		p.Tables = append(p.Tables, of)
	}, "the same rows must count in the same way"},
	{"public rows of erased people", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyPublic)
		s.Tables[name("visits")].Foreign[0].Forgets = true
	}, "rows of an erased patient would be public"},
	{"public rows of erased people, by a foreign key that is not enforced", func(p *policy.Policy, s *catalog.Schema) {
		counting(p, s, policy.NobodyPublic)
		visits := s.Tables[name("visits")]
		visits.Foreign[0].Forgets = true
		visits.Loose, visits.Foreign = visits.Foreign, nil
	}, "rows of an erased patient would be public"},
	{"bounds of an expression over no column", derived("cost - fee", "0", "1"), `derived.x.is: there is no column "fee"`},
	{"bounds of an expression over a hidden column", func(p *policy.Policy, s *catalog.Schema) {
		p.Tables[1].Columns["cost"] = policy.ColumnPolicy{Hidden: true}
		derived("cost * 2", "0", "1")(p, s)
	}, `the column "cost" is hidden`},
	{"bounds of an expression over another table", derived("patients.weight - cost", "0", "1"), `write "weight" without "patients"`},
	{"bounds of an expression over a column without any", derived("hospital_id * 2", "0", "1"), `the column "hospital_id" has no bounds`},
	{"bounds of a column", derived("cost", "0", "1"), "no operator or function of columns"},
	{"bounds of a choice", derived("COALESCE(cost, tip)", "0", "1"), "no operator or function of columns"},
	{"bounds of a constant", derived("2 * 3", "0", "1"), "names no column"},
	{"bounds of a text", derived("upper(diagnosis)", "0", "1"), "type text, which cannot have bounds"},
	{"numbers as bounds of an interval", func(p *policy.Policy, s *catalog.Schema) {
		p.Tables[1].Columns["at"] = plannertest.Bounds("2020-01-01 00:00:00Z", "2024-12-31 00:00:00Z")
		derived("at - day", "0", "1")(p, s)
	}, `type interval: write them as ["0 days", "60 days"]`},
	{"intervals as bounds of a number", derived("cost * 2", "0 days", "1 day"), "intervals as bounds of an expression of type numeric"},
	{"intervals as bounds of a date", derived("day + 1", "0 days", "1 day"), "intervals as bounds of an expression of type date"},
	{"bounds of an interval with months", derived("age(at, at)", "0 days", "1 day"), "no difference of two timestamps"},
	{"bounds of an aggregate", derived("sum(cost)", "0", "1"), "aggregate"},
	{"bounds of what changes", derived("cost * random()", "0", "1"), "random() is not allowed"},
	{"bounds of what is no expression", derived("cost -", "0", "1"), "no expression over the columns"},
	{"numbers as bounds of a date", derived("day + 1", "0", "1"), "derived.x.bounds: numbers as bounds of an expression of type date"},
	{"dates as bounds of a number", derived("cost * 2", "2020-01-01", "2020-01-02"), "dates as bounds of an expression of type numeric"},
	{"bounds of an expression the wrong way round", derived("cost * 2", "2", "1"), "the lower bound is above the upper one"},
	{"bounds of an expression that is called as a column", func(p *policy.Policy, s *catalog.Schema) {
		derived("cost * 2", "0", "1")(p, s)
		p.Tables[1].Derived[0].Name = "tip"
	}, "derived.tip: the table has a column of this name"},
	{"bounds of an expression that has some", func(p *policy.Policy, s *catalog.Schema) {
		derived("cost + steps * 2", "0", "1")(p, s)
		derived("(2 * steps + cost)", "0", "2")(p, s)
	}, "x is the same expression"},
	{"values under a loose collation", func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("patients")].Columns[2].Deterministic = false
	}, "cannot have declared values"},
}

// derived bounds an expression over visits, as x.
func derived(is, low, high string) func(*policy.Policy, *catalog.Schema) {
	return func(p *policy.Policy, _ *catalog.Schema) {
		d := policy.DerivedPolicy{Name: "x", Is: is, Bounds: plannertest.Bounds(low, high).Bounds}
		p.Tables[1].Derived = append(p.Tables[1].Derived, d)
	}
}

func step(numerator, denominator int64) policy.ColumnPolicy {
	return policy.ColumnPolicy{Step: big.NewRat(numerator, denominator)}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range spoilt {
		t.Run(c.name, func(t *testing.T) {
			p, s := clinicPolicy(), clinicSchema()
			c.spoil(&p, s)
			cat, problems := policy.Check(p, s)
			if cat != nil {
				t.Fatal("accepted")
			}
			for _, p := range problems {
				if strings.Contains(p.String(), c.want) {
					return
				}
			}
			t.Errorf("problems %v, want one with %q", problems, c.want)
		})
	}
}

func virtual(s *catalog.Schema, table, column string) {
	c, _ := s.Tables[name(table)].Column(column)
	c.Generated, c.Virtual = true, true
}

// A virtual column may be hidden, and public tables may have any.
func TestVirtualColumns(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	virtual(s, "visits", "tip")
	virtual(s, "hospitals", "region")
	p.Tables[1].Columns["tip"] = policy.ColumnPolicy{Hidden: true}
	if _, problems := policy.Check(p, s); problems != nil {
		t.Error(problems)
	}
}

// collated makes the path of labs one of texts, with a collation of its own.
func collated(s *catalog.Schema, collation string, deterministic bool) {
	key, via := &s.Tables[name("visits")].Columns[0], &s.Tables[name("labs")].Columns[1]
	key.Type, via.Type = text, text
	via.Deterministic = deterministic
	if collation != "" {
		via.Collation = catalog.Name{Schema: "pg_catalog", Name: collation}
	}
}

// composite makes a visit told by its id and its day, and labs refer to both.
func composite(p *policy.Policy, s *catalog.Schema) {
	s.Tables[name("visits")].Keys = []catalog.Key{{Name: "pkey", Columns: []string{"id", "day"}, Primary: true}}
	labs := s.Tables[name("labs")]
	labs.Columns = append(labs.Columns, column("visit_day", date, false))
	labs.Foreign = []catalog.ForeignKey{{
		Name: "of_visit", Columns: []string{"visit_day", "visit_id"}, References: name("visits"), Target: []string{"day", "id"},
	}}
	p.Tables[2].Via, p.Tables[2].To.Column, p.Tables[2].ViaKey = "", "", []string{"visit_id", "visit_day"}
}

// TestCompositeKeys follows a foreign key of two columns, whatever their order in it, to a table or a partitioned one; without
// a foreign key, the primary key in its order.
func TestCompositeKeys(t *testing.T) {
	for _, kind := range []byte{'r', 'p'} {
		for _, foreign := range []bool{true, false} {
			p, s := clinicPolicy(), clinicSchema()
			composite(&p, s)
			s.Tables[name("visits")].Kind = kind
			if !foreign {
				s.Tables[name("labs")].Foreign = nil
			}
			cat, problems := policy.Check(p, s)
			if problems != nil {
				t.Fatal(problems)
			}
			step := cat.Table(name("labs")).Unit.Steps[0]
			if !slices.Equal(step.From, []string{"visit_id", "visit_day"}) || !slices.Equal(step.Key, []string{"id", "day"}) {
				t.Errorf("labs are joined by %v = %v", step.From, step.Key)
			}
		}
	}
}

// TestKeysThatHoldTheUnit holds that a foreign key which compares the units of both rows, or contains the path, is no second way.
func TestKeysThatHoldTheUnit(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	composite(&p, s)
	visits, labs := s.Tables[name("visits")], s.Tables[name("labs")]
	visits.Columns = append(visits.Columns, column("previous", int4, false))
	visits.Foreign = append(visits.Foreign, catalog.ForeignKey{
		Name: "previous", Columns: []string{"previous", "patient_id"}, References: visits.Name, Target: []string{"id", "patient_id"},
	})
	labs.Columns = append(labs.Columns, column("cost", numeric10, false))
	labs.Foreign = append(labs.Foreign, catalog.ForeignKey{
		Name: "paid", Columns: []string{"visit_day", "cost", "visit_id"}, References: visits.Name, Target: []string{"day", "cost", "id"},
	})
	if _, problems := policy.Check(p, s); problems != nil {
		t.Error(problems)
	}
}

// TestReferences holds that a foreign key to a row of people beside the way is taken for a row of the same unit, until the policy says
// otherwise, and that the policy can state one where no foreign key does.
func TestReferences(t *testing.T) {
	var warned string
	for _, c := range []struct {
		name  string
		edit  func(p *policy.Policy, s *catalog.Schema)
		said  string // the references of labs
		wrong string // the problem
	}{
		{name: "foreign key", edit: func(*policy.Policy, *catalog.Schema) {}, said: "[order_id] orders [id] false; "},
		{name: "said", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].SameUnit = []string{"order_id"}
		}, said: "[order_id] orders [id] true; "},
		{name: "excused", edit: func(p *policy.Policy, _ *catalog.Schema) { p.Tables[2].NotProtected = []string{"order_id"} }},
		{name: "excused and said", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].NotProtected, p.Tables[2].SameUnit = []string{"order_id"}, []string{"order_id"}
		}, wrong: `"order_id" is no reference`},
		{name: "promised alone", edit: func(p *policy.Policy, s *catalog.Schema) {
			s.Tables[name("labs")].Foreign = nil
			p.Tables[2].Refers = refers("order_id", "orders", "")
		}, said: "[order_id] orders [id] false; "},
		{name: "promised of the way", edit: func(p *policy.Policy, s *catalog.Schema) {
			s.Tables[name("labs")].Foreign = nil
			p.Tables[2].Refers = refers("visit_id", "visits", "id")
		}},
		{name: "no key there", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].Refers = refers("order_id", "orders", "patient_id")
		}, wrong: "has no key"},
		{name: "another person", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].Refers = refers("order_id", "patients", "")
		}, wrong: "another patient"},
		{name: "other type", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].Refers = refers("value", "orders", "")
		}, wrong: "different types"},
		{name: "nothing", edit: func(p *policy.Policy, _ *catalog.Schema) {
			p.Tables[2].SameUnit = []string{"value"}
		}, wrong: "is no reference"},
	} {
		p, s := clinicPolicy(), clinicSchema()
		withOrders(&p, s)
		c.edit(&p, s)
		m, problems := policy.Check(p, s)
		if c.wrong != "" {
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.wrong) {
				t.Errorf("%s: %v", c.name, problems)
			}
			continue
		}
		if problems != nil {
			t.Errorf("%s: %v", c.name, problems)
			continue
		}
		said := ""
		for _, r := range m.Table(name("labs")).References {
			said += fmt.Sprintln(r.From, r.To.Name.Name, r.Key, r.Said)
		}
		if said = strings.ReplaceAll(said, "\n", "; "); said != c.said {
			t.Errorf("%s: %q", c.name, said)
		}
		labs := m.Table(name("labs"))
		warned += strings.Join(policy.Together(append(policy.Assumed(labs, "patient"), policy.Unpromised(labs, "patient")...)), "\n")
	}
	if strings.Count(warned, "order_id refers to orders, taken for a row of the same patient") != 2 ||
		strings.Count(warned, "no foreign key says that visit_id refers to visits") != 1 {
		t.Error(warned)
	}
}

// refers is the reference of a column that a policy states.
func refers(column, table, key string) []policy.ReferencePolicy {
	return []policy.ReferencePolicy{{From: []string{column}, To: policy.ColumnName{Table: name(table), Column: key}}}
}

// withOrders adds orders, of whom labs tell which they were made for.
func withOrders(p *policy.Policy, s *catalog.Schema) {
	s.Tables[name("orders")] = &catalog.Table{
		Name: name("orders"), Kind: 'r', Columns: []catalog.Column{column("id", int4, true), column("patient_id", int4, true)},
		Keys: []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}},
	}
	labs := s.Tables[name("labs")]
	labs.Columns = append(labs.Columns, column("order_id", int4, false))
	labs.Foreign = append(labs.Foreign, references("order_id", "orders"))
	p.Tables = append(p.Tables, policy.TablePolicy{Name: name("orders"), UnitColumn: "patient_id"})
}

func TestSecondPersonMayBeExcused(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	v := s.Tables[name("visits")]
	v.Columns = append(v.Columns, column("doctor_id", int4, true))
	v.Foreign = append(v.Foreign, references("doctor_id", "patients"))
	p.Tables[1].NotProtected = []string{"doctor_id"}
	if _, problems := policy.Check(p, s); problems != nil {
		t.Error(problems)
	}
}
