package local

import (
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/planner/policy"
)

// TestOtherObjects holds that answers are those of the tables and partitions that have given them, whatever their names are by now.
func TestOtherObjects(t *testing.T) {
	public := func(n string) catalog.Name { return catalog.Name{Schema: "public", Name: n} }
	link := func(budget, table, id string) accountant.Link {
		return accountant.Link{
			Scope: accountant.Scope{Kind: accountant.LocalScope, Name: budget}, Table: accountant.Table{Name: table, ID: id},
		}
	}
	of := func(n string, within ...uint32) relation { return relation{public(n), within} }
	base := []accountant.Link{
		link("public.people", "public.people", ""), link("public.people", "public.people", "1/2/10"),
		link("public.people", "public.people_1", "1/2/11"),
	}
	renamed := []accountant.Link{
		link("public.folk", "public.folk", ""), link("public.folk", "public.people", ""), link("public.folk", "public.people", "1/2/10"),
	}
	for _, c := range []struct {
		name  string
		now   string // the ID of people by now
		links []accountant.Link
		there map[uint32]relation
		other string
	}{
		{"as it was", "1/2/10", base, map[uint32]relation{10: of("people", 10), 11: of("people_1", 11, 10)}, ""},
		{"renamed and replaced", "1/2/20", base, map[uint32]relation{10: of("was", 10), 20: of("people", 20)}, "public.was"},
		{"restored from a dump", "1/2/20", base, map[uint32]relation{20: of("people", 20)}, ""},
		{"another database", "1/3/10", base, map[uint32]relation{}, ""},
		{"a part of the new one", "1/2/20", base, map[uint32]relation{10: of("people_0", 10, 20), 11: of("people_1", 11, 10, 20)}, ""},
		{"a partition detached", "1/2/10", base, map[uint32]relation{10: of("people", 10), 11: of("aside", 11)}, ""},
		{"a partition protected", "1/2/10", base, map[uint32]relation{10: of("people", 10), 11: of("kept", 11)}, "public.kept"},
		{"a partition of the local model", "1/2/10", base, map[uint32]relation{11: of("crowd", 11)}, "public.crowd"},
		{"a partition made public", "1/2/10", base, map[uint32]relation{11: of("shown", 11)}, ""},
		{"its budget renamed", "1/2/10", renamed, map[uint32]relation{10: of("people", 10)}, ""},
		{"its budget renamed, and replaced", "1/2/20", renamed, map[uint32]relation{10: of("was", 10)}, "public.was"},
	} {
		s := Site{&site.Site{Policy: &config.Policy{
			Tables: policy.Policy{Tables: []policy.TablePolicy{{Name: public("kept")}, {Name: public("shown"), Public: true}}},
			Local:  []policy.LocalTable{{Name: public("people")}, {Name: public("crowd")}},
		}}}
		r := ledger.Ruling{Database: strings.TrimSuffix(strings.TrimSuffix(c.now, "/10"), "/20")}
		r.Links = []accountant.Link{link("public.people", "public.people", c.now)}
		err := s.otherThan(public("people"), r, c.links, c.there)
		if (err != nil) != (c.other != "") || err != nil && !strings.Contains(err.Error(), "objects of "+c.other+" have answered") {
			t.Errorf("%s: %v, want %q", c.name, err, c.other)
		}
	}
}
