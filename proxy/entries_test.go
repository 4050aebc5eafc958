package proxy_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/proxy"
)

// entries is a ledger that keeps the last charge, or hold with its first step.
type entries struct {
	accountant.Ledger

	charge accountant.Charge
	first  []string
	debits []accountant.Debit
	chosen int // how many choices were charged in all
}

func (l *entries) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	l.charge, l.first, l.debits = c, c.Events, c.Debits
	for _, e := range c.Events {
		if strings.HasPrefix(e, "bounded range") {
			l.chosen++
		}
	}
	return l.Ledger.Charge(ctx, c)
}

func (l *entries) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	l.charge, l.first, l.debits = c, nil, nil
	return l.Ledger.Hold(ctx, c)
}

func (l *entries) Step(ctx context.Context, hold accountant.ChargeID, events []string, debits []accountant.Debit) error {
	if l.first == nil {
		l.first, l.debits = events, debits
	}
	return l.Ledger.Step(ctx, hold, events, debits)
}

// entered is a world that draws each answer anew, and shows what it writes into its ledger.
func entered(t *testing.T, limits ...accountant.Limit) (*client, *entries, *sameNoise) {
	t.Helper()
	l, noise := &entries{}, &sameNoise{}
	w := accurate(t, func(cfg *proxy.Config) {
		l.Ledger = cfg.Ledger
		cfg.Ledger, cfg.Source, cfg.Answers = l, noise, proxy.Answers{}
	}, limits...)
	return w.client(t, "ana"), l, noise
}

// draw asks with other noise each time.
func (s *sameNoise) draw(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rng = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), 1})
}

var chosen = regexp.MustCompile(`with at most ([0-9.]+)[^(]*\(chosen for this statement\)`)

// TestEntriesByHand adds up the entries of a statement with two measures: a tenth of what is asked chooses the limit of
// each, for ε²/8, a tenth tells the units above it, and the rest is for its numbers. For every limit that is
// drawn the ledger has the same entries, which are together the price that was asked.
func TestEntriesByHand(t *testing.T) {
	ana, ledger, noise := entered(t, large(t))
	ana.set(t, "dp.contribution = auto", "dp.epsilon = 0.4", "dp.mechanism = gaussian")
	const (
		asked    = 8 * dp.PicoPerUnit / 100 // ε²/2
		measure  = asked / 2
		choice   = measure / 10
		variance = 125 // of the units above a limit: 1/(2·125) is a tenth of a measure
		release  = measure - 2*choice
	)
	width := root(8 * choice)
	limit := dp.BoundedRangeEvent{Epsilon: width}.String()
	tail := dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Variance: big.NewInt(variance)}.String()
	numbers := mechanisms.RefinementOf(release).(dp.RefinementEvent).String()
	want := []string{limit, tail, limit, tail, numbers, numbers}

	sum := new(big.Rat).Mul(width, width)
	sum.Quo(sum, big.NewRat(8, 1)).Add(sum, big.NewRat(1, 2*variance)).Add(sum, big.NewRat(release, dp.PicoPerUnit))
	sum.Mul(sum, big.NewRat(2*dp.PicoPerUnit, 1)) // both measures, in picos
	if short := new(big.Rat).Sub(big.NewRat(asked, 1), sum); short.Sign() < 0 || short.Cmp(big.NewRat(1, 1)) >= 0 {
		t.Fatalf("by hand the entries are %s of %d", sum.FloatString(3), asked)
	}

	limits := map[string]bool{}
	for n := range 12 {
		noise.draw(n)
		must(t, ana.Conn, "SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY 1")
		if !slices.Equal(ledger.first, want) {
			t.Errorf("the entries are\n%q, want\n%q", ledger.first, want)
		}
		if len(ledger.debits) != 1 || ledger.debits[0].Loss.Pico() != asked {
			t.Errorf("the debits are %v, want %d", ledger.debits, int64(asked))
		}
		drawn := chosen.FindAllStringSubmatch(ana.detail, -1)
		if len(drawn) != 2 {
			t.Fatalf("of limits is told %q", ana.detail)
		}
		limits[drawn[0][1]], limits[drawn[1][1]] = true, true
	}
	if len(limits) < 4 {
		t.Errorf("of two measures these limits alone were drawn: %v", limits)
	}
}

