package planner_test

import (
	"fmt"
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
	leastYear  = "SELECT min(birth_year) FROM patients"
	commonSex  = "SELECT mode() WITHIN GROUP (ORDER BY sex) FROM patients"
	medianCost = "SELECT diagnosis, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) FROM visits GROUP BY diagnosis"
)

// without is settings that ask for no intervals.
func without(s planner.Settings) planner.Settings {
	s.NoIntervals = true
	return s
}

// A percentile whose error is not asked for has all that choices have, be it ρ or ε: TestPriceOfChoices has these for MIN and a mode.
func TestPriceWithoutEnds(t *testing.T) {
	const upper = "SELECT dp.upper(percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year)) FROM patients"
	for _, tt := range []struct {
		sql  string
		pure bool
		each string
		n    int
	}{
		{medianYear, false, "0.18973665961", 1},
		{medianYear, true, "0.09", 1},
		{quartiles, false, "0.134164078649", 2},
		{quartiles, true, "0.045", 2},
		{leastYear, false, "0.18973665961", 1},
		{upper, false, "0.109544511501", 3},
	} {
		s := without(choiceSettings(tt.pure))
		s.Mechanism = "exponential"
		event := chosenBlock(t, tt.sql, s).Event()
		each := 0
		for _, e := range event {
			if b, ok := e.(dp.BoundedRangeEvent); ok && b.Epsilon.FloatString(12) == padded(tt.each) {
				each++
			}
		}
		if each != tt.n {
			t.Errorf("%s, pure: %t: %d choices at %s, want %d: %v", tt.sql, tt.pure, each, tt.each, tt.n, event)
		}
		price := map[bool]int64{false: 5_000_000_000, true: 100_000_000_000}[tt.pure]
		if paid := paidPico(t, event, tt.pure); paid != price {
			t.Errorf("%s, pure: %t: costs %d·10⁻¹², want %d", tt.sql, tt.pure, paid, price)
		}
	}
}

// padded has twelve decimals.
func padded(decimal string) string { return decimal + strings.Repeat("0", 14-len(decimal)) }

// TestPriceOfChoices has prices that were computed by hand: of ρ = 0.005 a tenth is for the number of rows, whose
// noise of variance 1/(2·0.0005) = 1000 costs just that, and the rest for choices: ε = √(8·0.0045) = 0.18973665961010…
// rounded down. A percentile has three, itself and the ends of its interval: ε = √(8·0.0015) = 0.10954451150103…, two have six:
// √(8·0.00075) = 0.07745966692414…, and MIN one. Where a limit is chosen it and the units above it have a tenth
// each before: ε = √(8·0.0005) = 0.06324555320336…, variance 1000, and then 0.0004 and three times 0.0012 of the rest.
func TestPriceOfChoices(t *testing.T) {
	for _, tt := range []struct {
		sql      string
		pure     bool
		epsilons []string
		price    int64 // in 10⁻¹²
	}{
		{medianYear, false, slices.Repeat([]string{"0.109544511501"}, 3), 5_000_000_000},
		{quartiles, false, slices.Repeat([]string{"0.077459666924"}, 6), 5_000_000_000},
		{leastYear, false, []string{"0.18973665961"}, 5_000_000_000},
		{commonSex, false, []string{"0.18973665961"}, 5_000_000_000},
		{medianCost, false, append([]string{"0.063245553203"}, slices.Repeat([]string{"0.097979589711"}, 3)...), 5_000_000_000},
		{medianYear, true, slices.Repeat([]string{"0.03"}, 3), 100_000_000_000},
		{quartiles, true, slices.Repeat([]string{"0.015"}, 6), 100_000_000_000},
		{leastYear, true, []string{"0.09"}, 100_000_000_000},
		{commonSex, true, nil, 100_000_000_000},
		{medianCost, true, append([]string{"0.01"}, slices.Repeat([]string{"0.024"}, 3)...), 100_000_000_000},
	} {
		s := choiceSettings(tt.pure)
		s.Mechanism = "exponential"
		event := chosenBlock(t, tt.sql, s).Event()
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
		{medianYear, []int64{1000, 50, 60, 70}, "{1980}"},
		{medianYear, []int64{1000, 50, 90, 70}, "{2010}"},
		{medianYear, []int64{1000, 50, 91, 70}, "{1920}"},
		{medianYear, []int64{1000, 50, -1, 70}, "{1920}"},
		{quartiles, []int64{1000, 0, 80, 90, 0, 60, 90}, "{{1980,2000}}"},
		{
			"SELECT percentile_disc(ARRAY[0.75, NULL, 0.25]) WITHIN GROUP (ORDER BY birth_year) FROM patients",
			[]int64{1000, 0, 60, 90, 0, 80, 90},
			"{{2000,NULL,1980}}",
		},
		{
			"SELECT percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY birth_year DESC) FROM patients",
			[]int64{1000, 0, 60, 90, 0, 80, 90},
			"{{2000,1980}}",
		},
		{
			"SELECT percentile_disc(ARRAY[1, 0.5, 0]) WITHIN GROUP (ORDER BY birth_year) FROM patients",
			[]int64{1000, 3, 0, 60, 90, 88},
			"{{2008,1980,1923}}",
		},
		{"SELECT max(birth_year), min(birth_year) FROM patients", []int64{1000, 3, 88}, "{1923}"},
		{commonSex, []int64{1000, 0}, "{f}"},
		{commonSex, []int64{1000, 1}, "{m}"},
		{commonSex, []int64{1000, 3}, "{f}"},
	} {
		s := choiceSettings(false)
		s.Mechanism = "exponential"
		b := chosenBlock(t, tt.sql, s)
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
			columns := b.Columns(releasedOf(b.Sets[0], rows, 1, 1, 1))
			if got := columns[0] == "{NULL}"; got != null {
				t.Errorf("%s: of %d rows it shows %s", sql, rows, columns[0])
			}
		}
	}
}

