package planner_test

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/planner"
)

// choiceSettings allow ρ = 0.005, or in a pure budget ε = 0.1.
func choiceSettings(pure bool) planner.Settings {
	return planner.Settings{
		EpsilonPico: dp.PicoPerUnit / 10, Mechanism: "auto", Pure: pure, Alpha: 0.05, ShowSmallGroups: true,
		Contribution: "auto",
	}
}

const (
	medianYear = "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year) FROM patients"
	quartiles  = "SELECT percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY birth_year) FROM patients"
	commonSex  = "SELECT mode() WITHIN GROUP (ORDER BY sex) FROM patients"
	medianCost = "SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits GROUP BY diagnosis"
)

// TestPriceOfChoices has prices that were computed by hand: of ρ = 0.005 a tenth is for the number of rows, whose
// noise of variance 1/(2·0.0005) = 1000 costs just that, and the rest for choices: ε = √(8·0.0045) = 0.18973665961010…
// rounded down, or √(8·0.00225) = 0.13416407864998… for two. Where a limit is chosen it and the units above it have a tenth
// each before: ε = √(8·0.0005) = 0.06324555320336…, variance 1000, and then 0.0004 and 0.0036 of the rest.
func TestPriceOfChoices(t *testing.T) {
	for _, tt := range []struct {
		sql      string
		pure     bool
		epsilons []string
		price    int64 // in 10⁻¹²
	}{
		{medianYear, false, []string{"0.18973665961"}, 5_000_000_000},
		{quartiles, false, []string{"0.134164078649", "0.134164078649"}, 5_000_000_000},
		{commonSex, false, []string{"0.18973665961"}, 5_000_000_000},
		{medianCost, false, []string{"0.063245553203", "0.169705627484"}, 5_000_000_000},
		{medianYear, true, []string{"0.09"}, 100_000_000_000},
		{quartiles, true, []string{"0.045", "0.045"}, 100_000_000_000},
		{commonSex, true, nil, 100_000_000_000},
		{medianCost, true, []string{"0.01", "0.072"}, 100_000_000_000},
	} {
		event := chosenBlock(t, tt.sql, choiceSettings(tt.pure)).Event()
		var epsilons []string
		for _, e := range event {
			if b, ok := e.(dp.BoundedRangeEvent); ok {
				pico := new(big.Rat).Mul(b.Epsilon, big.NewRat(dp.PicoPerUnit, 1))
				epsilons = append(epsilons, dp.Decimal(pico.Num().Int64(), 12))
			}
		}
		if !slices.Equal(epsilons, tt.epsilons) {
			t.Errorf("%s, pure: %t: choices at %v, want %v", tt.sql, tt.pure, epsilons, tt.epsilons)
		}
		if paid := paidPico(t, event, tt.pure); paid != tt.price {
			t.Errorf("%s, pure: %t: costs %d·10⁻¹², want %d", tt.sql, tt.pure, paid, tt.price)
		}
	}
}

// paidPico prices an event for a budget of zCDP or of pure DP, in 10⁻¹².
func paidPico(t *testing.T, event dp.Event, pure bool) int64 {
	t.Helper()
	measure := dp.ZCDP
	if pure {
		measure = dp.PureDP
	}
	loss, err := accountant.Price(event, measure)
	if err != nil {
		t.Fatal(err)
	}
	return loss.Pico()
}

// chosenBlock plans a statement over the clinic.
func chosenBlock(t *testing.T, sql string, s planner.Settings) *planner.BlockPlan {
	t.Helper()
	return chosenPlan(t, sql, s).Blocks[0]
}

func chosenPlan(t *testing.T, sql string, s planner.Settings) specialized {
	t.Helper()
	return planWith(t, connect(t), clinic(t), sql, func(all *planner.Settings) {
		s.Limits = all.Limits
		*all = s
	})
}

// releasedOf is a released row: the number of rows, and what was chosen.
func releasedOf(set *planner.GroupingSet, row ...int64) []*planner.Released {
	r := &planner.Released{Clips: plantest.NewExact(set).Uncut(), Rows: [][]*big.Int{nil}}
	for _, n := range row {
		r.Rows[0] = append(r.Rows[0], big.NewInt(n))
	}
	return []*planner.Released{r}
}

// Chosen buckets are shown by their middle, those of an array in the order of the fractions; an index that no choice has, as
// one of a record that is damaged, breaks nothing.
func TestChosenValues(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		row  []int64
		want string
	}{
		{medianYear, []int64{1000, 60}, "{1980}"},
		{medianYear, []int64{1000, 90}, "{2010}"},
		{medianYear, []int64{1000, 91}, "{1920}"},
		{medianYear, []int64{1000, -1}, "{1920}"},
		{quartiles, []int64{1000, 80, 60}, "{{1980,2000}}"},
		{
			"SELECT percentile_disc(ARRAY[0.75, NULL, 0.25]) WITHIN GROUP (ORDER BY birth_year) FROM patients",
			[]int64{1000, 60, 80},
			"{{2000,NULL,1980}}",
		},
		{
			"SELECT percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY birth_year DESC) FROM patients",
			[]int64{1000, 60, 80},
			"{{2000,1980}}",
		},
		{commonSex, []int64{1000, 0}, "{f}"},
		{commonSex, []int64{1000, 1}, "{m}"},
		{commonSex, []int64{1000, 3}, "{f}"},
	} {
		b := chosenBlock(t, tt.sql, choiceSettings(false))
		columns := b.Columns(releasedOf(b.Sets[0], tt.row...))
		if got := strings.NewReplacer(`\"`, "", `"`, "").Replace(columns[len(columns)-1]); got != tt.want {
			t.Errorf("%s: %v shows %s, want %s", tt.sql, tt.row, got, tt.want)
		}
	}
}