// TestEntriesOfWeights adds up the entries of a statement whose count weighs four times its sum: of ε²/2 = 1/8 the count has
// 1/10, and the sum 1/40. Without the weight each has 1/16. The debit is the same.
func TestEntriesOfWeights(t *testing.T) {
	ana, ledger, noise := entered(t, large(t))
	ana.set(t, "dp.epsilon = 0.5", "dp.mechanism = gaussian")
	noise.draw(1)
	const year = 2010
	gaussian := func(linf, variance int64) string {
		return dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: linf}, Variance: big.NewInt(linf * linf * variance)}.String()
	}
	equal := []string{gaussian(1, 8), gaussian(year, 8)}
	for _, c := range []struct {
		sql  string
		want []string
	}{
		{"SELECT count(*), sum(birth_year) FROM patients", equal},
		{"SELECT dp.weight(count(*), 4), sum(birth_year) FROM patients", []string{gaussian(1, 5), gaussian(year, 20)}},
		{"SELECT dp.weight(count(*), 0.5), dp.weight(sum(birth_year), 2) FROM patients", []string{gaussian(1, 20), gaussian(year, 5)}},
		{"SELECT dp.weight(count(*), 7), dp.weight(sum(birth_year), 7) FROM patients", equal},
	} {
		must(t, ana.Conn, c.sql)
		if !slices.Equal(ledger.charge.Events, c.want) {
			t.Errorf("%s: the entries are\n%q, want\n%q", c.sql, ledger.charge.Events, c.want)
		}
		if d := ledger.debits; len(d) != 1 || d[0].Loss.Pico() != dp.PicoPerUnit/8 {
			t.Errorf("%s: the debits are %v", c.sql, d)
		}
	}
}

// TestRepeatsOfWeights holds that a number is free again that was answered with as little noise or less, however weights say so, and that
// it is paid, and drawn anew, with less noise than it was answered with.
func TestRepeatsOfWeights(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.epsilon = 0.5", "dp.mechanism = gaussian")
	const all = dp.PicoPerUnit / 8
	for _, c := range []struct {
		count, sum string
		price      int64
	}{
		{"count(*)", "sum(birth_year)", all},
		{"dp.weight(count(*), 4)", "sum(birth_year)", all * 4 / 5}, // the sum is as precise as it was, or more
		{"count(*)", "dp.weight(sum(birth_year), 4)", all * 4 / 5},
		{"dp.weight(count(*), 2)", "dp.weight(sum(birth_year), 0.5)", 0},
		{"count(*)", "dp.weight(sum(birth_year), 0.25)", 0},
		{"dp.weight(count(*), 3)", "dp.weight(sum(birth_year), 3)", 0},
		{"dp.weight(count(*), 9)", "sum(birth_year)", 0}, // the same noise, as variances are whole
	} {
		before := w.spent(t, "unit", "patient")
		must(t, ana.Conn, "SELECT "+c.count+", "+c.sum+" FROM patients")
		if price := w.spent(t, "unit", "patient") - before; price > c.price || price < c.price*99/100 {
			t.Errorf("%s, %s costs %d, want %d", c.count, c.sum, price, c.price)
		}
	}
}

// TestWeightsOfPublicRows holds that dp.weight is its argument over rows that nobody protects.
func TestWeightsOfPublicRows(t *testing.T) {
	ana := newWorld(t).client(t, "ana")
	var same bool
	const sql = "SELECT dp.weight(count(*), 3) = count(*) AND dp.weight(max(name), 2) = max(name) FROM hospitals"
	err := ana.QueryRow(t.Context(), sql).Scan(&same)
	if err != nil || !same {
		t.Errorf("%v, %v", same, err)
	}
}

// TestExplainOfLimits holds that EXPLAIN of a statement whose limits are chosen costs nothing, and is the same
// before any limit is drawn and after each draw.
func TestExplainOfLimits(t *testing.T) {
	ana, ledger, noise := entered(t, large(t))
	ana.set(t, "dp.contribution = auto", "dp.epsilon = 0.4", "dp.mechanism = gaussian")
	const sql = "SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY 1"
	explained := func() string {
		t.Helper()
		rows, err := ana.Query(t.Context(), "EXPLAIN VERBOSE "+sql)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		plan, _, left := strings.Cut(strings.Join(lines, "\n"), ", would leave ") // which changes
		if !left {
			t.Fatalf("no balance in %s", plan)
		}
		return plan
	}
	first := explained()
	if ledger.charge.Debits != nil || !strings.Contains(first, "C is chosen") {
		t.Fatalf("%v is charged for\n%s", ledger.charge.Debits, first)
	}
	limits := map[string]bool{}
	for n := range 8 {
		noise.draw(n)
		must(t, ana.Conn, sql)
		for _, drawn := range chosen.FindAllStringSubmatch(ana.detail, -1) {
			limits[drawn[1]] = true
		}
		ledger.charge = accountant.Charge{}
		if again := explained(); again != first || ledger.charge.Debits != nil {
			t.Errorf("%v is charged for\n%s\nwhich was\n%s", ledger.charge.Debits, again, first)
		}
	}
	if len(limits) < 3 {
		t.Errorf("these limits alone were drawn: %v", limits)
	}
}

