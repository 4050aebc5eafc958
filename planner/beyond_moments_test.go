package planner_test

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpproxy/contribution"
	"dpproxy/planner"
)

// A patientOf is what a patient has: visits, and a year of birth.
type patientOf struct{ visits, born int64 }

// patientsOf have numbers of visits that fall by a third from one to the next, and were born the earlier the more they have.
func patientsOf() (all []patientOf) {
	for _, v := range visitors(func(int64) int64 { return 0 }) {
		all = append(all, patientOf{v.visits * v.visits, 1990 - 3*min(v.visits, 20) + int64(len(all)%7)})
	}
	return all
}

// TestMomentsBeyond cuts patients with many visits, without noise: the interval with what limits may have moved holds the standard
// deviation and the correlation of all, and that of the noise does not.
func TestMomentsBeyond(t *testing.T) {
	const counts = "(SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t"
	all := patientsOf()
	var n, s, q, sy, qy, p float64
	for _, u := range all {
		x, y := float64(u.visits), float64(u.born-1965)
		n, s, q, sy, qy, p = n+1, s+x, q+x*x, sy+y, qy+y*y, p+x*y
	}
	variance, other := q/n-s*s/n/n, qy/n-sy*sy/n/n
	for sql, want := range map[string]float64{
		"SELECT stddev_pop(n), dp.lower(stddev_pop(n)), dp.upper(stddev_pop(n)) FROM " + counts: math.Sqrt(variance),
		"SELECT corr(n, birth_year), dp.lower(corr(n, birth_year)), dp.upper(corr(n, birth_year)) FROM patients p JOIN " + counts +
			" ON t.patient_id = p.id": (p/n - s*sy/n/n) / math.Sqrt(variance*other),
		"SELECT covar_pop(n, birth_year), dp.lower(covar_pop(n, birth_year)), dp.upper(covar_pop(n, birth_year)) FROM patients p JOIN " +
			counts + " ON t.patient_id = p.id": p/n - s*sy/n/n,
	} {
		b := planWith(t, connect(t), unlimitedClinic(t), sql, func(s *planner.Settings) {
			s.Mechanism, s.EpsilonPico = "gaussian", 100*s.EpsilonPico
		}).Blocks[0]
		released := momentsOf(b, all, 100)
		row := numbersOf(t, b, released)
		noise := b.Errors(released)[0].Most
		t.Logf("%s: %v from %v to %v, noise %v, in truth %v", sql, row[0], row[1], row[2], noise, want)
		if want < row[1] || want > row[2] {
			t.Errorf("%s: %v is not within %v and %v", sql, want, row[1], row[2])
		}
		if math.Abs(want-row[0]) < noise {
			t.Errorf("%s: the noise %v alone holds %v, and %v is shown", sql, noise, want, row[0])
		}
		shiftsReach(t, b, released, row, noise)
	}
}

// shiftsReach holds that the value of a row, with both ends of its interval behind it, can be moved as far as limits widen that interval.
func shiftsReach(t *testing.T, b *planner.BlockPlan, released []*planner.Released, row []float64, noise float64) {
	t.Helper()
	s := planner.ShiftsOf(b, released)
	if s.Len() != 1 || !s.Known() {
		t.Fatalf("%d values can be moved, known: %v", s.Len(), s.Known())
	}
	for part, want := range map[float64]float64{1: row[2] - noise, 0: row[0], -1: row[1] + noise} {
		columns := s.Columns(func(int) float64 { return part })
		got, err := strconv.ParseFloat(strings.Trim(columns[0], `{}"`), 64)
		if err != nil || math.Abs(got-want) > 1e-6*math.Abs(want) {
			t.Errorf("moved by %v it is %v, want %v: %v", part, got, want, err)
		}
		if rest := b.Columns(released)[1:]; !slices.Equal(columns[1:], rest) {
			t.Errorf("moved by %v the ends are %v, were %v", part, columns[1:], rest)
		}
	}
}

