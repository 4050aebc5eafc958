package proxy

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dpproxy/proxy/cashier"
)

// TestBriefIsShort: however many columns there are and however long their names, the line that tells of them keeps its length, and its
// price.
func TestBriefIsShort(t *testing.T) {
	for n := range 40 {
		for _, width := range []int{1, 9, 63} {
			a := &account{}
			for i := range n {
				name := strings.Repeat("ü", width) + fmt.Sprint(i)
				a.columns = append(a.columns, columnError{name, name + " ± 20", false, true})
			}
			all := a.brief(free(t), "; errors at 99.9999 %")
			if len(all) != 1 {
				t.Fatal(all)
			}
			said := all[0].Message
			if utf8.RuneCountInString(said) > 160 || !strings.HasSuffix(said, "cost nothing, answered before; errors at 99.9999 %") {
				t.Errorf("%d columns: %q", n, said)
			}
			shown := strings.Count(said, "± 20")
			if more := fmt.Sprintf("; %d more in dp.last", n-shown); shown < n && shown > 0 && !strings.Contains(said, more) {
				t.Errorf("%d columns: %q", n, said)
			}
			if n > 0 && shown == 0 && !strings.Contains(said, "errors in dp.last") {
				t.Errorf("%d columns: %q", n, said)
			}
		}
	}
}

// TestLeftOutHasALine lists all that is outside of errors, in its order, and is silent where nothing is.
func TestLeftOutHasALine(t *testing.T) {
	a := &account{outside: []string{"rows of visits without patient"}, hidden: 3, all: 12, failed: "6 of 199 replays, which fail (22012)"}
	all := a.brief(free(t), "; errors at 99.9999 %")
	const want = "Left out: rows of visits without patient; 3 of 12 values, of groups of too few rows for the noise; " +
		"6 of 199 replays, which fail (22012)"
	if len(all) != 2 || all[1].Message != want {
		t.Errorf("%+v", all)
	}
	if all := (&account{}).brief(free(t), ""); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// free is the price of an answer that is known.
func free(t *testing.T) cashier.Price {
	return cashier.PriceOf(t.Context(), &cashier.Cashier{}, nil, nil, false)
}
