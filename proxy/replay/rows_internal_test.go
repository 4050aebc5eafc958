package replay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"dpproxy/parser/marks"
)

// answered writes the result of a block: the rows of the answer, and of replicas, each a list of "label value"; a replica of nil failed.
func answered(replicas [][]string) []byte {
	var batches []string
	for _, rows := range replicas {
		var texts []string
		for i, row := range rows {
			label, value, _ := strings.Cut(row, " ")
			texts = append(texts, fmt.Sprintf(`["0", "%d", %q, %q, %q]`, i+1, label, label, value))
		}
		batches = append(batches, fmt.Sprintf(`{"size": 1, "failed": %v, "rows": [%s]}`, rows == nil, strings.Join(texts, ",")))
	}
	return []byte(`{"code": "22012", "digits": 1, "batches": [` + strings.Join(batches, ",") + `]}`)
}

func statementOf(value marks.Mark) *Statement {
	return &Statement{marks: marks.Result{Columns: []marks.Column{{Name: "label"}, {Name: "value", Mark: value}}}}
}

// TestRowsAreMatched has replicas whose rows come in another order, are missing or failed.
func TestRowsAreMatched(t *testing.T) {
	all := [][]string{{"a 10", "b 1000"}}
	for i := range 40 {
		all = append(all, []string{fmt.Sprintf("b %d", 980+i), fmt.Sprintf("a %d", i-10)})
	}
	all = append(all, []string{"b 1000"}, nil, nil)
	a, ok := statementOf(marks.Noisy).Account(answered(all), []Shown{NoNumber, Exact}, Cells{}, 0.05)
	if !ok || a.Replicas != 43 || a.Failed != 2 || a.Code != "22012" || len(a.Columns) != 1 {
		t.Fatalf("%+v %v", a, ok)
	}
	if math.Abs(a.Least-40./41) > 1e-9 {
		t.Errorf("a row is in %v of the replicas", a.Least)
	}
	for i, want := range []float64{10, 1000} {
		c := a.Columns[0].Cells[i]
		if c.Value != want || c.Half() > 21 || c.Low > want-15 || c.High < want+15 {
			t.Errorf("%+v", c)
		}
	}
}

