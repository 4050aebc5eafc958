package survey_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"dpproxy/accountant"
	"dpproxy/accountant/realized"
	"dpproxy/survey"
)

// TestDeltaSums asks objects tiny questions, whose losses add up: as many as the sum of ρ allows, where that of ε is used up.
func TestDeltaSums(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	limit := realized.Limit{EpsilonPico: 1e12, DeltaAtto: 1e13}
	rho, err := realized.Rho(5e10)
	if err != nil {
		t.Fatal(err)
	}
	most := accountant.RhoMax(limit.EpsilonPico, limit.DeltaAtto) / rho
	if most < 24 {
		t.Fatalf("only %d questions are asked", most)
	}
	texts := []string{"smoker", "sex", "ward", "age", "bmi"}
	for n := range most + 2 {
		in := inquiry(question(t, texts[n%5]), fmt.Sprint("s", n))
		in.EpsilonPico, in.Budget = 5e10-n/5, limit // of the same ε it would be the same question
		s := b.ask(t, table, in, 20, 20)
		if answered := s.Answered == 20; answered != (n < most) {
			t.Errorf("question %d: %d answered", n+1, s.Answered)
		}
	}
}

// TestDeltaDecisions compares who is asked with the library's filter over all that each object was asked, across closed epochs.
func TestDeltaDecisions(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, delta := range []int64{0, 1e16} {
		limit := realized.Limit{EpsilonPico: 1e12, DeltaAtto: delta}
		filter, err := realized.NewFilter(limit)
		if err != nil {
			t.Fatal(err)
		}
		b, dir := &books{}, t.TempDir()
		base := make([]realized.Spent, 30)
		refused, byRho := 0, 0
		for b.epoch = range 3 {
			table := b.open(t, dir)
			e := newEpoch(t)
			for n := range 10 {
				column := rng.IntN(3)
				in := inquiry(question(t, []string{"smoker", "ward", "age"}[column]), fmt.Sprint("e", b.epoch, "n", n))
				in.EpsilonPico, in.Budget, in.Never = 7e10+rng.Int64N(3e10), limit, true
				account := e.add(t, column, in.EpsilonPico)
				refused += e.compare(t, b.ask(t, table, in, len(base), 1), filter, account, base)
			}
			byRho += e.close(t, table, filter, base)
		}
		if refused == 0 || (byRho > 0) != (delta > 0) {
			t.Errorf("delta %d: %d were refused, and %d had lost more than epsilon", delta, refused, byRho)
		}
	}
}

// An epoch is what objects have answered in one, as the library has it.
type epoch struct {
	domain      *realized.Domain
	questions   []realized.Question
	transcripts map[int][]realized.Answer
}

func newEpoch(t *testing.T) *epoch {
	t.Helper()
	d, err := realized.NewDomain(realized.Column{Values: 2}, realized.Column{Values: 3}, realized.Column{Low: 10, High: 100})
	if err != nil {
		t.Fatal(err)
	}
	return &epoch{domain: d, transcripts: map[int][]realized.Answer{}}
}

// add adds a question about a column: smoker, ward or age.
func (e *epoch) add(t *testing.T, column int, epsilon int64) *realized.Account {
	t.Helper()
	ask := func() (realized.Question, error) { return e.domain.Response(column, epsilon) }
	if column == 2 {
		ask = func() (realized.Question, error) {
			return e.domain.Score(realized.ColumnOf(2), 10, 100, 2.0/(1<<32), epsilon)
		}
	}
	q, err := ask()
	if err != nil {
		t.Fatal(err)
	}
	e.questions = append(e.questions, q)
	a, err := realized.NewAccount(e.domain, e.questions, realized.Never)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// compare compares who has answered the last question, and returns how many have not.
func (e *epoch) compare(t *testing.T, s *survey.Survey, f *realized.Filter, a *realized.Account, base []realized.Spent) (refused int) {
	t.Helper()
	for i := range base {
		want, err := f.Admits(a, base[i], e.transcripts[i])
		if err != nil {
			t.Fatal(err)
		}
		text, got := s.Answer(int64(i))
		if got != want {
			t.Fatalf("survey %d: object %d is asked: %t, want %t", s.Number, i, got, want)
		}
		if !got {
			refused++
		}
		e.transcripts[i] = append(e.transcripts[i], realized.Answer{Value: placeOf(s, text, got)})
	}
	return refused
}

// close adds up what the epoch has cost, and returns how many objects have lost more than ε.
func (e *epoch) close(t *testing.T, table *survey.Table, f *realized.Filter, base []realized.Spent) (beyond int) {
	t.Helper()
	a, err := realized.NewAccount(e.domain, e.questions, realized.Never)
	if err != nil {
		t.Fatal(err)
	}
	losses, err := table.Losses()
	if err != nil {
		t.Fatal(err)
	}
	for i := range base {
		if base[i], err = f.Spent(a, base[i], e.transcripts[i]); err != nil {
			t.Fatal(err)
		}
		if base[i].LossPico > 1e12 {
			beyond++
		}
		if got := losses.Distinct()[losses.At(int64(i))]; got != base[i] {
			t.Fatalf("object %d has spent %+v, want %+v", i, got, base[i])
		}
	}
	return beyond
}

// placeOf is the place of an answer.
func placeOf(s *survey.Survey, text string, ok bool) int {
	for i, a := range s.Answers {
		if ok && a == text {
			return i
		}
	}
	return realized.Unasked
}
