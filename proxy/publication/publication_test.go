package publication_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/accountant"
	"dpproxy/catalog"
	"dpproxy/proxy/publication"
)

// TestBook holds that a record comes back as it was sealed, and that no other text, and none of another key, is a record.
func TestBook(t *testing.T) {
	b := publication.NewBook([32]byte{1})
	scope := accountant.Scope{Kind: accountant.UnitScope, Name: "patient"}
	r := publication.Record{
		Owner: "ana", Statement: "SELECT 1", Tables: []catalog.Name{{Schema: "public", Name: "visits"}}, Groups: 3, AsOf: 7,
		Price: "cost 1",
		Costs: []publication.Cost{{Scope: scope, Pico: 5}},
	}
	sealed, err := b.Seal(r)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := b.Open(sealed); !ok || cmp.Diff(got, r) != "" {
		t.Errorf("it comes back as %v, %t", got, ok)
	}
	if again, err := b.Seal(r); err != nil || again == sealed {
		t.Errorf("it is sealed as before: %v", err)
	}
	other := "A"
	if strings.HasSuffix(sealed, other) {
		other = "B"
	}
	for _, text := range []string{"", "x", sealed[1:], sealed[:len(sealed)-4] + "AAA" + other, sealed + "AAAA", "AAAA"} {
		if got, ok := b.Open(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
	if _, ok := publication.NewBook([32]byte{2}).Open(sealed); ok {
		t.Error("another key opens it")
	}
	if _, ok := (publication.Book{}).Open(sealed); ok {
		t.Error("no key opens it")
	}
	if _, err := (publication.Book{}).Seal(r); err == nil {
		t.Error("no key seals it")
	}
}

// TestWith adds up costs by their budgets.
func TestWith(t *testing.T) {
	cost := func(name string, pico int64) publication.Cost {
		return publication.Cost{Scope: accountant.Scope{Kind: accountant.TableScope, Name: name}, Pico: pico}
	}
	before := []publication.Cost{cost("a", 1), cost("b", 2)}
	got := publication.With(before, []publication.Cost{cost("b", 3), cost("c", 4)})
	if want := []publication.Cost{cost("a", 1), cost("b", 5), cost("c", 4)}; !slices.Equal(got, want) {
		t.Errorf("together they are %v", got)
	}
	if before[1].Pico != 2 {
		t.Error("the former costs change")
	}
}
