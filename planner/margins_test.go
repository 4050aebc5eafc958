package planner_test

import (
	"math/big"
	"strings"
	"testing"

	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// A histogram has fewer buckets where a grouping set has more groups, so that the next
// statistic begins elsewhere in each set. Totals that agree with their groups stay, and so do the
// groups and the histogram.
func TestTotalsBesideHistograms(t *testing.T) {
	p := planWith(t, connect(t), clinic(t), "SELECT day, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost), avg(cost) "+
		"FROM visits GROUP BY ROLLUP (day)", showSmallGroups)
	block := p.Blocks[0]
	days := int64(max(block.Sets[0].Size(), block.Sets[1].Size()))
	var released []*planner.Released
	exacts := plantest.NewExacts(block)
	for i, set := range block.Sets {
		r := &planner.Released{Clips: exacts[i].Uncut()}
		each := days / int64(set.Size())
		for range set.Size() {
			row := make([]*big.Int, set.Integers())
			for i := range row {
				row[i] = new(big.Int)
			}
			for _, m := range set.Statistics() {
				switch {
				case strings.HasPrefix(m.Name, "sum"): // every day has one visit, of cost 0
					row[m.First].SetInt64(-2_000_000 * each)
				case strings.HasPrefix(m.Name, "count"):
					row[m.First].SetInt64(each)
				default:
					first := m.First
					for _, nodes := range m.Levels {
						row[first].SetInt64(each)
						first += nodes
					}
				}
			}
			r.Rows = append(r.Rows, row)
		}
		released = append(released, r)
	}
	columns := block.Columns(released)
	for i, name := range []string{"median", "average"} {
		for row, cell := range strings.Split(strings.Trim(columns[1+i], "{}"), ",") {
			got, ok := new(big.Rat).SetString(strings.Trim(cell, `"`))
			if !ok || got.Cmp(big.NewRat(20000/64, 1)) > 0 || name == "average" && got.Sign() != 0 {
				t.Fatalf("row %d: the %s is %s", row, name, cell)
			}
		}
	}
}

// Where units have one weight in all grouping sets, or cannot be above their limits, totals are made to agree
// with their parts. Where each set has weights of its own they are not.
func TestTotalsOfCutUnits(t *testing.T) {
	for sql, agree := range map[string]bool{
		"SELECT diagnosis, count(*) FROM visits GROUP BY ROLLUP (diagnosis)":                                   true,
		"SELECT sex, count(*) FROM patients GROUP BY ROLLUP (sex)":                                             true,
		"SELECT diagnosis, count(DISTINCT patient_id) FROM visits GROUP BY ROLLUP (diagnosis)":                 false,
		"SELECT diagnosis, count(DISTINCT cost) FROM visits GROUP BY ROLLUP (diagnosis)":                       false,
		"SELECT diagnosis, date_part('year', day), count(*) FROM visits GROUP BY GROUPING SETS ((1), (2), ())": false,
	} {
		block := planWith(t, connect(t), clinic(t), sql, showSmallGroups).Blocks[0]
		var released []*planner.Released
		exacts := plantest.NewExacts(block)
		for at, set := range block.Sets {
			r := &planner.Released{Clips: exacts[at].Uncut()}
			for i := range r.Clips {
				r.Clips[i].Tail = []*big.Int{new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
			}
			for range set.Size() {
				n := big.NewInt(1000)
				if set.Size() == 1 {
					n.SetInt64(7)
				}
				r.Rows = append(r.Rows, []*big.Int{n})
			}
			released = append(released, r)
		}
		columns := block.Columns(released)
		total := 0
		for cell := range strings.SplitSeq(strings.Trim(columns[len(columns)-1], "{}"), ",") {
			if cell = strings.Trim(cell, `"`); cell == "7" {
				total++
			}
		}
		if total != map[bool]int{false: 1, true: 0}[agree] {
			t.Errorf("%s: a total of 7 beside groups of 1000 stands %d times", sql, total)
		}
	}
}

// TestTotalsWithoutGroups draws a total of which no group is listed: it stays as it was drawn.
func TestTotalsWithoutGroups(t *testing.T) {
	const sql = "SELECT sex, count(*) FROM patients WHERE sex NOT IN ('f', 'm', 'x') GROUP BY ROLLUP (sex)"
	block := planWith(t, connect(t), clinic(t), sql, showSmallGroups).Blocks[0]
	var released []*planner.Released
	for i, set := range block.Sets {
		r := &planner.Released{Clips: plantest.NewExacts(block)[i].Uncut()}
		for range set.Size() {
			r.Rows = append(r.Rows, []*big.Int{big.NewInt(7)})
		}
		released = append(released, r)
	}
	if got := strings.Join(block.Columns(released), " "); got != `{NULL} {"7"}` {
		t.Errorf("%s", got)
	}
	for _, bar := range block.Errors(nil) {
		if !bar.Known() {
			t.Errorf("%v", bar)
		}
	}
}
