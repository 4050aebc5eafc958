package planner_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/dp"
	"dpproxy/internal/plantest"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/policy"
	"dpproxy/planner/scalar"
)

// topSettings allow ρ = 0.005, or in a pure budget ε = 0.1, for the top of groups.
func topSettings(pure bool) planner.Settings {
	s := choiceSettings(pure)
	s.Top, s.Contribution, s.Limits = "on", "", policy.Limits{PublicFanout: 1000, Work: 1_000_000}
	return s
}

const (
	topMonths = "SELECT extract(month FROM day), count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
	topYears  = "SELECT birth_year, count(*) FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 3"
	topSums   = "SELECT extract(month FROM day), count(*), sum(cost) FROM visits GROUP BY 1 ORDER BY 3 DESC LIMIT 2"
)

// TestPriceOfTop has prices that were computed by hand, of ρ = 0.005. Of patients with one row a half is for three choices,
// ε = √(8·0.000833333333) = 0.08164965807…, and a half for noise of variance 1/(2·0.0025) = 200. Of visits, of which 20
// count in each month, a tenth is for the tail before, ε = √(8·0.00225/3) = 0.07745966692414…, and the noise is of three
// months together: 3·20²/(2·0.00225). Where the limit is chosen, that has a tenth as well, √(8·0.0005) = 0.06324555320…,
// and 0.002 is for the choices, √(8·0.000666666666) = 0.07302967429…. Of two aggregates each has a quarter, and the choice
// a half: 0.00375, of which a tenth is for the tail, 0.003375·2/3 = 0.00225 for two choices, ε = √(8·0.001125) =
// 0.09486832980505…, and the rest for its noise.
func TestPriceOfTop(t *testing.T) {
	for _, tt := range []struct {
		sql, contribution string
		pure              bool
		epsilons          []string
		price             int64 // in 10⁻¹², at most, and at least but for rounding
	}{
		{topYears, "", false, slices.Repeat([]string{"0.081649658076"}, 3), 5_000_000_000},
		{topMonths, "", false, slices.Repeat([]string{"0.077459666924"}, 3), 5_000_000_000},
		{topMonths, "auto", false, append([]string{"0.063245553203"}, slices.Repeat([]string{"0.073029674297"}, 3)...), 5_000_000_000},
		{topSums, "", false, slices.Repeat([]string{"0.094868329805"}, 2), 5_000_000_000},
		{topYears, "", true, slices.Repeat([]string{"0.016666666666"}, 3), 100_000_000_000},
		{topMonths, "", true, slices.Repeat([]string{"0.015"}, 3), 100_000_000_000},
	} {
		s := topSettings(tt.pure)
		s.Contribution = tt.contribution
		event := chosenBlock(t, tt.sql, s).Event()
		var epsilons []string
		for _, e := range event {
			var epsilon *big.Rat
			switch e := e.(type) { //nolint:gochecksumtype // the other events are of noise
			case dp.BoundedRangeEvent:
				epsilon = e.Epsilon
			case dp.PureEvent:
				epsilon = e.Epsilon
			default:
				continue
			}
			pico := new(big.Rat).Mul(epsilon, big.NewRat(dp.PicoPerUnit, 1))
			epsilons = append(epsilons, dp.Decimal(pico.Num().Int64(), 12))
		}
		if !slices.Equal(epsilons, tt.epsilons) {
			t.Errorf("%s, pure: %t: choices at %v, want %v", tt.sql, tt.pure, epsilons, tt.epsilons)
		}
		if paid := paidPico(t, event, tt.pure); paid > tt.price || paid < tt.price-tt.price/10_000 {
			t.Errorf("%s, pure: %t: costs %d·10⁻¹², want %d", tt.sql, tt.pure, paid, tt.price)
		}
	}
}

