package memory

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"dpproxy/answers"
	"dpproxy/proxy/release"
)

// TestLastGeneration finds the last of any number of generations in a few looks, and stays
// right where one is forgotten meanwhile.
func TestLastGeneration(t *testing.T) {
	for n := range mostGenerations + 1 {
		gets := 0
		q := &question{parts: [][]byte{[]byte("x")}, generations: mostGenerations}
		there := map[answers.Key]*answers.Release{}
		for g := range n {
			there[q.key(g)] = &answers.Release{Sets: []answers.GroupingSet{{PaidPico: int64(g)}}}
		}
		found := q.last(func(key answers.Key) *answers.Release {
			gets++
			return there[key]
		})
		if q.generation != n-1 || (found == nil) != (n == 0) || n > 0 && found.Sets[0].PaidPico != int64(n-1) {
			t.Fatalf("of %d generations the last is %d, %v", n, q.generation, found)
		}
		if gets > 21 {
			t.Errorf("%d generations are found in %d looks", n, gets)
		}
	}
}

// TestPaymentsComeBack writes and reads payments.
func TestPaymentsComeBack(t *testing.T) {
	sets := []*release.Set{{PaidPico: 5}, {PaidPico: 7}}
	p := payments{}.paidBy([]string{"ana", "bob"}, sets).without("ana")
	text, err := json.Marshal(p.record())
	if err != nil {
		t.Fatal(err)
	}
	var kept []answers.Payment
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	for _, k := range kept {
		if !valid(k, 2) {
			t.Fatalf("%v is none", k)
		}
	}
	read := paymentsOf(&answers.Release{Payments: kept})
	if got := read[payerOf("bob")]; !slices.Equal(got, []int64{5, 7}) || read[payerOf("ana")] != nil {
		t.Errorf("read %v", read)
	}
	if !maps.EqualFunc(read, p, slices.Equal) {
		t.Errorf("read %v of %v", read, p)
	}
	bob := kept[0].Analyst
	for _, bad := range []answers.Payment{
		{}, {Analyst: []byte{1}, Pico: []int64{1, 1}}, {Analyst: bob, Pico: []int64{1}}, {Analyst: bob, Pico: []int64{1, -1}},
	} {
		if valid(bad, 2) {
			t.Errorf("%v is taken", bad)
		}
	}
}
