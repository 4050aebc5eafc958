package policy_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// closed is the clinic with a default for dates, of which no table lists a column that it uses for joins or for its unit, and visits lists
// one column alone. Unlisted columns are hidden if so.
func closed(hides bool) (policy.Policy, *catalog.Schema) {
	p, s := dated()
	virtual := column("virtual", date, false)
	virtual.Virtual = true
	visits := s.Tables[name("visits")]
	visits.Columns = append(visits.Columns, virtual)
	for i := range p.Tables {
		t := &p.Tables[i]
		t.HidesUnlisted, t.Columns = hides && !t.Public, nil
		if t.Name == name("visits") {
			t.Columns = map[string]policy.ColumnPolicy{"local": {}}
		}
	}
	return p, s
}

// TestUnlistedIsHidden holds that a policy which hides what it does not list is the same as one that lists each such column as hidden:
// units, ways and references work, and nothing but the listed column is there, of public tables all.
func TestUnlistedIsHidden(t *testing.T) {
	p, s := closed(true)
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	hand, _ := closed(false)
	for i := range hand.Tables {
		of := &hand.Tables[i]
		if of.Public {
			continue
		}
		columns := map[string]policy.ColumnPolicy{}
		for _, c := range s.Tables[of.Name].Columns {
			columns[c.Name] = policy.ColumnPolicy{Hidden: c.Name != "local"}
		}
		of.Columns = columns
	}
	byHand, problems := policy.Check(hand, s)
	if problems != nil {
		t.Fatal(problems)
	}
	if diff := cmp.Diff(byHand.Describe(), m.Describe()); diff != "" {
		t.Errorf("described is (-by hand +unlisted)\n%s", diff)
	}
	if got, want := marshal(t, policy.Stated(p, m)), marshal(t, policy.Stated(hand, byHand)); got != want {
		t.Errorf("unlisted\n%s\nby hand\n%s", got, want)
	}
	for i := range p.Tables {
		of, hides := &p.Tables[i], !p.Tables[i].Public
		for _, c := range m.Table(of.Name).Columns {
			if of.Says(c.Name).Hidden != c.Hidden || c.Hidden != (hides && c.Name != "local") || c.Hidden && c.Bounds != nil {
				t.Errorf("%v.%s: hidden %v, bounds %v", of.Name, c.Name, c.Hidden, c.Bounds)
			}
		}
		if names := policy.Unlisted(of, m); hides && names != nil {
			t.Errorf("%v is open by %v", of.Name, names)
		}
	}
}

// TestUnlistedIsOpen holds that the columns of a policy that does not say what unlisted ones are, are open as they were, and can be named.
func TestUnlistedIsOpen(t *testing.T) {
	p, s := closed(false)
	visits := s.Tables[name("visits")]
	visits.Columns = visits.Columns[:len(visits.Columns)-1] // a virtual column cannot be open
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	for i := range p.Tables {
		of, all := &p.Tables[i], []string{}
		for _, c := range s.Tables[p.Tables[i].Name].Columns {
			if c.Name != "local" {
				all = append(all, c.Name)
			}
		}
		if names := policy.Unlisted(of, m); !slices.Equal(names, all) || slices.ContainsFunc(all, m.Table(of.Name).Hides) {
			t.Errorf("%v is open by %v, not by %v", of.Name, names, all)
		}
	}
}