// Statements that ask for no plain top of groups have noise in all of them.
func TestTopIsRecognised(t *testing.T) {
	const from = " FROM visits GROUP BY extract(month FROM day) "
	const month = `CAST(extract(month from "public"."visits"."day") AS integer)` // as Metabase writes it
	by := func(order string) string {
		return "SELECT extract(month FROM day) AS m, count(*) AS n, sum(cost)" + from + order
	}
	for sql, k := range map[string]int{
		by("ORDER BY 2 DESC LIMIT 3"):                                                 3,
		by("ORDER BY n DESC, m, 1 DESC LIMIT 6"):                                      6,
		by("ORDER BY count(*) DESC, extract(month FROM day) FETCH FIRST 2 ROWS ONLY"): 2,
		by("ORDER BY sum(cost) DESC NULLS LAST LIMIT 1"):                              1,
		`SELECT ` + month + ` AS "day", COUNT(*) AS "count" FROM "public"."visits" GROUP BY ` + month +
			` ORDER BY "count" DESC, ` + month + ` ASC LIMIT 3`: 3,
		`SELECT DATE_TRUNC('year', day) AS __timestamp, COUNT(*) AS count` + // as Superset does
			` FROM public.visits GROUP BY DATE_TRUNC('year', day) ORDER BY count DESC LIMIT 2;`: 2,
		by("ORDER BY n DESC LIMIT 7"):                                                          0, // more than half of the months
		by("ORDER BY n LIMIT 3"):                                                               0,
		by("ORDER BY n USING > LIMIT 3"):                                                       0,
		by("ORDER BY n DESC, 3 LIMIT 3"):                                                       0,
		by("ORDER BY m, n DESC LIMIT 3"):                                                       0,
		by("ORDER BY count(*) + 1 DESC LIMIT 3"):                                               0,
		by("ORDER BY dp.upper(count(*)) DESC LIMIT 3"):                                         0,
		by("ORDER BY n DESC LIMIT 3 OFFSET 1"):                                                 0,
		by("ORDER BY n DESC LIMIT 2 + 1"):                                                      0,
		by("ORDER BY n DESC LIMIT ALL"):                                                        0,
		by("ORDER BY n DESC FETCH FIRST 3 ROWS WITH TIES"):                                     0,
		by("ORDER BY n DESC"):                                                                  0,
		by("HAVING count(*) > 10 ORDER BY n DESC LIMIT 3"):                                     0,
		"SELECT count(*) FROM visits ORDER BY 1 DESC LIMIT 1":                                  0,
		"SELECT DISTINCT extract(month FROM day), count(*)" + from + "ORDER BY 2 DESC LIMIT 3": 0,
		"SELECT extract(month FROM day), rank() OVER (ORDER BY count(*))" + from + "ORDER BY count(*) DESC LIMIT 3":    0,
		"SELECT extract(month FROM day), generate_series(1, count(*))" + from + "ORDER BY count(*) DESC LIMIT 3":       0,
		"SELECT extract(month FROM day), round(count(*), -1)" + from + "ORDER BY count(*) DESC LIMIT 3":                3,
		"SELECT extract(month FROM day), dp.upper(count(*))" + from + "ORDER BY count(*) DESC LIMIT 3":                 3,
		"SELECT extract(month FROM day), count(*), avg(cost)" + from + "ORDER BY 2 DESC LIMIT 3":                       0,
		"SELECT extract(month FROM day), count(DISTINCT hospital_id)" + from + "ORDER BY 2 DESC LIMIT 3":               0,
		"SELECT extract(month FROM day), count(DISTINCT patient_id)" + from + "ORDER BY 2 DESC LIMIT 3":                3,
		"SELECT extract(month FROM day), sum(tip)" + from + "ORDER BY 2 DESC LIMIT 3":                                  0, // of both signs
		"SELECT extract(month FROM day), sum(-1)" + from + "ORDER BY 2 DESC LIMIT 3":                                   0,
		"SELECT extract(month FROM day), sum(tip), count(*)" + from + "ORDER BY 3 DESC LIMIT 3":                        3,
		"SELECT hospital_id, count(*) FROM visits GROUP BY 1 ORDER BY 2 DESC LIMIT 3":                                  0, // private
		"SELECT extract(month FROM day), count(*) FROM visits GROUP BY ROLLUP (1) ORDER BY 2 DESC LIMIT 3":             0,
		"SELECT * FROM (" + topMonths + ") t WHERE count > 0":                                                          3,
		"SELECT * FROM (" + topMonths + ") t, (SELECT count(*) AS all FROM visits) a":                                  0,
		"SELECT extract(month FROM day), count(*)" + from + "UNION ALL SELECT 0, 1 ORDER BY 2 DESC LIMIT 3":            0,
		"(SELECT extract(month FROM day), count(*)" + from + "ORDER BY 2 DESC LIMIT 3) UNION ALL SELECT 0, 1 LIMIT 10": 3,
	} {
		s := topSettings(false)
		s.DeltaAtto = 1e9
		set := chosenBlock(t, sql, s).Sets[0]
		got := 0
		if set.Top != nil {
			got = set.Top.K
		}
		if got != k {
			t.Errorf("%s: the top %d, want %d", sql, got, k)
		}
	}
}