// momentsOf is what is released of patients without noise, where squares of so many visits are cut.
func momentsOf(b *planner.BlockPlan, all []patientOf, most int64) []*planner.Released {
	set := b.Sets[0]
	m := set.Measures[0]
	level := func(norm int, size int64) int {
		j := 0
		for j < m.Norms[norm].Grid.Len() && m.Norms[norm].Grid.Limit(j) < float64(size) {
			j++
		}
		return j
	}
	squares := func(u patientOf) []int64 {
		return []int64{1, u.visits * u.visits, (u.born - 1965) * (u.born - 1965)}[:len(m.Norms)]
	}
	clip := planner.Clip{}
	for norm := range m.Norms {
		limit := []int64{1, most * most, 2025}[norm]
		clip.Levels = append(clip.Levels, level(norm, limit))
	}
	var units contribution.Cells
	cells := make([]contribution.Cells, set.Places())
	for _, u := range all {
		var levels []int
		for norm, of := range squares(u) {
			levels = append(levels, level(norm, of))
		}
		units.Add(levels, big.NewInt(1), nil)
		x, y := u.visits, u.born-1965
		for place, of := range map[int][]int64{3: {1, x * x, x}, 4: {1, x * y, y, x}, 6: {1, x * y, y * y, x * x, y, x}}[set.Places()] {
			cells[place].Add(levels, big.NewInt(of), nil)
		}
	}
	for _, n := range m.TailUnits(clip, &units) {
		clip.Tail = append(clip.Tail, shown(n, 0))
	}
	clips := []planner.Clip{clip}
	var row []*big.Int
	for place := range cells {
		row = append(row, shown(set.Bounded(place, clips, &cells[place]), set.Noise(place, clips).Bits))
	}
	return []*planner.Released{{Rows: [][]*big.Int{row}, Clips: clips}}
}

// TestMomentsUnanswered holds that second moments are NULL where limits cut most of the units, and say what would do.
func TestMomentsUnanswered(t *testing.T) {
	b := planWith(t, connect(t), unlimitedClinic(t), "SELECT stddev(n) FROM (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t",
		func(s *planner.Settings) { s.Mechanism = "gaussian" }).Blocks[0]
	all := patientsOf()
	for most, null := range map[int64]bool{2: true, 100: false} {
		released := momentsOf(b, all, most)
		if got := b.Columns(released)[0] == "{NULL}"; got != null {
			t.Errorf("cut at %d it shows %s", most, b.Columns(released)[0])
		}
		if got := b.Unanswered(released, "patient", 1e11); len(got) > 0 != null {
			t.Errorf("cut at %d: %v", most, got)
		} else if null {
			t.Logf("%+v", got)
		}
	}
}

// TestSquaresAreReleasedAsNeeded counts the numbers that are released of second moments: squares that only bound units are read, and
// have no part of the budget.
func TestSquaresAreReleasedAsNeeded(t *testing.T) {
	const from = " FROM patients p JOIN (SELECT patient_id, count(*) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.id"
	for values, want := range map[string]int{
		"covar_pop(n, birth_year)":                                 4,
		"regr_slope(n, birth_year)":                                5,
		"corr(n, birth_year)":                                      6,
		"covar_pop(n, birth_year), corr(n, birth_year)":            6,
		"corr(n, birth_year), covar_samp(n, birth_year)":           6,
		"regr_slope(n, birth_year), regr_intercept(n, birth_year)": 5,
		"covar_pop(n, n)":                                          3,
	} {
		set := planWith(t, connect(t), unlimitedClinic(t), "SELECT "+values+from, func(s *planner.Settings) { s.Mechanism = "gaussian" }).
			Blocks[0].Sets[0]
		norms := map[bool]int{true: 2, false: 3}[values == "covar_pop(n, n)"]
		if len(set.Measures) != 1 || len(set.Measures[0].Norms) != norms || set.Integers() != want || set.Places() != want {
			t.Errorf("%s: %d measures of %d norms, %d numbers released from %d places", values,
				len(set.Measures), len(set.Measures[0].Norms), set.Integers(), set.Places())
		}
	}
}

// TestLimitsOfSquares holds that limits of squares can be those of many rows with the largest ones, which are counted in 2^40 parts: with
// limits of a few, people who have many rows would count less than others, and the moments be those of the others.
func TestLimitsOfSquares(t *testing.T) {
	const largest, rows = 1 << 40, 64
	for _, values := range []string{"stddev(cost * tip)", "covar_pop(cost * tip, cost * tip)", "corr(cost * tip, cost - tip)"} {
		for _, groups := range []string{"", " GROUP BY diagnosis"} {
			b := planWith(t, connect(t), unlimitedClinic(t), "SELECT "+values+" FROM visits"+groups,
				func(s *planner.Settings) { s.Mechanism = "gaussian" }).Blocks[0]
			n := b.Sets[0].Measures[0].Norms[1]
			if most := n.Grid.Limit(n.Choices - 1); most < rows*largest {
				t.Errorf("%s%s: squares have limits up to %v rows with the largest ones", values, groups, most/largest)
			}
		}
	}
}