// Of a group that may have no rows nothing is shown.
func TestSmallGroupsOfChoices(t *testing.T) {
	s := choiceSettings(false)
	s.ShowSmallGroups = false
	for _, sql := range []string{medianYear, commonSex} {
		b := chosenBlock(t, sql, s)
		for rows, null := range map[int64]bool{-5: true, 0: true, 62: true, 63: false, 1000: false} { // 1.96·√1000 = 61.98
			columns := b.Columns(releasedOf(b.Sets[0], rows, 1))
			if got := columns[0] == "{NULL}"; got != null {
				t.Errorf("%s: of %d rows it shows %s", sql, rows, columns[0])
			}
		}
	}
}

// Error statements are in rows: ⌈2·max(a, c−a)/c·ln(B/α)/ε⌉ of a choice of B buckets, and ⌈ln(k/α)/ε⌉ of one of k values.
func TestErrorsOfChoices(t *testing.T) {
	for sql, want := range map[string]string{
		medianYear: "percentile_disc(birth_year): rank within 40 rows", // ln(91/0.05)/0.1897 = 39.56
		commonSex:  "mode(sex): at most 22 rows fewer than the most frequent",
		"SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY birth_year) FROM patients": "percentile_disc(birth_year): rank within 72 rows",
	} {
		b := chosenBlock(t, sql, choiceSettings(false))
		if got := b.Errors(releasedOf(b.Sets[0], 1000, 1))[0].String(); got != want {
			t.Errorf("%s: the error is %q, want %q", sql, got, want)
		}
	}
}

// A choice answers what it is better at, and a histogram all that is read off it.
func TestChoiceOrHistogram(t *testing.T) {
	many := make([]string, 0, 12)
	for i := range 12 {
		many = append(many, big.NewRat(int64(i+1), 13).FloatString(3))
	}
	disc := func(fractions, order string) string {
		return "percentile_disc(" + fractions + ") WITHIN GROUP (ORDER BY birth_year" + order + ")"
	}
	of := func(outputs ...string) string { return "SELECT " + strings.Join(outputs, ", ") + " FROM patients" }
	for sql, choices := range map[string]int{
		medianYear: 1, quartiles: 2, commonSex: 1, medianCost: 1,
		of(disc("ARRAY["+strings.Join(many, ", ")+"]", "")):                     0,
		of(disc("0.5", ""), "max(birth_year)"):                                  0,
		of(disc("0.5", ""), "max(birth_year) FILTER (WHERE birth_year > 1950)"): 1,
		of(disc("0", "")):                                    0,
		of(disc("0.5", ""), disc("0.5", "")):                 1,
		of(disc("0.3", ""), disc("0.7", " DESC")):            1,
		of(disc("0.5", ""), "dp.upper("+disc("0.1", "")+")"): 0,
	} {
		for _, pure := range []bool{false, true} {
			got := 0
			for _, s := range chosenBlock(t, sql, choiceSettings(pure)).Sets[0].Statistics() {
				got += s.Choices
			}
			if got != choices {
				t.Errorf("%s, pure: %t: %d choices, want %d", sql, pure, got, choices)
			}
		}
	}
	s := choiceSettings(false)
	s.Mechanisms = []string{"laplace", "gaussian"}
	if got := chosenBlock(t, medianYear, s).Sets[0].Statistics()[0].Choices; got != 0 {
		t.Errorf("%d choices, which the policy does not allow", got)
	}
}

// Answers of other fractions, other kinds, or other values to choose from are other questions.
func TestQuestionsOfChoices(t *testing.T) {
	seen := map[string]string{}
	for _, sql := range []string{
		medianYear, "SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY birth_year) FROM patients",
		"SELECT percentile_disc(0.75) WITHIN GROUP (ORDER BY birth_year) FROM patients",
		"SELECT percentile_disc(0.500001) WITHIN GROUP (ORDER BY birth_year) FROM patients", quartiles, commonSex,
		"SELECT mode() WITHIN GROUP (ORDER BY sex) FROM patients WHERE sex IN ('f')",
		"SELECT mode() WITHIN GROUP (ORDER BY birth_year) FROM patients WHERE birth_year < 1930",
		"SELECT mode() WITHIN GROUP (ORDER BY birth_year) FROM patients WHERE birth_year <= 1930",
	} {
		var question []string
		p := chosenPlan(t, sql, choiceSettings(false))
		for _, part := range p.Blocks[0].Question(p.values) {
			question = append(question, string(part))
		}
		all := strings.Join(question, "\x00")
		if of, have := seen[all]; have {
			t.Errorf("%s is the same question as %s", sql, of)
		}
		seen[all] = sql
	}
}