// TestEntriesOfTotals adds up the entries of a statement with totals: the limit of all its grouping sets is one entry, as
// are the units above it, and of the rest the finest set has two thirds, the total one. They are the same for every
// limit that is drawn.
func TestEntriesOfTotals(t *testing.T) {
	ana, ledger, noise := entered(t, large(t))
	ana.set(t, "dp.contribution = auto", "dp.epsilon = 0.4", "dp.mechanism = gaussian")
	const (
		asked   = 8 * dp.PicoPerUnit / 100 // ε²/2
		choice  = asked / 10
		release = asked - 2*choice
		finest  = release / 3 * 2
	)
	tail := dp.GaussianEvent{Sensitivity: dp.Sensitivity{L0: 1, LInf: 1}, Variance: big.NewInt(63)} // at most a tenth
	want := []string{
		dp.BoundedRangeEvent{Epsilon: root(8 * choice)}.String(), tail.String(),
		mechanisms.RefinementOf(finest).(dp.RefinementEvent).String(),
		mechanisms.RefinementOf(release - finest).(dp.RefinementEvent).String(),
	}
	limits := map[string]bool{}
	for n := range 12 {
		noise.draw(n)
		must(t, ana.Conn, "SELECT diagnosis, count(*) FROM visits GROUP BY ROLLUP (1)")
		got := slices.Clone(ledger.first)
		slices.Sort(got)
		if all := slices.Sorted(slices.Values(want)); !slices.Equal(got, all) {
			t.Errorf("the entries are\n%q, want\n%q", got, all)
		}
		for _, drawn := range chosen.FindAllStringSubmatch(ana.detail, -1) {
			limits[drawn[1]] = true
		}
	}
	if len(limits) < 2 {
		t.Errorf("these limits alone were drawn: %v", limits)
	}
}

// root returns the largest ε in 10⁻¹² with ε² at most a number of 10⁻¹².
func root(pico int64) *big.Rat {
	square := new(big.Int).Mul(big.NewInt(pico), big.NewInt(dp.PicoPerUnit))
	return new(big.Rat).SetFrac(square.Sqrt(square), big.NewInt(dp.PicoPerUnit))
}

// TestPriceOfLimits holds that what a statement costs before anything is drawn is the same for every limit that
// is drawn then, of every kind of statement and budget.
func TestPriceOfLimits(t *testing.T) {
	pure := limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000)
	for name, c := range map[string]struct {
		budget   accountant.Limit
		settings []string
		sql      []string
	}{
		"gaussian": {large(t), []string{"dp.mechanism = gaussian"}, []string{
			"SELECT count(*) FROM visits",
			"SELECT hospital_id, count(*) FROM visits WHERE id <= 4050 GROUP BY 1", // 49 patients have five
			"SELECT diagnosis, hospital_id, sum(cost), count(*) FROM visits GROUP BY GROUPING SETS ((1), (1, 2))",
			"SELECT count(*), avg(cost) FROM visits",
			"SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
			"SELECT count(*), variance(cost) FROM visits",
			"SELECT count(DISTINCT cost) FROM visits",
		}},
		"laplace": {pure, nil, []string{
			"SELECT count(*) FROM visits",
			"SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY 1",
			"SELECT count(*), avg(cost) FROM visits",
		}},
		"a target": {large(t), []string{"dp.relative_error = 0.1"}, []string{
			"SELECT count(*) FROM visits",
			"SELECT diagnosis, count(*), sum(cost) FROM visits GROUP BY 1",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ana, ledger, noise := entered(t, c.budget)
			ana.set(t, append(c.settings, "dp.contribution = auto", "dp.epsilon = 0.2")...)
			for _, sql := range c.sql {
				limits, paid := map[string]bool{}, map[string]bool{}
				for n := range 12 {
					noise.draw(n)
					must(t, ana.Conn, sql)
					paid[fmt.Sprintln(ledger.charge.Events, ledger.charge.Debits, ledger.first, ledger.debits)] = true
					for _, drawn := range chosen.FindAllStringSubmatch(ana.detail, -1) {
						limits[drawn[1]] = true
					}
				}
				if len(paid) != 1 || len(limits) < 2 {
					t.Errorf("%s: of limits %v the entries are\n%v", sql, limits, slices.Collect(maps.Keys(paid)))
				}
			}
		})
	}
}

// TestEntryOfStaircase has the price of a sum that is asked for to ± 1000, where a patient changes it by Δ, from the odds
// of a staircase: (2θ+1)·(e^ε−1) = 19·2Δ at 95 %.
func TestEntryOfStaircase(t *testing.T) {
	ana, ledger, noise := entered(t, limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000))
	noise.draw(1)
	const half, delta = 1000, 2010
	ana.set(t, fmt.Sprintf("dp.error = %d", half), "dp.max_epsilon = 20")
	must(t, ana.Conn, "SELECT sum(birth_year) FROM patients")
	by := math.Log1p(19 * 2 * delta / (2*half + 1.0))
	want := fmt.Sprintf("staircase l0=1 linf=%d epsilon=%.6g step=%d", delta, by, half+1)
	if !slices.Equal(ledger.first, []string{want}) {
		t.Errorf("the entries are %q, want %s", ledger.first, want)
	}
	if len(ledger.debits) != 1 || math.Abs(float64(ledger.debits[0].Loss.Pico())-by*dp.PicoPerUnit) > 1000 {
		t.Errorf("the debits are %v, want ε=%.12f", ledger.debits, by)
	}
}