// TestNothingIsStated has too few replicas, an answer that failed, most replicas that failed, and rows that nothing tells apart.
func TestNothingIsStated(t *testing.T) {
	many := func(n int, rows []string) (all [][]string) {
		for range n {
			all = append(all, rows)
		}
		return all
	}
	row := []string{"a 1"}
	unlabelled := statementOf(marks.Noisy)
	unlabelled.marks.Columns[0].Mark = marks.Cell
	for name, c := range map[string]struct {
		s   *Statement
		all [][]string
	}{
		"few":        {statementOf(marks.Noisy), many(39, row)},
		"failed":     {statementOf(marks.Noisy), append([][]string{nil}, many(60, row)...)},
		"mostFailed": {statementOf(marks.Noisy), append(many(50, row), many(60, nil)...)},
		"unlabelled": {unlabelled, many(60, []string{"a 1", "b 2"})},
	} {
		if a, ok := c.s.Account(answered(c.all), []Shown{NoNumber, Exact}, Cells{}, 0.05); ok {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestExtremesHaveOneEnd has the largest of values at their bound, where no replica is larger.
func TestExtremesHaveOneEnd(t *testing.T) {
	var all [][]string
	for range 60 {
		all = append(all, []string{"a 2010"})
	}
	for mark, up := range map[marks.Mark]bool{marks.Most: true, marks.Least: false} {
		a, ok := statementOf(mark).Account(answered(all), []Shown{NoNumber, Exact}, Cells{}, 0.05)
		if !ok {
			t.Fatal(mark)
		}
		if c := a.Columns[0].Cells[0]; c.Up != up || c.Down == up || math.IsInf(c.Low, -1) != up || math.IsInf(c.High, 1) == up {
			t.Errorf("%v: %+v", mark, c)
		}
	}
}

// TestMixedExtremes has what is computed of extremes: an interval where replicas are about the value, and none where they are beside it.
func TestMixedExtremes(t *testing.T) {
	for value, known := range map[string]bool{"a 30": true, "a 22": false} {
		all := [][]string{{value}}
		for i := range 61 {
			all = append(all, []string{fmt.Sprintf("a %d", i)})
		}
		a, ok := statementOf(marks.Mixed).Account(answered(all), []Shown{NoNumber, Exact}, Cells{}, 0.05)
		if c := a.Columns[0]; !ok || len(c.Cells) == 1 != known || c.Unknown == 1 == known {
			t.Errorf("%s: %+v", value, a)
		}
	}
}

// TestLimitsMoveTheEnds has replicas of what limits may have moved behind the answer: the ends go as much further, and shares are the
// smaller of both kinds.
func TestLimitsMoveTheEnds(t *testing.T) {
	of := func(moved ...[]string) [][]string {
		all := append([][]string{{"a 10", "b 1000"}}, moved...)
		for i := range 41 {
			all = append(all, []string{fmt.Sprintf("a %d", i-10), fmt.Sprintf("b %d", 980+i)})
		}
		return all
	}
	all := of([]string{"a 15", "b 990"}, []string{"a 40", "b 1000"}, []string{"b 995"}, nil)
	a, ok := statementOf(marks.Noisy).Account(answered(all), []Shown{NoNumber, Exact}, Cells{Shifted: 4}, 0.05)
	if !ok || a.Shifted != 3 || a.Replicas != 41 || a.Failed != 0 || math.Abs(a.Least-2./3) > 1e-9 {
		t.Fatalf("%+v %v", a, ok)
	}
	for i, want := range [][2]float64{{-10, 60}, {970, 1020}} {
		if c := a.Columns[0].Cells[i]; c.Low != want[0] || c.High != want[1] {
			t.Errorf("%+v, want from %v to %v", c, want[0], want[1])
		}
	}
	missing := answered(of([]string{"b 1000"}))
	if a, ok := statementOf(marks.Noisy).Account(missing, []Shown{NoNumber, Exact}, Cells{Shifted: 1}, 0.05); !ok ||
		a.Columns[0].Unknown != 1 || len(a.Columns[0].Cells) != 1 {
		t.Errorf("a row that limits may leave out: %+v", a)
	}
	failing := answered(of(nil, nil, []string{"a 10", "b 1000"}))
	if a, ok := statementOf(marks.Noisy).Account(failing, []Shown{NoNumber, Exact}, Cells{Shifted: 3}, 0.05); ok {
		t.Errorf("most fail: %+v", a)
	}
	all = [][]string{{"a yes"}, {"a no"}, {"a yes"}}
	for range 41 {
		all = append(all, []string{"a yes"})
	}
	a, ok = statementOf(marks.Noisy).Account(answered(all), []Shown{NoNumber, NoNumber}, Cells{Shifted: 2}, 0.05)
	if !ok || a.Columns[0].Agree != 0.5 {
		t.Errorf("%+v", a)
	}
}

// TestGuessesWidenIntervals has guesses behind those of limits: their outcomes are in the interval, and those that fail are not.
func TestGuessesWidenIntervals(t *testing.T) {
	all := [][]string{{"a 10", "b 1000"}, {"a 12", "b 1000"}, {"a 50", "b 999"}, nil, {"b 300"}}
	for i := range 41 {
		all = append(all, []string{fmt.Sprintf("a %d", i-10), fmt.Sprintf("b %d", 980+i)})
	}
	a, ok := statementOf(marks.Noisy).Account(answered(all), []Shown{NoNumber, Exact}, Cells{Shifted: 1, Guessed: 3}, 0.05)
	if !ok || a.Shifted != 1 || a.Replicas != 41 || a.Failed != 0 {
		t.Fatalf("%+v %v", a, ok)
	}
	for i, want := range [][2]float64{{-10, 52}, {300, 1020}} {
		if c := a.Columns[0].Cells[i]; c.Low != want[0] || c.High != want[1] {
			t.Errorf("%+v, want from %v to %v", c, want[0], want[1])
		}
	}
}

// TestRoundedValues has columns whose replicas show one value, as the statement or the session rounds it: the error is half of the step.
func TestRoundedValues(t *testing.T) {
	for _, c := range []struct {
		value, others string
		half          float64
	}{
		{"12.3", "12.3", 0.05},
		{"7.0", "12.3", 0.05},            // the other row has more digits
		{"5e+06", "4e+06", 5e5},          // of one digit
		{"5e+06", "0.3", 5e5},            // has no finer digits for that
		{"0.3", "2e+01", 0.05},           // likewise
		{"12", "14", 0},                  // whole numbers
		{"0.3333333333333333", "0.1", 0}, // as precise as its type
		{"0.0", "12.3", 0.05},
	} {
		var all [][]string
		for range 61 {
			all = append(all, []string{"a " + c.value, "b " + c.others})
		}
		a, ok := statementOf(marks.Noisy).Account(answered(all), []Shown{NoNumber, Exact}, Cells{}, 0.05)
		if !ok {
			t.Fatal(c)
		}
		of := a.Columns[0].Cells[0]
		if below, above := of.Value-of.Low, of.High-of.Value; math.Abs(below-c.half) > 1e-9 || math.Abs(above-c.half) > 1e-9 {
			t.Errorf("%s beside %s: from %v below to %v above, want %v", c.value, c.others, below, above, c.half)
		}
	}
}

// TestRoundingBelow has a statement that computes with what it rounds: the error is at least the half of a step that this moves values by,
// and where nobody knows that, it is known if replicas differ.
func TestRoundingBelow(t *testing.T) {
	for _, c := range []struct {
		rounded      float64
		differ, know bool
		half         float64
	}{
		{0, false, true, 0},
		{500, false, true, 500},
		{math.Inf(1), false, false, 0},
		{math.Inf(1), true, true, 60},
		{500, true, true, 560},
	} {
		all := [][]string{{"a 1001"}}
		for i := range 61 {
			if !c.differ {
				i = 30
			}
			all = append(all, []string{fmt.Sprintf("a %d", 1001+2*(i-30))})
		}
		s := statementOf(marks.Noisy)
		s.rounded = map[string]float64{"value": c.rounded}
		a, ok := s.Account(answered(all), []Shown{NoNumber, Exact}, Cells{}, 0.05)
		if of := a.Columns[0]; !ok || c.know != (len(of.Cells) == 1) || c.know && of.Cells[0].Half() != c.half {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}

// TestFewFloatDigits has sessions that show fewer digits of floating-point numbers than these have: the error is at least half of a unit in
// the last one that is shown, also of numbers that look whole.
func TestFewFloatDigits(t *testing.T) {
	for _, c := range []struct {
		digits int
		shown  Shown
		value  string
		half   float64
	}{
		{1, Double, "5", 0},
		{0, Double, "5", 0},
		{-15, Double, "5", 0.5},
		{-15, Double, "50", 5},
		{-14, Double, "5", 0.5},
		{-13, Double, "5", 0.05},
		{-13, Double, "0", 0},
		{-4, Single, "5", 0.05},
		{-15, Single, "5", 0.5},
		{-15, Exact, "5", 0},
	} {
		var all [][]string
		for range 61 {
			all = append(all, []string{"a " + c.value})
		}
		text := strings.Replace(string(answered(all)), `"digits": 1`, fmt.Sprintf(`"digits": %d`, c.digits), 1)
		a, ok := statementOf(marks.Noisy).Account([]byte(text), []Shown{NoNumber, c.shown}, Cells{}, 0.05)
		if of := a.Columns[0].Cells; !ok || len(of) != 1 || math.Abs(of[0].Half()-c.half) > 1e-9 {
			t.Errorf("%+v: %+v", c, a)
		}
	}
}