// Settings and the policy decide, before anything is read.
func TestTopOrAllGroups(t *testing.T) {
	for name, tt := range map[string]struct {
		sql    string
		change func(*planner.Settings)
		k      int
	}{
		"on":                  {topMonths, func(*planner.Settings) {}, 3},
		"off":                 {topMonths, func(s *planner.Settings) { s.Top = "off" }, 0},
		"three of two groups": {topMonths, func(s *planner.Settings) { s.Top = "auto" }, 0},
		"one of two groups":   {strings.Replace(topMonths, "LIMIT 3", "LIMIT 1", 1), func(s *planner.Settings) { s.Top = "" }, 1},
		"one of one group":    {strings.Replace(topYears, "LIMIT 3", "LIMIT 1", 1), func(s *planner.Settings) { s.Top = "auto" }, 0},
		"the analyst's number": {
			strings.Replace(topMonths, "LIMIT 3", "LIMIT 1", 1), func(s *planner.Settings) { s.Top, s.MaxPartitions = "auto", 1 }, 0,
		},
		"exponential":          {topMonths, func(s *planner.Settings) { s.Mechanism = "exponential" }, 3},
		"gaussian":             {topMonths, func(s *planner.Settings) { s.Mechanism = "gaussian" }, 0},
		"a policy":             {topMonths, func(s *planner.Settings) { s.Mechanisms = []string{"gaussian", "laplace"} }, 0},
		"a policy that allows": {topMonths, func(s *planner.Settings) { s.Mechanisms = []string{"gaussian", "exponential"} }, 3},
		"an error":             {topMonths, func(s *planner.Settings) { s.Target.Error = 1000 }, 0},
		"consistent cells":     {topMonths, func(s *planner.Settings) { s.Consistent = true }, 0},
	} {
		s := topSettings(false)
		tt.change(&s)
		set := chosenBlock(t, tt.sql, s).Sets[0]
		if got := set.Top; (got != nil) != (tt.k > 0) || got != nil && got.K != tt.k {
			t.Errorf("%s: %+v, want the top %d", name, got, tt.k)
		}
	}
}

// LIMIT by a parameter is planned with its value: none for NULL, nothing is read for 0, and a negative one is refused as
// Postgres does, before anything is charged.
func TestTopByParameter(t *testing.T) {
	conn, cat := connect(t), clinic(t)
	script, err := parser.Parse(strings.Replace(topMonths, "LIMIT 3", "LIMIT $1", 1), planner.Names(cat))
	if err != nil {
		t.Fatal(err)
	}
	params := []uint32{20}
	q, err := planner.Analyze(nil, cat, script.Statements[0], params)
	if err != nil {
		t.Fatal(err)
	}
	for limit, k := range map[string]int{"1": 1, "6": 6, "7": 0, "9223372036854775807": 0, "": 0} {
		values := evaluate(t, conn, q, params, []string{cmp.Or(limit, "1")})
		if at := slices.IndexFunc(values, func(v scalar.Value) bool { return v.OID == pgtype.Int8 }); limit == "" {
			values[at].Bytes = nil
		}
		p, err := q.Specialize(nil, values, topSettings(false))
		if err != nil {
			t.Fatal(err)
		}
		if top := p.Blocks[0].Sets[0].Top; (top != nil) != (k > 0) || top != nil && top.K != k {
			t.Errorf("LIMIT %s: %+v", limit, top)
		}
	}
	p, err := q.Specialize(nil, evaluate(t, conn, q, params, []string{"0"}), topSettings(false))
	if err != nil || p.Reads() || len(p.Event) > 0 {
		t.Errorf("LIMIT 0 reads %v, %v", p, err)
	} else if columns := p.Blocks[0].Columns([]*planner.Released{nil}); !slices.Equal(columns, []string{"{}", "{}"}) {
		t.Errorf("LIMIT 0 shows %v", columns)
	}
	_, err = q.Specialize(nil, evaluate(t, conn, q, params, []string{"-1"}), topSettings(false))
	var refusal *pgerr.Error
	if !errors.As(err, &refusal) || refusal.Code != pgerr.InvalidLimit {
		t.Errorf("LIMIT -1: %v", err)
	}
}