// ofYears is said of errors of years of birth.
const ofYears = " of values clamped to [1920, 2010]"

// Errors of percentiles are in the unit of the value, to the ends of the buckets that were chosen beside them, and of MIN to the bound;
// ranks are said beside: an end is looked for 2·max(a, c−a)/c·ln(2B/α)/ε + max(a, c−a)/c away, of B buckets, MIN for ln(B/α),
// and is missed by as much: 2·ln(182/0.05)/0.1095 + 0.5 = 150.2 of a median. That of a mode is ⌈ln(k/α)/ε⌉ of k values.
func TestErrorsOfChoices(t *testing.T) {
	for _, tt := range []struct {
		sql        string
		row        []int64
		want, rank string
	}{
		{
			medianYear,
			[]int64{1000, 50, 60, 75},
			"percentile_disc(birth_year) ± 15" + ofYears,
			"The interval of percentile_disc(birth_year) ends within 151 rows of it, by rank (95 %).",
		},
		{medianYear, []int64{1000, 75, 60, 50}, "percentile_disc(birth_year) ± 15" + ofYears, "-"},
		{
			"SELECT percentile_disc(0.1) WITHIN GROUP (ORDER BY birth_year) FROM patients",
			[]int64{1000, 0, 60, 61},
			"percentile_disc(birth_year) ± 60" + ofYears,
			"The interval of percentile_disc(birth_year) ends within 271 rows of it, by rank (95 %).",
		},
		{
			leastYear,
			[]int64{1000, 5},
			"min(birth_year) ± 5" + ofYears,
			"The interval of min(birth_year) ends within 160 rows of it, by rank (95 %).", // 4·ln(91/0.05)/0.1897 + 1 = 159.3
		},
		{"SELECT max(birth_year) FROM patients", []int64{1000, 5}, "max(birth_year) ± 85" + ofYears, "-"},
		{commonSex, []int64{1000, 1}, "mode(sex): at most 22 rows fewer than the most frequent", ""},
	} {
		p := chosenPlan(t, tt.sql, choiceSettings(false))
		b := p.Blocks[0]
		released := releasedOf(b.Sets[0], tt.row...)
		if got := b.Errors(released)[0].String(); got != tt.want {
			t.Errorf("%s: the error is %q, want %q", tt.sql, got, tt.want)
		}
		if got := strings.Join(planner.RanksOf(p.Plan, [][]*planner.Released{released}), "\n"); got != tt.rank && tt.rank != "-" {
			t.Errorf("%s: of ranks it says %q, want %q", tt.sql, got, tt.rank)
		}
	}
}

