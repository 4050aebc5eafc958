package property_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/demo"
	"dpproxy/planner"
)

// demonstration is the database that dpproxy demo makes, with its policy, but for laboratory values.
func demonstration(t *testing.T) *world {
	t.Helper()
	data, client := databases(t)
	size := demo.FullSize
	size.Labs = 1
	g, err := demo.Generate(1, size)
	if err != nil {
		t.Fatal(err)
	}
	if err := demo.Load(t.Context(), data, g, nil); err != nil {
		t.Fatal(err)
	}
	text, err := demo.Clinic.Policy(demo.PolicyValues{})
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(text), "\ntables:")
	tables, _, _ = strings.Cut(tables, "\nanalysts:")
	return &world{
		t: t, conn: data, client: client, cat: model(t, data, policyHead+"tables:"+tables),
		publicRows: map[catalog.Name]int64{{Schema: "public", Name: "hospitals"}: 40},
	}
}

// An atLimit has the exact integers of the demonstration at one limit: how many patients are above it,
// and, unless that is 0, how many visits the first group has then, to one in the last digit.
type atLimit struct {
	limit  float64
	above  int64
	visits float64
}

// demoPatients have visits.
const demoPatients = 96136

// TestDemo compares the exact integers of the demonstration, as one read has them for all limits, with
// those that another program has computed. Norms that are a little longer make others.
func TestDemo(t *testing.T) {
	w := demonstration(t)
	for _, c := range []struct {
		sql  string
		want []atLimit
	}{
		{"SELECT diagnosis, count(*) FROM visits GROUP BY 1", []atLimit{
			{1, 82581, 0},
			{2, 63098, 0},
			{4, 37187, 87069.0034},
			{8, 16942, 0},
			{16, 6054, 0},
			{32, 1681, 169972.6027},
			{64, 345, 0},
			{128, 64, 181698.4570},
			{192, 25, 182408.0528},
			{256, 9, 0},
			{384, 2, 0},
			{512, 1, 0},
			{768, 0, 182763},
		}},
		{"SELECT date_trunc('month', day), count(*) FROM visits GROUP BY 1", []atLimit{
			{1, 82581, 0}, {2, 52831, 0}, {8, 4182, 0}, {32, 102, 17185.0542}, {48, 28, 0}, {64, 14, 0}, {96, 2, 0}, {128, 0, 17360},
		}},
	} {
		p, err := w.plan(c.sql, chosen)
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range p.atLimits(t, c.want) {
			t.Errorf("%s: %s", c.sql, wrong)
		}
		read := p.plan.Blocks[0].Sets[0].Reads[0]
		read.Fold.Sums.Norms[0].Signed = true
		if p.atLimits(t, c.want) == nil {
			t.Errorf("%s: norms that are a little longer change nothing: the test cannot fail", c.sql)
		}
	}
}

// atLimits reads a statement, and lists where its integers differ.
func (p *planned) atLimits(t *testing.T, want []atLimit) (wrong []string) {
	t.Helper()
	read, err := p.exact()
	if err != nil {
		t.Fatal(err)
	}
	exact, m := read[0][0], p.plan.Blocks[0].Sets[0].Measures[0]
	grid, units, compared := m.Norms[0].Grid, exact.Units(m, 0), 0
	if n := units.Beyond([]int{-1}); n.Int64() != demoPatients {
		wrong = append(wrong, fmt.Sprintf("%v patients", n))
	}
	for j, above := range units.Above(0, grid.Len()) {
		at := slices.IndexFunc(want, func(w atLimit) bool { return w.limit == grid.Limit(j) })
		if at < 0 {
			continue
		}
		compared++
		w := want[at]
		firstGroup := exact.Integer(0, []planner.Clip{{Levels: []int{j}}})["=1"]
		visits, _ := new(big.Rat).SetFrac(firstGroup, new(big.Int).Lsh(big.NewInt(1), grid.Lattice(20))).Float64()
		if above.Int64() != w.above || w.visits > 0 && math.Abs(visits-w.visits) > 1e-4 {
			wrong = append(wrong, fmt.Sprintf("at the limit %g: %v patients above, %.4f visits, want %d, %.4f",
				w.limit, above, visits, w.above, w.visits))
		}
	}
	if compared < len(want) {
		wrong = append(wrong, fmt.Sprintf("%d limits of %d", compared, len(want)))
	}
	return wrong
}
