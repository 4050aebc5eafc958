package planner_test

import (
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

func consistently(s *planner.Settings) { s.Consistent, s.Mechanism = true, "gaussian" }

// noisy returns released integers of all grouping sets of a block, half of them negative.
func noisy(block *planner.BlockPlan, r *rand.Rand) []*planner.Released {
	var released []*planner.Released
	for _, set := range block.Sets {
		of := &planner.Released{Clips: plantest.NewExact(set).Uncut()}
		for i := range of.Clips {
			of.Clips[i].Tail = []*big.Int{new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
		}
		for range set.Size() {
			row := make([]*big.Int, set.Integers())
			for i := range row {
				row[i] = big.NewInt(r.Int64N(400) - 200)
			}
			of.Rows = append(of.Rows, row)
		}
		released = append(released, of)
	}
	return released
}

// texts splits a column that has no quotes.
func texts(column string) []string {
	cells := strings.Split(strings.Trim(column, "{}"), ",")
	for i, c := range cells {
		cells[i] = strings.Trim(c, `"`)
	}
	return cells
}

// Cells of counts and of sums of values that are not negative are not negative with dp.consistent, and those of all
// grouping sets have one sum, as parts and totals have.
func TestConsistentCells(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	conn := connect(t)
	for _, groups := range []string{
		"GROUP BY diagnosis, day", "GROUP BY ROLLUP (diagnosis, day)", "GROUP BY CUBE (diagnosis, day)",
		"GROUP BY GROUPING SETS ((diagnosis), (diagnosis, day))", "GROUP BY GROUPING SETS ((diagnosis, day), (day), ())",
	} {
		block := planWith(t, conn, clinic(t),
			"SELECT diagnosis, day, count(*), sum(cost), count(tip) FROM visits WHERE day < '2020-01-20' "+groups, consistently)
		for range 20 {
			columns := block.Blocks[0].Columns(noisy(block.Blocks[0], r))
			for _, column := range columns[2:] {
				totals := map[string]*big.Rat{}
				diagnoses, days := texts(columns[0]), texts(columns[1])
				for i, cell := range texts(column) {
					n, ok := new(big.Rat).SetString(cell)
					if !ok || n.Sign() < 0 {
						t.Fatalf("%s: a cell is %s", groups, cell)
					}
					for _, of := range []string{diagnoses[i] + "|" + days[i], "of " + level(diagnoses[i], days[i])} {
						if totals[of] == nil {
							totals[of] = new(big.Rat)
						}
						totals[of].Add(totals[of], n)
					}
				}
				checkSums(t, groups, totals)
			}
		}
	}
}

// level names a grouping set by the keys that it has.
func level(keys ...string) string {
	out := ""
	for _, k := range keys {
		if k == "NULL" {
			out += "-"
			continue
		}
		out += "k"
	}
	return out
}

// checkSums compares the totals of rows with the sums of their parts: the cells of diagnosis and day add up to each
// of diagnosis, and to each of day.
func checkSums(t *testing.T, groups string, totals map[string]*big.Rat) {
	t.Helper()
	var all *big.Rat
	for name, sum := range totals {
		if strings.HasPrefix(name, "of ") {
			if all == nil {
				all = sum
			}
			if all.Cmp(sum) != 0 {
				t.Errorf("%s: grouping sets add up to %v and %v", groups, all, sum)
			}
			continue
		}
		diagnosis, day, _ := strings.Cut(name, "|")
		for _, margin := range []string{diagnosis + "|NULL", "NULL|" + day} {
			if margin == name || totals["of kk"] == nil || totals[margin] == nil || strings.Count(margin, "NULL") != 1 {
				continue
			}
			parts := new(big.Rat)
			for other, n := range totals {
				a, b, ok := strings.Cut(other, "|")
				if ok && a != "NULL" && b != "NULL" && (a+"|NULL" == margin || "NULL|"+b == margin) {
					parts.Add(parts, n)
				}
			}
			if parts.Cmp(totals[margin]) != 0 {
				t.Errorf("%s: the parts of %s add up to %v, not %v", groups, margin, parts, totals[margin])
			}
		}
	}
}

// Values that dp.consistent says nothing of stay as they were released: averages, sums that can be negative, and
// everything without it; counts of units are not negative, and stay otherwise.
func TestConsistentCellsAlone(t *testing.T) {
	const sql = "SELECT diagnosis, sum(cost - 10000), avg(cost), count(*), dp.lower(count(*)), count(DISTINCT patient_id) FROM visits " +
		"GROUP BY ROLLUP (diagnosis)"
	conn := connect(t)
	shown := func(consistent bool) *planner.BlockPlan {
		return planWith(t, conn, clinic(t), sql, func(s *planner.Settings) {
			s.Consistent, s.Mechanism, s.ShowSmallGroups = consistent, "gaussian", true
		}).Blocks[0]
	}
	with, without := shown(true), shown(false)
	if !with.Consistent() || without.Consistent() {
		t.Error("what is shown is not told")
	}
	released := noisy(with, rand.New(rand.NewPCG(3, 4)))
	a, b := with.Columns(released), without.Columns(released)
	for _, same := range []int{0, 1, 2, 4} {
		if a[same] != b[same] {
			t.Errorf("column %d is %s, was %s", same, a[same], b[same])
		}
	}
	if a[3] == b[3] || strings.Contains(a[3], "-") || !strings.Contains(b[3], "-") {
		t.Errorf("counts are %s, were %s", a[3], b[3])
	}
	units, before := texts(a[5]), texts(b[5])
	for i := range units {
		if want := before[i]; strings.HasPrefix(want, "-") && units[i] != "0" || !strings.HasPrefix(want, "-") && units[i] != want {
			t.Errorf("units are %v, were %v", units, before)
		}
	}
	bars := func(p *planner.BlockPlan) (out []string) {
		for _, bar := range p.Errors(released) {
			out = append(out, bar.String())
		}
		return out
	}
	if !slices.Equal(bars(with), bars(without)) {
		t.Errorf("errors are %v, were %v", bars(with), bars(without))
	}
}