// Without ends nothing but a rank is stated, ⌈2·max(a, c−a)/c·ln(B/α)/ε⌉ rows, known before the answer: of a median
// ln(91/0.05)/0.1897 = 39.56. The functions that show an error ask for it, and MIN and MAX have theirs for nothing.
func TestErrorsWithoutEnds(t *testing.T) {
	const years = " WITHIN GROUP (ORDER BY birth_year)"
	const tenth, median = "percentile_disc(0.1)" + years, "percentile_disc(0.5)" + years
	for _, tt := range []struct {
		sql    string
		row    []int64
		before string
		want   []string
		rank   string
	}{
		{medianYear, []int64{1000, 60}, "rank within 40 rows", []string{"percentile_disc(birth_year): rank within 40 rows" + ofYears}, ""},
		{
			"SELECT " + tenth + " FROM patients",
			[]int64{1000, 60},
			"rank within 72 rows",
			[]string{"percentile_disc(birth_year): rank within 72 rows" + ofYears},
			"",
		},
		{
			"SELECT " + median + ", dp.upper(" + median + ") FROM patients",
			[]int64{1000, 50, 60, 75},
			"known with the answer",
			[]string{"percentile_disc(birth_year) ± 15" + ofYears},
			"The interval of percentile_disc(birth_year) ends within 151 rows of it, by rank (95 %).",
		},
		{
			"SELECT " + median + ", min(birth_year) FROM patients",
			[]int64{1000, 5, 60},
			"rank within 56 rows",
			[]string{"percentile_disc(birth_year): rank within 56 rows" + ofYears, "min(birth_year) ± 5" + ofYears},
			"The interval of min(birth_year) ends within 225 rows of it, by rank (95 %).", // 4·ln(91/0.05)/0.1342 + 1 = 224.8
		},
	} {
		s := without(choiceSettings(false))
		s.Mechanism = "exponential"
		p := chosenPlan(t, tt.sql, s)
		b := p.Blocks[0]
		got := strings.Join(p.ExplainVerbose(nil), "\n")
		if !strings.Contains(got, "percentile_disc(birth_year): error at 95 %: "+tt.before) {
			t.Errorf("%s: before it says\n%s", tt.sql, got)
		}
		released := releasedOf(b.Sets[0], tt.row...)
		for i, bar := range b.Errors(released) {
			if bar.String() != tt.want[i] {
				t.Errorf("%s: the error is %q, want %q", tt.sql, bar, tt.want[i])
			}
		}
		if got := strings.Join(planner.RanksOf(p.Plan, [][]*planner.Released{released}), "\n"); got != tt.rank {
			t.Errorf("%s: of ranks it says %q, want %q", tt.sql, got, tt.rank)
		}
	}
}

// dp.lower, dp.upper and dp.error are of whole buckets. Ends are chosen for the highest confidence that is asked for, and say nothing of
// a higher one: of more private groups at once than they were chosen for.
func TestEndsOfChoices(t *testing.T) {
	const median = "(percentile_disc(0.5) WITHIN GROUP (ORDER BY birth_year)"
	for sql, want := range map[string][]string{
		"SELECT dp.lower" + median + "), dp.upper" + median + "), dp.error" + median + ") FROM patients": {
			`{"1970"}`, `{"1995"}`, `{"15"}`,
		},
		"SELECT dp.lower" + median + ", 0.999), dp.upper" + median + ", 0.9) FROM patients": {`{"1970"}`, `{"1995"}`},
		"SELECT dp.lower(min(birth_year)), dp.upper(min(birth_year)) FROM patients":         {`{"1920"}`, `{"1970"}`},
		"SELECT dp.lower(max(birth_year)), dp.upper(max(birth_year)) FROM patients":         {`{"1970"}`, `{"2010"}`},
	} {
		p := chosenPlan(t, sql, choiceSettings(false))
		b := p.Blocks[0]
		if got := b.Columns(releasedOf(b.Sets[0], 1000, 50, 60, 75)); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", sql, got, want)
		}
	}
	low, high := chosenPlan(t, "SELECT dp.lower"+median+", 0.5) FROM patients", choiceSettings(false)),
		chosenPlan(t, "SELECT dp.lower"+median+", 0.999) FROM patients", choiceSettings(false))
	choosers := func(p specialized) string {
		set := p.Blocks[0].Sets[0]
		return fmt.Sprint(set.Choices(nil)[0].Of)
	}
	if choosers(low) == choosers(high) {
		t.Errorf("ends for 99.9 %% are those for 50 %%: %s", choosers(high))
	}
}