// TestEntriesOfSuggestedBounds has by hand what a call costs: of the ε that it names, and of no setting, a tenth is for the
// number of rows and the rest for two choices. EXPLAIN and dp.plan cost nothing, and neither does what is refused.
func TestEntriesOfSuggestedBounds(t *testing.T) {
	ana, ledger, noise := entered(t, limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000))
	noise.draw(1)
	ana.set(t, "dp.epsilon = 7")
	const call = "SELECT * FROM dp.suggest_bounds('patients.birth_year', epsilon => 0.4)"
	must(t, ana.Conn, "EXPLAIN "+call)
	must(t, ana.Conn, "SELECT * FROM dp.plan($$"+call+"$$)")
	for sql, want := range map[string]string{
		strings.Replace(call, "0.4", "0", 1):                   "invalid value for parameter \"dp.epsilon\"",
		strings.Replace(call, "0.4", "1001", 1):                "invalid value for parameter \"dp.epsilon\"",
		strings.Replace(call, "0.4", "'NaN'", 1):               "invalid value for parameter \"dp.epsilon\"",
		strings.Replace(call, "birth_year", "sex", 1):          "no bounds to suggest",
		strings.Replace(call, "birth_year", "name", 1):         "has no column",
		"SELECT dp.suggest_bounds('patients.birth_year', 0.4)": "is a table",
		strings.Replace(call, "patients.birth", "birth", 1):    "takes constants",
	} {
		if _, err := ana.Exec(t.Context(), sql); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", sql, err, want)
		}
	}
	if ledger.charge.Debits != nil {
		t.Fatalf("%v is charged for plans and refusals", ledger.charge.Debits)
	}
	var lower, upper int64
	var clamped string
	if err := ana.QueryRow(t.Context(), strings.Replace(call, "*", "lower::bigint, upper::bigint, clamped", 1)).
		Scan(&lower, &upper, &clamped); err != nil || lower > upper {
		t.Fatalf("the bounds are %d and %d (%v)", lower, upper, err)
	}
	const asked, choice = 4 * dp.PicoPerUnit / 10, 18 * dp.PicoPerUnit / 100 // of two percentiles, whose ends nobody sees
	each := dp.BoundedRangeEvent{Epsilon: big.NewRat(choice, dp.PicoPerUnit)}.String()
	want := append([]string{"laplace l0=1 linf=1 scale=25"}, slices.Repeat([]string{each}, 2)...)
	if !slices.Equal(ledger.first, want) {
		t.Errorf("the entries are\n%q, want\n%q", ledger.first, want)
	}
	if len(ledger.debits) != 1 || ledger.debits[0].Loss.Pico() != asked {
		t.Errorf("the debits are %v, want %d", ledger.debits, int64(asked))
	}
	ledger.charge = accountant.Charge{}
	must(t, ana.Conn, "SELECT avg("+clamped+") FROM patients")
	if ledger.charge.Debits == nil && ledger.first == nil {
		t.Error("the bounds cannot be used")
	}
}

// TestEntriesOfEnds counts the choices that a percentile takes: its own, and those of ends that somebody sees. Where rows are ranked by it
// nobody does.
func TestEntriesOfEnds(t *testing.T) {
	ana, ledger, noise := entered(t, limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000))
	ana.set(t, "dp.epsilon = 1", "dp.mechanism = exponential")
	const median = "percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year)"
	const tiles = "SELECT count(*) FROM (SELECT ntile(2) OVER (ORDER BY birth_year) AS half FROM patients) t WHERE half = 1"
	for i, tt := range []struct {
		sql     string
		choices int
	}{
		{"SELECT " + median + " FROM patients", 3},
		{"/* dp: intervals=off */ SELECT " + median + " FROM patients", 1},
		{"/* dp: intervals=off */ SELECT dp.upper(" + median + ") FROM patients", 3},
		{"/* dp: intervals=off, columns=errors */ SELECT " + median + " FROM patients", 3},
		{tiles, 1},
	} {
		noise.draw(i)
		ledger.chosen = 0
		must(t, ana.Conn, tt.sql)
		if ledger.chosen != tt.choices {
			t.Errorf("%s takes %d choices, want %d", tt.sql, ledger.chosen, tt.choices)
		}
	}
}
