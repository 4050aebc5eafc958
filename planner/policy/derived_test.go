package policy_test

import (
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

// TestOrdered reads what CHECK constraints say of two columns as bounds of their difference: never below zero, and as far as their own
// bounds are apart.
func TestOrdered(t *testing.T) {
	for _, c := range []struct{ check, derived, want string }{
		{"(cost >= tip)", "", "cost - tip [0, 1001.5]"},
		{"((tip < cost) AND (steps > 0))", "", "cost - tip [0, 1001.5]"},
		{"(day <= followed)", "", "followed - day [0, 1826]"},
		{"(at >= seen)", "", "at - seen [0 days, 1827 days]"},
		{"(cost >= tip)", "cost - tip", ""},
		{"((cost >= tip) OR (steps > 0))", "", ""},
		{"(NOT (cost >= tip))", "", ""},
		{"(cost >= (tip * 2::numeric))", "", ""},
		{"(cost = tip)", "", ""},
		{"(cost >= secret)", "", ""},
		{"(cost >= 0::numeric)", "", ""},
	} {
		p, s := clinicPolicy(), clinicSchema()
		v := s.Tables[name("visits")]
		for i, more := range []string{"followed", "seen", "secret"} {
			from := []string{"day", "at", "cost"}[i]
			col, _ := v.Column(from)
			other := *col
			other.Name = more
			v.Columns = append(v.Columns, other)
		}
		dates := plannertest.Bounds("2020-01-01", "2024-12-31")
		instants := plannertest.Bounds("2020-01-01 00:00:00Z", "2024-12-31 23:00:00Z")
		columns := p.Tables[1].Columns
		columns["day"], columns["followed"], columns["at"], columns["seen"] = dates, dates, instants, instants
		columns["cost"], columns["tip"] = plannertest.Bounds("0", "1000"), plannertest.Bounds("-1.5", "99")
		columns["secret"] = policy.ColumnPolicy{Hidden: true}
		v.Checks = []catalog.Check{{Expr: c.check, Columns: namesIn(c.check)}}
		if c.derived != "" {
			derived(c.derived, "0", "50")(&p, s)
		}
		m, problems := policy.Check(p, s)
		if problems != nil {
			t.Fatal(problems)
		}
		var got []string
		for _, b := range m.Table(name("visits")).Implied {
			got = append(got, b.Name+" ["+b.Bounds.LowText+", "+b.Bounds.HighText+"]")
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("CHECK %s implies %q, not %q", c.check, got, c.want)
		}
	}
}

// namesIn are the columns that a CHECK names.
func namesIn(check string) (all []string) {
	for _, name := range strings.Fields("cost tip steps day followed at seen secret") {
		if strings.Contains(check, name) {
			all = append(all, name)
		}
	}
	return all
}
