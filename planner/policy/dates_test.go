package policy_test

import (
	"encoding/json"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

var decade = &policy.Dates{First: "2010-01-01", Last: "2025-12-31", Of: "defaults.dates"}

// dated is the clinic whose visits have a column of each kind for which a default for dates could be meant.
func dated() (policy.Policy, *catalog.Schema) {
	p, s := clinicPolicy(), clinicSchema()
	composite(&p, s) // the day is part of the key of visits, and labs refer to it
	withWards(&p, s)
	timestamp := plannertest.Builtin("timestamp", "timestamp without time zone", 1114, -1)
	instant := plannertest.Builtin("timestamptz", "timestamp with time zone", 1184, -1)
	dates := plannertest.Builtin("_date", "date[]", 1182, -1)
	since := date
	since.Name, since.Kind, since.OID, since.Display = name("since"), 'd', 20003, "since"
	computed := column("computed", date, true)
	computed.Generated = true
	visits := s.Tables[name("visits")]
	visits.Columns = append(visits.Columns, column("own", date, true), column("values", date, true), column("hidden", date, true),
		column("none", date, true), column("local", timestamp, true), column("instant", instant, true), column("domain", since, true),
		column("several", dates, true), column("time", plannertest.Builtin("time", "time without time zone", 1083, -1), true), computed)
	for _, t := range []string{"wards", "hospitals"} {
		s.Tables[name(t)].Columns = append(s.Tables[name(t)].Columns, column("opened", date, true))
	}
	for i := range p.Tables {
		p.Tables[i].Dates = decade
	}
	columns := p.Tables[1].Columns
	delete(columns, "day")
	delete(columns, "at")
	columns["own"] = policy.ColumnPolicy{Bounds: &policy.Bounds{LowText: "2024-01-01", HighText: "2024-12-31"}}
	columns["values"] = policy.ColumnPolicy{Values: []string{"2024-01-01"}}
	columns["hidden"] = policy.ColumnPolicy{Hidden: true}
	columns["none"] = policy.ColumnPolicy{Unbounded: true}
	columns["local"] = policy.ColumnPolicy{}
	return p, s
}

// TestDates holds that a default for dates bounds the columns of dates and points in time that say nothing else, and no others.
func TestDates(t *testing.T) {
	p, s := dated()
	m, problems := policy.Check(p, s)
	if problems != nil {
		t.Fatal(problems)
	}
	got := ""
	for _, n := range []string{"patients", "visits", "labs", "wards", "hospitals"} {
		for _, c := range m.Table(name(n)).Columns {
			if c.Bounds != nil && c.Bounds.Low == nil && c.ByDefault {
				got += n + "." + c.Name + " " + c.Bounds.LowText + " " + c.Bounds.HighText + "\n"
			} else if c.Bounds != nil && c.ByDefault || c.Name == "own" && c.Bounds.LowText != "2024-01-01" {
				t.Errorf("%s has %v", c.Name, c.Bounds)
			}
		}
	}
	const want = `visits.day 2010-01-01 2025-12-31
visits.at 2010-01-01 00:00:00Z 2025-12-31 23:59:59.999999Z
visits.local 2010-01-01 00:00:00 2025-12-31 23:59:59.999999
visits.instant 2010-01-01 00:00:00Z 2025-12-31 23:59:59.999999Z
visits.domain 2010-01-01 2025-12-31
visits.computed 2010-01-01 2025-12-31
labs.visit_day 2010-01-01 2025-12-31
wards.opened 2010-01-01 2025-12-31
`
	if got != want {
		t.Errorf("bounds by default are\n%s", got)
	}
}

// TestStated holds that a default makes the same questions as the bounds that follow from it, and that a changed one changes the policy
// of the columns that it bounds alone.
func TestStated(t *testing.T) {
	p, s := dated()
	stated := func(dates *policy.Dates) (policy.Policy, string) {
		p, _ := dated()
		for i := range p.Tables {
			p.Tables[i].Dates = dates
		}
		m, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(problems)
		}
		before, _ := json.Marshal(p)
		out := policy.Stated(p, m)
		text, err := json.Marshal(out)
		if after, _ := json.Marshal(p); err != nil || string(after) != string(before) {
			t.Fatalf("the policy became %s, %v", after, err)
		}
		return out, string(text)
	}
	if _, text := stated(nil); text != marshal(t, p) {
		t.Errorf("without a default the policy is\n%s", text)
	}
	byDefault, text := stated(decade)
	hand, _ := dated()
	m, _ := policy.Check(hand, s)
	for i, table := range hand.Tables {
		hand.Tables[i].Dates = nil
		for _, c := range m.Table(table.Name).Columns {
			if b := c.Bounds; c.ByDefault {
				if table.Columns == nil {
					table.Columns = map[string]policy.ColumnPolicy{}
				}
				table.Columns[c.Name] = policy.ColumnPolicy{Bounds: &policy.Bounds{LowText: b.LowText, HighText: b.HighText}}
				hand.Tables[i].Columns = table.Columns
			}
		}
	}
	if byHand := marshal(t, hand); text != byHand {
		t.Errorf("by default\n%s\nby hand\n%s", text, byHand)
	}
	later, _ := stated(&policy.Dates{First: "2010-01-01", Last: "2026-12-31", Of: "defaults.dates"})
	for i, table := range later.Tables {
		for c, has := range table.Columns {
			was := byDefault.Tables[i].Columns[c]
			_, known := p.Tables[i].Columns[c]
			if changed := marshal(t, was) != marshal(t, has); changed != (!known || c == "local") {
				t.Errorf("%v.%s changed: %v", table.Name, c, changed)
			}
		}
		table.Columns, byDefault.Tables[i].Columns = nil, nil
		if was, has := marshal(t, byDefault.Tables[i]), marshal(t, table); was != has {
			t.Errorf("%s became %s", was, has)
		}
	}
}

