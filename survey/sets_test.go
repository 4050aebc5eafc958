package survey_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant/realized"
	"dpproxy/survey"
)

// towns are the values of a category with many.
var towns = func() (all []string) {
	for i := range 12 {
		all = append(all, fmt.Sprintf(`town "%d\`, i))
	}
	return all
}()

// aboutTowns is a question about towns that is answered by sets.
func aboutTowns(t *testing.T, epsilonPico int64) survey.Inquiry {
	t.Helper()
	q, refusal := survey.NewQuestion("town", []survey.Column{{Name: "town", Values: towns}})
	if refusal != nil {
		t.Fatal(refusal)
	}
	if q = q.Asked(epsilonPico); q.Kind != survey.Set {
		t.Fatalf("it is answered by a %s", q.Kind)
	}
	return survey.Inquiry{Question: q, Name: "town", EpsilonPico: epsilonPico, Budget: realized.Limit{EpsilonPico: 4e12}}
}

// written are the towns as an array has them.
var written = func() (all []string) {
	escape := strings.NewReplacer(`"`, `\"`, `\`, `\\`)
	for _, town := range towns {
		all = append(all, `"`+escape.Replace(town)+`"`)
	}
	return all
}()

// members are the places of the towns in an array.
func members(array string) (all []int) {
	for i, town := range written {
		if strings.Contains(array, town) {
			all = append(all, i)
		}
	}
	return all
}

func TestAsked(t *testing.T) {
	q := question(t, "ward") // of 3
	if q.Asked(1e11).Kind != survey.Category || question(t, "age").Asked(1e10).Kind != survey.Number {
		t.Error("few values are answered by a set")
	}
	many, refusal := survey.NewQuestion("town", []survey.Column{{Name: "town", Values: towns}})
	if refusal != nil || many.Asked(2e12).Kind != survey.Category || many.Asked(1e12).Kind != survey.Set {
		t.Error("twelve values are answered by a set from 3e² + 2 on, or not from 3e + 2 on")
	}
}

// TestSetLaw compares the sets of many objects with the law, and with that of a twin of another ε, which must fail; and reads them again.
func TestSetLaw(t *testing.T) {
	const objects, own = 20_000, 7
	shares := func(epsilonPico int64) (shares [12]float64) {
		b, dir := &books{}, t.TempDir()
		in := aboutTowns(t, epsilonPico)
		s := b.ask(t, b.open(t, dir), in, objects, own)
		again := b.open(t, dir)
		if again.Frozen() != nil {
			t.Fatal(again.Frozen())
		}
		for i := range int64(objects) {
			text, ok := s.Answer(i)
			if known, _ := again.Surveys()[0].Answer(i); !ok || known != text {
				t.Fatalf("object %d: %q, read again %q", i, text, known)
			}
			for _, v := range members(text) {
				shares[v] += 1. / objects
			}
		}
		return shares
	}
	right, twin := shares(1e12), shares(8e11)
	off := 0
	for v := range towns {
		want := 1 / (math.E + 1)
		if v == own {
			want = 0.5
		}
		if math.Abs(right[v]-want) > 0.018 { // five standard deviations
			t.Errorf("town %d is in a set with %.4f, want %.4f", v, right[v], want)
		}
		if v != own && math.Abs(twin[v]-want) > 0.018 {
			off++
		}
	}
	if off < 8 {
		t.Errorf("with another ε only %d towns are off", off)
	}
}

// TestSetLosses compares the losses by sets and other answers about a column with the library's, and estimates its shares.
func TestSetLosses(t *testing.T) {
	b := &books{}
	table := b.open(t, t.TempDir())
	d, err := realized.NewDomain(realized.Column{Values: 12})
	if err != nil {
		t.Fatal(err)
	}
	var questions []realized.Question
	transcripts := make([][]realized.Answer, 800) // so many that chance does not reach the bounds below
	for n, epsilon := range []int64{1e12, 9e11, 8e11} {
		in := aboutTowns(t, epsilon)
		in.Name, in.Never = fmt.Sprint("t", n), true
		q, err := d.Unary(0, epsilon)
		if err != nil {
			t.Fatal(err)
		}
		questions = append(questions, q)
		s := b.ask(t, table, in, len(transcripts), 3)
		for i := range transcripts {
			text, ok := s.Answer(int64(i))
			answer := realized.Answer{Value: realized.Unasked}
			if ok {
				answer = realized.Answer{Bits: make([]byte, 2)}
				for _, v := range members(text) {
					answer.Bits[v/8] |= 1 << (v % 8)
				}
			}
			transcripts[i] = append(transcripts[i], answer)
		}
	}
	account, err := realized.NewAccount(d, questions, realized.Never)
	if err != nil {
		t.Fatal(err)
	}
	losses, err := lossesOf(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, transcript := range transcripts {
		if want, err := account.Loss(transcript); err != nil || losses[i] != want {
			t.Fatalf("%v: object %d has lost %d, want %d", err, i, losses[i], want)
		}
	}
	if slices.Min(losses) == slices.Max(losses) {
		t.Error("all have lost the same")
	}
	e, err := table.Estimates([]survey.Column{{Name: "town", Values: towns}})
	if err != nil {
		t.Fatal(err)
	}
	values, shares, refusal := e.Histogram("town", 0.999999)
	if refusal != nil || !slices.Equal(values, towns) || !(shares[3].Low > 0.2 && shares[3].High > 0.8) || shares[4].Low > 0.1 {
		t.Errorf("%v: the shares are %+v", refusal, shares)
	}
}
