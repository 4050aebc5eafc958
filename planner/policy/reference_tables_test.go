package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/parser/repair"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// withWards adds reference tables: wards, to which visits refer, and buildings, to which wards do.
func withWards(p *policy.Policy, s *catalog.Schema) {
	s.Tables[name("wards")] = &catalog.Table{
		Name: name("wards"), Kind: 'r', Columns: []catalog.Column{
			column("id", int4, true), column("building_id", int4, false), column("head_id", int4, true), column("code", text, true),
		},
		Keys:    []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}},
		Foreign: []catalog.ForeignKey{references("building_id", "buildings")},
	}
	s.Tables[name("buildings")] = &catalog.Table{
		Name: name("buildings"), Kind: 'r', Columns: []catalog.Column{column("id", int4, true), column("city", text, true)},
		Keys: []catalog.Key{{Name: "pkey", Columns: []string{"id"}, Primary: true}},
	}
	visits := s.Tables[name("visits")]
	visits.Columns = append(visits.Columns, column("ward_id", int4, true), column("other_ward", int4, false))
	visits.Foreign = append(visits.Foreign, references("ward_id", "wards"))
	p.Tables = append(p.Tables, policy.TablePolicy{Name: name("wards"), Reference: true},
		policy.TablePolicy{Name: name("buildings"), Reference: true})
}

// referenceTables are changes of the clinic with wards.
var referenceTables = []struct {
	name   string
	edit   func(p *policy.Policy, s *catalog.Schema)
	said   string // by what wards are looked up
	remark string
	wrong  string // the problem
}{
	{
		name: "foreign key", edit: func(*policy.Policy, *catalog.Schema) {}, said: "visits.ward_id",
		remark: "is protected as the rows of the one patient",
	},
	{name: "promised", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Refers = refers("other_ward", "wards", "")
	}, said: "visits.other_ward visits.ward_id", remark: "no enforced foreign key says that visits.other_ward refers to it"},
	{name: "not enforced", edit: func(_ *policy.Policy, s *catalog.Schema) {
		v := s.Tables[name("visits")]
		v.Foreign, v.Loose = slices.DeleteFunc(v.Foreign, isOf("wards")), []catalog.ForeignKey{references("ward_id", "wards")}
	}, said: "visits.ward_id", remark: "no enforced foreign key says that visits.ward_id refers to it"},
	{name: "hidden", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Columns["ward_id"] = policy.ColumnPolicy{Hidden: true}
	}, said: "visits.…"},
	{name: "another whole number", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Columns[0].Type = plannertest.Bigint
	}, said: "visits.ward_id"},
	{name: "another type", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Columns[0].Type = text
	}, remark: "no statement can read it"},
	{name: "a key that can be NULL", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Columns[0].NotNull = false
	}, remark: "no statement can read it"},
	{name: "no key", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Keys = nil
	}, remark: "no statement can read it"},
	{name: "promised of no key", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Refers = refers("other_ward", "wards", "building_id")
	}, wrong: "has no key over NOT NULL columns"},
	{name: "promised of another type", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].Refers = refers("diagnosis", "wards", "")
	}, wrong: "have different types"},
	{name: "leads to people", edit: func(_ *policy.Policy, s *catalog.Schema) {
		w := s.Tables[name("wards")]
		w.Foreign = append(w.Foreign, references("head_id", "patients"))
	}, wrong: "leads to public.patients, whose rows are people's"},
	{name: "leads to people by a key that is not enforced", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Loose = []catalog.ForeignKey{references("head_id", "patients")}
	}, wrong: "leads to public.patients, whose rows are people's"},
	{name: "leads to people, as the policy knows", edit: func(p *policy.Policy, s *catalog.Schema) {
		w := s.Tables[name("wards")]
		w.Foreign = append(w.Foreign, references("head_id", "patients"))
		wards(p).NotProtected = []string{"head_id"}
	}, said: "visits.ward_id"},
	{name: "promises people", edit: func(p *policy.Policy, _ *catalog.Schema) {
		wards(p).Refers = refers("head_id", "patients", "")
	}, wrong: "has rows of people"},
	{name: "a way to the unit", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[2].Via, p.Tables[2].To = "visit_id", policy.ColumnName{Table: name("wards"), Column: "id"}
	}, wrong: "is not a protected table"},
	{name: "a public table that refers to it", edit: func(_ *policy.Policy, s *catalog.Schema) {
		h := s.Tables[name("hospitals")]
		h.Foreign = append(h.Foreign, references("id", "wards"))
	}, said: "visits.ward_id"},
	{name: "a view", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Kind = 'v'
	}, wrong: "only tables can be protected"},
	{name: "inheritance", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Children = []catalog.Name{name("old_wards")}
	}, wrong: "inheritance children"},
	{name: "a part of a table of people", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("wards")].Parents = []catalog.Name{name("visits")}
	}, wrong: "its rows are rows of public.visits as well"},
	{name: "people who are a part of it", edit: func(_ *policy.Policy, s *catalog.Schema) {
		s.Tables[name("labs")].Parents = []catalog.Name{name("wards")}
	}, wrong: "its rows are rows of public.wards as well"},
	{name: "same unit", edit: func(p *policy.Policy, _ *catalog.Schema) {
		p.Tables[1].SameUnit = []string{"ward_id"}
	}, wrong: "is no reference to rows of people"},
}