func marshal(t *testing.T, of any) string {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestInherited holds that a column has the bounds of the one that a foreign key refers to, from table to table, unless the policy says
// something of its own; and that it tells nothing of hidden columns.
func TestInherited(t *testing.T) {
	bounds := &policy.Bounds{LowText: "2020-01-01", HighText: "2024-12-31"}
	for _, c := range []struct {
		name   string
		change func(p *policy.Policy)
		want   string // the bounds of labs.visit_day
	}{
		{"bounds of the other", func(*policy.Policy) {}, "2020-01-01"},
		{"a default for dates", func(p *policy.Policy) { p.Tables[2].Dates = decade }, "2020-01-01"},
		{"a default for both", func(p *policy.Policy) {
			delete(p.Tables[1].Columns, "day")
			p.Tables[1].Dates, p.Tables[2].Dates = decade, decade
		}, "2010-01-01"},
		{"its own", func(p *policy.Policy) {
			p.Tables[2].Columns["visit_day"] = policy.ColumnPolicy{Bounds: &policy.Bounds{LowText: "2021-01-01", HighText: "2021-12-31"}}
		}, "2021-01-01"},
		{"none", func(p *policy.Policy) { p.Tables[2].Columns["visit_day"] = policy.ColumnPolicy{Unbounded: true} }, ""},
		{"the other is hidden", func(p *policy.Policy) {
			p.Tables[1].Columns["day"] = policy.ColumnPolicy{Hidden: true, Bounds: bounds}
		}, ""},
	} {
		p, s := clinicPolicy(), clinicSchema()
		composite(&p, s)
		if p.Tables[1].Columns["day"] = (policy.ColumnPolicy{Bounds: bounds}); p.Tables[2].Columns == nil {
			p.Tables[2].Columns = map[string]policy.ColumnPolicy{}
		}
		c.change(&p)
		m, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(c.name, problems)
		}
		got := ""
		for _, col := range m.Table(name("labs")).Columns {
			if col.Name == "visit_day" && col.Bounds != nil {
				got = col.Bounds.LowText
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