// Tops of other sizes, by other aggregates, and of all groups are other questions.
func TestQuestionsOfTop(t *testing.T) {
	seen := map[string]string{}
	for _, sql := range []string{
		topMonths, strings.Replace(topMonths, "LIMIT 3", "LIMIT 2", 1), strings.Replace(topMonths, "LIMIT 3", "", 1),
		topSums, strings.Replace(topSums, "ORDER BY 3", "ORDER BY 2", 1),
	} {
		p := chosenPlan(t, sql, topSettings(false))
		all := fmt.Sprintf("%q", p.Blocks[0].Question())
		if of, have := seen[all]; have {
			t.Errorf("%s is the same question as %s", sql, of)
		}
		seen[all] = sql
	}
}

// TestScoresOfTop compares the integers that groups are chosen by, at every limit, with what Postgres adds up: the rows of each
// patient in a month, up to the limit, whatever other months have.
func TestScoresOfTop(t *testing.T) {
	conn := connect(t)
	s := topSettings(false)
	p := planWith(t, conn, unlimitedClinic(t), topMonths, func(all *planner.Settings) {
		s.Limits = all.Limits
		*all = s
	})
	set := p.Blocks[0].Sets[0]
	exact, norm := p.read(t, conn)[0], set.Measures[0].Norms[0]
	if norm.Choices < 8 {
		t.Fatalf("%d limits", norm.Choices)
	}
	for level := range norm.Choices {
		got := exact.Integer(set.TopPlace(), []planner.Clip{{Levels: []int{level}}})
		for month := range 12 {
			truth := queryText(t, conn, fmt.Sprintf("SELECT coalesce(sum(least(n, %v)), 0) FROM (SELECT count(*) AS n FROM visits "+
				"WHERE extract(month FROM day) = %d GROUP BY patient_id) t", norm.Grid.Limit(level), month+1))
			key := fmt.Sprintf("=%d", month+1)
			if n := got[key]; n == nil || n.String() != truth {
				t.Errorf("month %d at the limit %v: %v, want %s", month+1, norm.Grid.Limit(level), n, truth)
			}
		}
	}
	units := queryText(t, conn, "SELECT count(*) FROM (SELECT patient_id FROM (SELECT patient_id, count(*) AS n FROM visits "+
		"GROUP BY patient_id, extract(month FROM day)) t GROUP BY 1 HAVING max(n) > 3) u")
	if got := exact.Units(set.Measures[0], 0).Above(0, 3)[2]; got.String() != units {
		t.Errorf("%v patients have more than three visits in a month, want %s", got, units)
	}
}

// A released relation has the keys and cells of the chosen groups alone.
func TestRowsOfTop(t *testing.T) {
	b := chosenBlock(t, topYears, topSettings(false))
	set := b.Sets[0]
	text := func(s string) *string { return &s }
	released := &planner.Released{
		Keys:  [][]*string{set.KeysOf(3), {text("1980")}, set.KeysOf(90)},
		Rows:  [][]*big.Int{{big.NewInt(7)}, {big.NewInt(-2)}, {big.NewInt(9)}},
		Clips: plantest.NewExact(set).Uncut(),
	}
	if got := b.Columns([]*planner.Released{released}); !slices.Equal(got, []string{`{"1923","1980","2010"}`, `{"7","-2","9"}`}) {
		t.Errorf("%v", got)
	}
	if got := b.Errors([]*planner.Released{released})[0].String(); got != "count(*) of all groups at once ± 34" {
		// Three groups at 95 % in all: 2.394·√200 = 33.9.
		t.Errorf("the error is %s", got)
	}
	// ln(91·3/0.05)/0.0816 = 105.4
	const said = "3 of 91 groups are chosen by count(*). One that is left out has at most 110 rows more than one that is shown (95 %)."
	if got := b.Chosen([]*planner.Released{released}); !slices.Equal(got, []string{said}) {
		t.Errorf("%q", got)
	}
}

// queryText runs SQL that has one value.
func queryText(t *testing.T, conn *pgconn.PgConn, sql string) string {
	t.Helper()
	res, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return string(res[0].Rows[0][0])
}
