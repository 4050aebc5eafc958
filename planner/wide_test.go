package planner_test

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/parser/ast"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// TestClampKeepsNull: the clamp that hints have is NULL where the value is, and is within its bounds elsewhere, as the planner knows.
func TestClampKeepsNull(t *testing.T) {
	conn := connect(t)
	for x, want := range map[string]string{"CAST(NULL AS int)": "", "-3": "0", "7": "7", "900": "500"} {
		res, err := conn.Exec(t.Context(), "SELECT "+ast.Clamp("("+x+")", "0", "500")).ReadAll()
		if err != nil || string(res[0].Rows[0][0]) != want || want == "" && res[0].Rows[0][0] != nil {
			t.Errorf("%s is clamped to %q, want %q: %v", x, res[0].Rows[0][0], want, err)
		}
	}
	for _, column := range []string{"tip", "steps", "score"} {
		sql := "SELECT sum(" + ast.Clamp(column, "0", "50") + ") FROM visits"
		p := planWith(t, conn, unboundedClinic(t, []string{column}, nil), sql, func(s *planner.Settings) {
			s.Contribution = planner.FixedContribution
		})
		if got := p.Clamped(); got != "an expression to [0, 50]" {
			t.Errorf("%s: clamped are %q", sql, got)
		}
	}
}

// TestWideExtents: an error that is large beside bounds which arithmetic made, or which the policy gives an expression, comes with the
// clamp to write, and none beside bounds that the policy gives a column, or that the statement has.
func TestWideExtents(t *testing.T) {
	plain := clinic(t)
	for sql, want := range map[string]string{
		"SELECT sum(cost - tip) FROM visits":                                                  "[-99, 20001.5] of sum(...)",
		"SELECT avg(day - timestamp '2020-01-01') FROM visits":                                "[0, 157766400] seconds of avg(...)",
		"SELECT avg(day - date '2020-01-01') FROM visits":                                     "[0, 1826] of avg(...)",
		"SELECT sum(d) FROM (SELECT cost * 2 AS d FROM visits) q":                             "[0, 40000] of sum(d)",
		"SELECT sum(round(cost - tip)) FROM visits":                                           "[-99, 20002] of sum(...)",
		"SELECT sum(cost) FROM visits":                                                        "",
		"SELECT sum(least(greatest(cost - tip, 0), 500)) FROM visits":                         "",
		"SELECT sum(" + ast.Clamp("(cost - tip)", "0", "500") + ") FROM visits":               "",
		"SELECT count(*) FROM visits WHERE cost - tip > 5":                                    "",
		"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY cost - tip) FROM visits":          "",
		"SELECT diagnosis, sum(cost - tip), sum(cost - tip), count(*) FROM visits GROUP BY 1": "[-99, 20001.5] of sum(...)",
	} {
		saysExtents(t, plain, sql, want)
	}
	bounded := boundedClinic(t)
	for sql, want := range map[string]string{
		"SELECT sum(cost - tip) FROM visits":           "[0, 50] of sum(...), by the policy's rest (cost - tip in [0, 50])",
		"SELECT sum(2 * (cost - tip)) FROM visits":     "[0, 100] of sum(...), by the policy's rest (cost - tip in [0, 50])",
		`SELECT sum("left") FROM closed`:               "",
		"SELECT sum(tip - cost), count(*) FROM visits": "[-20001.5, 99] of sum(...). ",
	} {
		saysExtents(t, bounded, sql, want)
	}
}

// saysExtents holds that a statement whose answer is within its noise is told to have narrower bounds, where some are wanted, and one whose
// answer is far above it is not.
func saysExtents(t *testing.T, model *policy.Model, sql, want string) {
	t.Helper()
	for _, value := range []int64{0, 1 << 50} {
		p := planWith(t, connect(t), model, sql, func(s *planner.Settings) {
			s.Mechanism, s.Contribution, s.ShowSmallGroups = "auto", planner.FixedContribution, true
		})
		set := p.Blocks[0].Sets[0]
		released := &planner.Released{Clips: cut{tail: [4]int64{20_000, 900, 300, 24}}.clips(set)}
		for range set.Size() {
			row := make([]*big.Int, set.Integers())
			for i := range row {
				row[i] = big.NewInt(value)
			}
			released.Rows = append(released.Rows, row)
		}
		got := planner.WideExtents(p.Plan, [][]*planner.Released{{released}})
		if value > 0 {
			want = ""
		}
		said := strings.Contains(got, "IS NOT NULL") && strings.Contains(got, "derived in docs/policy.md")
		if !strings.Contains(got, want) || want == "" && got != "" || want != "" && !said {
			t.Errorf("%s, with sums of %d: %q, want %q", sql, value, got, want)
		}
	}
}
