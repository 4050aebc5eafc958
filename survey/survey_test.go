package survey_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/realized"
	"dpproxy/mechanisms"
	"dpproxy/survey"
)

// columns are those of the people of the tests.
var columns = []survey.Column{
	{Name: "smoker", Values: []string{"false", "true"}},
	{Name: "sex", Values: []string{"0", "1"}},
	{Name: "ward", Values: []string{"a", "b", "c"}},
	{Name: "age", Whole: true, Low: 10, High: 100},
	{Name: "bmi", Low: 10, High: 50},
}

func question(t *testing.T, text string) *survey.Question {
	t.Helper()
	q, refusal := survey.NewQuestion(text, columns)
	if refusal != nil {
		t.Fatalf("%s: %v", text, refusal)
	}
	return q
}

// books are a ledger in memory.
type books struct {
	surveys []accountant.Survey
	epoch   int64
}

func (b *books) open(t *testing.T, dir string) *survey.Table {
	t.Helper()
	table, err := survey.Open(dir, "public.people", []string{"region"}, b.surveys, b.epoch, false)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func inquiry(q *survey.Question, name string) survey.Inquiry {
	return survey.Inquiry{Question: q, Name: name, EpsilonPico: 1e12, Budget: realized.Limit{EpsilonPico: 4e12}}
}

// draft has objects answer, up to the files.
func draft(t *testing.T, table *survey.Table, in survey.Inquiry, objects int, value float64) *survey.Draft {
	t.Helper()
	d, err := table.Draft(in, mechanisms.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	for i := range objects {
		values := make([]float64, len(in.Columns))
		for c := range values {
			values[c] = value
		}
		if err := d.Object(fmt.Append(nil, "key ", i), [][]byte{[]byte("north")}, true, values); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// ask has objects answer a question, and records it.
func (b *books) ask(t *testing.T, table *survey.Table, in survey.Inquiry, objects int, value float64) *survey.Survey {
	t.Helper()
	d := draft(t, table, in, objects, value)
	entry, err := d.Write()
	if err != nil {
		t.Fatal(err)
	}
	b.surveys = append(b.surveys, entry)
	return d.Recorded()
}

// lossesOf returns what each object has lost, in 10⁻¹² of ε.
func lossesOf(table *survey.Table) (all []int64, err error) {
	losses, err := table.Losses()
	if err != nil {
		return nil, err
	}
	distinct := losses.Distinct()
	for i := range losses.Objects() {
		all = append(all, distinct[losses.At(i)].LossPico)
	}
	return all, nil
}

// shown is all that a table shows.
func shown(table *survey.Table) string {
	var text strings.Builder
	for i := range table.Objects() {
		public, _ := table.Public(i, 0)
		fmt.Fprintf(&text, "%s %s", table.Key(i), public)
		for _, s := range table.Surveys() {
			answer, ok := s.Answer(i)
			fmt.Fprintf(&text, " %s=%q %t", s.Name, answer, ok)
		}
		text.WriteString("\n")
	}
	return text.String()
}

func TestAnswersStay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "local", "public.people")
	b := &books{}
	table := b.open(t, dir)
	b.ask(t, table, inquiry(question(t, "smoker"), "smoker"), 100, 1)
	b.ask(t, table, inquiry(question(t, "0.5*age + bmi"), "score"), 130, 20)
	b.ask(t, table, inquiry(question(t, "ward"), "ward"), 120, 2)
	want := shown(table)
	if again := shown(b.open(t, dir)); again != want {
		t.Errorf("after a restart\n%s\nbefore\n%s", again, want)
	}
	losses, err := lossesOf(table)
	if err != nil || losses[0] != 3e12 || losses[110] != 2e12 || losses[125] != 1e12 {
		t.Errorf("%v: the losses are %v", err, losses)
	}
	if s := table.Known(question(t, "ward"), "", 1e12); s == nil || s.Number != 3 || table.Known(question(t, "ward"), "", 2e12) != nil {
		t.Errorf("the survey of wards is %+v", s)
	}
	for i, other := range columns {
		widened := slices.Clone(columns)
		if other.High++; other.Values != nil {
			other.Values = append([]string{"another"}, other.Values...)
		}
		widened[i] = other
		q, refusal := survey.NewQuestion(other.Name, widened)
		if refusal != nil {
			t.Fatal(refusal)
		}
		if s := table.Known(q, "", 1e12); s != nil {
			t.Errorf("%s of other values is answered by survey %d", other.Name, s.Number)
		}
	}
}

// TestBudget has objects answer until their budget is used up.
func TestBudget(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	for n := range 6 {
		in := inquiry(question(t, "smoker"), fmt.Sprint("s", n))
		in.EpsilonPico = 1.5e12 - int64(n) // another ε is another question
		s := b.ask(t, table, in, 10, 1)
		if answered := s.Answered == 10; s.Asked != 10 || answered != (n < 2) {
			t.Errorf("survey %d: %d of %d answered", n, s.Answered, s.Asked)
		}
	}
}

// TestRealized asks the same objects about one column whose values are promised to stay: answers that contradict each other cost less
// than their sum, and nobody loses more than the budget.
func TestRealized(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	answered := int64(0)
	for n := range 12 {
		in := inquiry(question(t, "smoker"), fmt.Sprint("s", n))
		in.EpsilonPico, in.Never = 1e12-int64(n), true
		answered += b.ask(t, table, in, 400, 1).Answered
		losses, err := lossesOf(table)
		if err != nil {
			t.Fatal(err)
		}
		for i, loss := range losses {
			if loss > in.Budget.EpsilonPico {
				t.Fatalf("object %d has lost %d", i, loss)
			}
		}
	}
	if answered <= 4*400 {
		t.Errorf("%d answers: basic composition has as many", answered)
	}
}

// TestEpochs adds what was lost in a closed epoch.
func TestEpochs(t *testing.T) {
	b, dir := &books{}, t.TempDir()
	in := inquiry(question(t, "smoker"), "a")
	in.Never = true
	table := b.open(t, dir)
	b.ask(t, table, in, 50, 1)
	b.epoch = 1
	table = b.open(t, dir)
	if table.Known(question(t, "smoker"), "", in.EpsilonPico) != nil {
		t.Error("the answers of a closed epoch are taken for the new one's")
	}
	in.Name = "b"
	b.ask(t, table, in, 50, 0)
	losses, err := lossesOf(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, loss := range losses {
		if loss != 2e12 {
			t.Errorf("object %d has lost %d: epochs add up", i, loss)
		}
	}
}

// TestPromiseInBetween adds what was lost before and after a survey during which values were not promised to stay: answers that
// contradict each other may be about different values.
func TestPromiseInBetween(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	in := inquiry(question(t, "smoker"), "a")
	in.Budget.EpsilonPico = 9e12
	want := int64(0)
	for i, never := range []bool{true, false, true} {
		in.Never, in.Name = never, fmt.Sprint("s", i)
		in.EpsilonPico = 1e12 + int64(i)
		b.ask(t, table, in, 400, 1)
		want += in.EpsilonPico
		losses, err := lossesOf(table)
		if err != nil {
			t.Fatal(err)
		}
		for object, loss := range losses {
			if loss != want {
				t.Fatalf("after %d surveys object %d has lost %d, want %d", i+1, object, loss, want)
			}
		}
	}
	in.Name, in.EpsilonPico = "s3", 1e12+3
	b.ask(t, table, in, 400, 1)
	losses, err := lossesOf(table)
	if err != nil {
		t.Fatal(err)
	}
	if least := slices.Min(losses); least >= want {
		t.Errorf("two surveys under one promise add up to at least %d", least)
	}
}

// TestKilled stops a survey behind each of its steps: what the ledger does not have was never there.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	b := &books{}
	b.ask(t, b.open(t, dir), inquiry(question(t, "smoker"), "smoker"), 20, 1)
	want := shown(b.open(t, dir))
	for _, step := range []struct {
		name string
		do   func(*survey.Draft)
	}{
		{"decided", func(*survey.Draft) {}},
		{"written", func(d *survey.Draft) {
			if _, err := d.Write(); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		step.do(draft(t, b.open(t, dir), inquiry(question(t, "age"), "age"), 30, 50))
		table := b.open(t, dir)
		if got := shown(table); got != want || table.Frozen() != nil {
			t.Errorf("%s: %v\n%s", step.name, table.Frozen(), got)
		}
		if _, err := os.Stat(filepath.Join(dir, "2.survey")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: the file of a survey that is in no ledger is still there: %v", step.name, err)
		}
	}
	// A file that is not complete, and one of a survey that comes later.
	for _, name := range []string{"2.survey.new", "7.survey"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if table := b.open(t, dir); shown(table) != want || table.Frozen() != nil {
		t.Errorf("half a file: %v", table.Frozen())
	}
	b.ask(t, b.open(t, dir), inquiry(question(t, "age"), "age"), 30, 50)
	if table := b.open(t, dir); table.Objects() != 30 || table.Frozen() != nil {
		t.Errorf("%d objects, %v", table.Objects(), table.Frozen())
	}
}

// TestFrozen freezes a table whose files are not those of the ledger.
func TestFrozen(t *testing.T) {
	whole := t.TempDir()
	b := &books{}
	table := b.open(t, whole)
	b.ask(t, table, inquiry(question(t, "smoker"), "smoker"), 20, 1)
	b.ask(t, table, inquiry(question(t, "sex"), "sex"), 25, 1)
	other := t.TempDir()
	foreign := &books{}
	table = foreign.open(t, other)
	foreign.ask(t, table, inquiry(question(t, "smoker"), "smoker"), 20, 1)
	foreign.ask(t, table, inquiry(question(t, "sex"), "sex"), 25, 1)
	read := func(dir, name string) []byte {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	write := func(dir, name string, text []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, spoil := range map[string]func(dir string){
		"a file is lost":    func(dir string) { os.Remove(filepath.Join(dir, "1.survey")) },
		"the last is lost":  func(dir string) { os.Remove(filepath.Join(dir, "2.survey")) },
		"an answer changed": func(dir string) { f := read(dir, "1.survey"); f[len(f)-1] ^= 3; write(dir, "1.survey", f) },
		"files changed place": func(dir string) {
			write(dir, "1.survey", read(whole, "2.survey"))
			write(dir, "2.survey", read(whole, "1.survey"))
		},
		"of another site": func(dir string) { write(dir, "2.survey", read(other, "2.survey")) },
		"all of another site": func(dir string) {
			write(dir, "1.survey", read(other, "1.survey"))
			write(dir, "2.survey", read(other, "2.survey"))
		},
		"keys lost":     func(dir string) { os.Remove(filepath.Join(dir, "keys")) },
		"keys cut":      func(dir string) { f := read(dir, "keys"); write(dir, "keys", f[:len(f)-1]) },
		"a key changed": func(dir string) { f := read(dir, "keys"); f[3] ^= 1; write(dir, "keys", f) },
		"keys changed place": func(dir string) {
			f := read(dir, "keys")
			copy(f[:6], read(whole, "keys")[6:12])
			copy(f[6:12], read(whole, "keys")[:6])
			write(dir, "keys", f)
		},
	} {
		dir := t.TempDir()
		for _, f := range []string{"keys", "public", "1.survey", "2.survey"} {
			write(dir, f, read(whole, f))
		}
		if b.open(t, dir).Frozen() != nil {
			t.Fatal("a copy is frozen")
		}
		spoil(dir)
		table := b.open(t, dir)
		if !errors.Is(table.Frozen(), survey.ErrFrozen) {
			t.Errorf("%s: %v", name, table.Frozen())
		}
		if _, err := table.Draft(inquiry(question(t, "age"), "age"), mechanisms.NewSource()); !errors.Is(err, survey.ErrFrozen) {
			t.Errorf("%s: a survey begins: %v", name, err)
		}
	}
	// The public columns are nobody's secret, and come again with the next survey.
	os.Remove(filepath.Join(whole, "public"))
	if table := b.open(t, whole); table.Frozen() != nil || table.Objects() != 25 {
		t.Errorf("without public columns: %v", table.Frozen())
	}
}

// TestOnlyRead opens answers to read them. Nothing is made, and no public column is shown under the name of another.
func TestOnlyRead(t *testing.T) {
	b, whole := &books{}, t.TempDir()
	b.ask(t, b.open(t, whole), inquiry(question(t, "smoker"), "smoker"), 20, 1)
	gone := filepath.Join(t.TempDir(), "gone")
	table, err := survey.Open(gone, "public.people", nil, b.surveys, 0, true)
	if err != nil || !errors.Is(table.Frozen(), survey.ErrFrozen) {
		t.Errorf("a folder that is missing: %v", err)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("it was made")
	}
	for _, names := range [][]string{{"region"}, {"ward"}, {"region", "ward"}, {}} {
		table, err := survey.Open(whole, "public.people", names, b.surveys, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		for column, name := range names {
			if text, ok := table.Public(3, column); ok != (len(names) == 1 && name == "region") {
				t.Errorf("as %v, %s is %q", names, name, text)
			}
		}
	}
	second := "region\x002" // by its number, which files of earlier versions do not have
	if table, err = survey.Open(whole, "public.people", []string{second}, b.surveys, 0, false); err != nil {
		t.Fatal(err)
	}
	if _, ok := table.Public(3, 0); !ok {
		t.Error("the file of an earlier version is not read")
	}
	b.ask(t, table, inquiry(question(t, "sex"), "sex"), 20, 1)
	for id, same := range map[string]bool{second: true, "region\x003": false, "region": false} {
		table, err := survey.Open(whole, "public.people", []string{id}, b.surveys, 0, true)
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := table.Public(3, 0); ok != same {
			t.Errorf("as %q, the column is %q", id, text)
		}
	}
}

// TestComeAndGo has objects appear, disappear and come back: answers stay theirs.
func TestComeAndGo(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	first := b.ask(t, table, inquiry(question(t, "smoker"), "smoker"), 10, 1)
	was, _ := first.Answer(7)
	d, err := table.Draft(inquiry(question(t, "sex"), "sex"), mechanisms.NewSource())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"new", "key 7"} {
		if err := d.Object([]byte(key), [][]byte{nil}, true, []float64{1}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Object([]byte("new"), [][]byte{nil}, true, []float64{1}); err == nil {
		t.Error("an object answers twice")
	}
	entry, err := d.Write()
	if err != nil {
		t.Fatal(err)
	}
	b.surveys = append(b.surveys, entry)
	second := d.Recorded()
	_, gone := second.Answer(3)
	_, came := second.Answer(10)
	if now, _ := first.Answer(7); now != was || gone || !came || string(table.Key(10)) != "new" {
		t.Errorf("%s became %s; %t %t", was, now, gone, came)
	}
	b.ask(t, table, inquiry(question(t, "bmi"), "bmi"), 10, 20)
	losses, err := lossesOf(table)
	if err != nil || losses[3] != 2e12 || losses[7] != 3e12 || losses[10] != 1e12 {
		t.Errorf("%v: %v", err, losses)
	}
}

// TestLaw compares the answers of many objects with the laws of both mechanisms, and with twins of another ε that must fail.
func TestLaw(t *testing.T) {
	const objects = 40_000
	b := &books{}
	share := func(s *survey.Survey, answer string) float64 {
		n := 0
		for i := range int64(objects) {
			if text, _ := s.Answer(i); text == answer {
				n++
			}
		}
		return float64(n) / objects
	}
	const e = 2.718281828459045
	for _, tt := range []struct {
		text, answer string
		value        float64
		want         float64
	}{
		{"ward", "c", 2, e / (e + 2)},
		{"ward", "a", 2, 1 / (e + 2)},
		{"age", "100", 55, 0.5},
		{"bmi", "50", 50, e / (e + 1)},
		{"bmi", "10", 20, 1 - 1/(e+1) - 0.25*(e-1)/(e+1)},
	} {
		table := b.open(t, t.TempDir())
		got := share(b.ask(t, table, inquiry(question(t, tt.text), "x"), objects, tt.value), tt.answer)
		if d := got - tt.want; d > 0.013 || d < -0.013 { // five standard deviations
			t.Errorf("%s of %g: %s with %.4f, want %.4f", tt.text, tt.value, tt.answer, got, tt.want)
		}
		twin := inquiry(question(t, tt.text), "x")
		twin.EpsilonPico = 5e11
		b.surveys = nil
		table = b.open(t, t.TempDir())
		off := share(b.ask(t, table, twin, objects, tt.value), tt.answer) - tt.want
		if tt.want != 0.5 && off < 0.013 && off > -0.013 {
			t.Errorf("%s of %g with half of ε: off by %.4f alone", tt.text, tt.value, off)
		}
		b.surveys = nil
	}
}

func TestQuestionsTaken(t *testing.T) {
	for text, want := range map[string]string{
		"smoker":            "category false,true",
		"ward":              "category a,b,c",
		"age":               "number 10,100",
		"sex * 2":           "number 0,2",
		"-age":              "number -100,-10",
		"0.5*age + bmi - 3": "number 12,97",
		"1/(1+exp(-(0.0761*age+0.0952*sex+0.0163*bmi-7.989)))": "number 0,1",
		"1.0 / (exp(age - 50) + 1)":                            "number 0,1",
		"least(greatest(age, 20), 60)":                         "number 20,60",
		"ln(bmi)::float8":                                      "number",
		"power(bmi, 2)":                                        "number 100,2500",
		"age / 10.0":                                           "number 1,10",
		"abs(age - 50)":                                        "number",
	} {
		q := question(t, text)
		if got := string(q.Kind) + " " + strings.Join(q.Answers(), ","); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestQuestionsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"id": "no private column", "p.age": "no other name before them", "1": "no private column", "age / 10": "without a rest",
		"age / (age - 50.0)": "no bounds", "ln(age - 10)": "no bounds", "exp(exp(age))": "no bounds", "ward + 1": "no numbers",
		"age > 50": "operator >", "smoker AND sex": "cannot be asked", "age ^ 0.5": "whole exponent", "age ^ 99": "whole exponent",
		"round(age)": "function round()", "age::int": "this type", "random() + age": "function random()",
		"pg_sleep(age)": "function pg_sleep()",
		"'x'":           "this constant", "CASE WHEN age > 5 THEN 1 END": "cannot be asked", "age - age": "same answer",
		"1e999 * age": "too large",
		"age % 2":     "operator %", "count(*)": "cannot", "smoker = true": "this constant", "age = bmi": "operator =",
	} {
		q, refusal := survey.NewQuestion(text, columns)
		if refusal == nil || !strings.Contains(refusal.Message, want) || refusal.Hint == "" {
			t.Errorf("%s: %+v %+v, want %s", text, q, refusal, want)
		}
	}
}

// FuzzQuestion looks for questions whose answer cannot be drawn for some object.
func FuzzQuestion(f *testing.F) {
	for _, text := range []string{
		"smoker", "1/(1+exp(-(0.5*age-3)))", "ln(bmi)*sex",
		"age/(bmi-9.5)", "power(least(age, bmi), 3)", "sqrt(abs(age-bmi))",
	} {
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		q, refusal := survey.NewQuestion(text, columns)
		if refusal != nil {
			return
		}
		r, err := q.Respondent(1e12, mechanisms.NewSource())
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(seed, 1))
		for range 50 {
			var object []float64
			for _, c := range q.Columns {
				if c.Values != nil {
					object = append(object, float64(random.IntN(len(c.Values))))
				} else {
					object = append(object, c.Low+random.Float64()*(c.High-c.Low))
				}
			}
			if y, err := r.Answer(object); err != nil || y.Value < 0 || y.Value >= len(q.Answers()) {
				t.Fatalf("%s of %v: %v, %v", text, object, y, err)
			}
		}
	})
}