// wards is the policy of wards.
func wards(p *policy.Policy) *policy.TablePolicy { return &p.Tables[len(p.Tables)-2] }

// TestReferenceTables holds which rows look up those of reference tables, and which policies are refused.
func TestReferenceTables(t *testing.T) {
	for _, c := range referenceTables {
		p, s := clinicPolicy(), clinicSchema()
		withWards(&p, s)
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
		of := m.Table(name("wards"))
		if said := strings.Join(policy.LookedUpBy(m, of), " "); said != c.said {
			t.Errorf("%s: %q", c.name, said)
		}
		if remarks := fmt.Sprint(policy.OfReference(m, of)); !strings.Contains(remarks, c.remark) {
			t.Errorf("%s: %s", c.name, remarks)
		}
		if of.Unit.Column != "" || len(policy.Ends(of)) > 0 || of.UnitIndex(nil) {
			t.Errorf("%s: %v", c.name, of.Unit)
		}
		for _, a := range m.Advice(nil) {
			if strings.Contains(a.String(), "wards") {
				t.Errorf("%s: %v", c.name, a)
			}
		}
	}
}

func isOf(table string) func(catalog.ForeignKey) bool {
	return func(fk catalog.ForeignKey) bool { return fk.References == name(table) }
}

// TestReferencesProveNoPeople holds that no foreign key from a reference row proves a row of people, who may be missing beside it; one to a
// reference row does.
func TestReferencesProveNoPeople(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	withWards(&p, s)
	w := s.Tables[name("wards")]
	w.Foreign = append(w.Foreign, references("head_id", "patients"))
	p.Tables[len(p.Tables)-2].NotProtected = []string{"head_id"}
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	of, known := m.Schema().Table("public", "wards")
	if !known || !of.Protected || of.Unit != "" || len(of.Parents) > 0 || !slices.Equal(of.Keys, []string{"id"}) {
		t.Errorf("%+v", of)
	}
	visits, _ := m.Schema().Table("public", "visits")
	if want := (repair.Key{Schema: "public", Table: "wards", Column: "id"}); visits.Parents["ward_id"] != want {
		t.Errorf("%v", visits.Parents)
	}
	if len(s.Tables[name("wards")].Foreign) != 2 || len(m.Source(name("wards")).Foreign) != 1 {
		t.Errorf("%v", m.Source(name("wards")).Foreign)
	}
}

// TestReferenceTablesAreDescribed holds what analysts are told of them.
func TestReferenceTablesAreDescribed(t *testing.T) {
	p, s := clinicPolicy(), clinicSchema()
	withWards(&p, s)
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	for _, d := range m.Describe() {
		if d.Name == name("buildings") && d.Unit != "looked up by wards.building_id" ||
			d.Name == name("wards") && d.Unit != "looked up by visits.ward_id" {
			t.Errorf("%+v", d)
		}
	}
	var of ast.Suggester = m
	if _, err := of.SuggestBounds("", "wards", "id"); err == nil || !strings.Contains(err.Message, "is a reference table") {
		t.Errorf("%v", err)
	}
}