// Choices answer what their intervals are the better of, and a histogram all that is read off it: many percentiles, and in pure budgets,
// where choices divide ε and not its square, all but MIN and MAX. Forced, a percentile takes three choices and MIN and MAX one.
func TestChoiceOrHistogram(t *testing.T) {
	many := make([]string, 0, 12)
	for i := range 12 {
		many = append(many, big.NewRat(int64(i+1), 13).FloatString(3))
	}
	disc := func(fractions, order string) string {
		return "percentile_disc(" + fractions + ") WITHIN GROUP (ORDER BY birth_year" + order + ")"
	}
	of := func(outputs ...string) string { return "SELECT " + strings.Join(outputs, ", ") + " FROM patients" }
	const zcdp, pure, forced = 0, 1, 2
	for sql, choices := range map[string][3]int{
		medianYear: {3, 0, 3}, quartiles: {0, 0, 6}, commonSex: {1, 1, 1}, medianCost: {3, 0, 3}, leastYear: {1, 1, 1},
		of(disc("ARRAY["+strings.Join(many, ", ")+"]", "")):                     {0, 0, 36},
		of(disc("0.5", ""), "max(birth_year)"):                                  {4, 0, 4},
		of(disc("0.5", ""), "max(birth_year) FILTER (WHERE birth_year > 1950)"): {4, 1, 4},
		of(disc("0", "")):                                    {1, 1, 1},
		of(disc("0.5", ""), disc("0.5", "")):                 {3, 0, 3},
		of(disc("0.3", ""), disc("0.7", " DESC")):            {3, 0, 3},
		of(disc("0.5", ""), "dp.upper("+disc("0.1", "")+")"): {0, 0, 6},
	} {
		for i := range choices {
			s, got := choiceSettings(i == pure), 0
			if i == forced {
				s.Mechanism = "exponential"
			}
			for _, st := range chosenBlock(t, sql, s).Sets[0].Statistics() {
				got += st.Choices
			}
			if got != choices[i] {
				t.Errorf("%s, %d of %d, %d, %d: %d choices, want %d", sql, i, zcdp, pure, forced, got, choices[i])
			}
		}
	}
	s := choiceSettings(false)
	s.Mechanisms = []string{"laplace", "gaussian"}
	if got := chosenBlock(t, medianYear, s).Sets[0].Statistics()[0].Choices; got != 0 {
		t.Errorf("%d choices, which the policy does not allow", got)
	}
}

// Answers of other fractions, with ends or without, of other kinds, or of other values to choose from are other questions.
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
		all := questionOf(t, sql, choiceSettings(false))
		if of, have := seen[all]; have {
			t.Errorf("%s is the same question as %s", sql, of)
		}
		seen[all] = sql
	}
	most, least := choiceSettings(false), choiceSettings(false)
	least.Alpha = 2 * most.Alpha
	for _, tt := range []struct {
		sql         string
		a, b        planner.Settings
		same        bool
		differences string
	}{
		{medianYear, most, without(most), false, "ends"},
		{quartiles, most, without(most), false, "ends"},
		{leastYear, most, without(most), true, "nothing"},
		{medianYear, most, least, false, "where ends are looked for"},
		{leastYear, most, least, false, "where ends are looked for"},
		{medianYear, without(most), without(least), true, "nothing"},
	} {
		if same := questionOf(t, tt.sql, tt.a) == questionOf(t, tt.sql, tt.b); same != tt.same {
			t.Errorf("%s with other %s: the same question is %t", tt.sql, tt.differences, same)
		}
	}
}

func questionOf(t *testing.T, sql string, s planner.Settings) string {
	t.Helper()
	p := chosenPlan(t, sql, s)
	var question []string
	for _, part := range p.Blocks[0].Question() {
		question = append(question, string(part))
	}
	return strings.Join(question, "\x00")
}
