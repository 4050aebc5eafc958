package proxy

import (
	"testing"
	"time"

	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/wire"
)

// TestConsents holds that a price that was shown counts for the same statement of the same analyst, for an hour, once, and up
// to its amount, and that old ones are forgotten.
func TestConsents(t *testing.T) {
	at := time.Unix(0, 0)
	c := newConsents(func() time.Time { return at })
	costs := func(pico, unit int64) []planner.Cost {
		return []planner.Cost{{Scope: "table t", Loss: zcdp(t, pico)}, {Scope: "unit u", Loss: zcdp(t, unit)}}
	}
	question := askedBy("SELECT 1", wire.BindRequest{})
	for _, used := range []struct {
		what    string
		analyst string
		of      asked
		costs   []planner.Cost
		after   time.Duration
		want    bool
	}{
		{"the same", "ana", question, costs(5, 5), time.Minute, true},
		{"cheaper", "ana", question, costs(5, 4), time.Minute, true},
		{"of fewer budgets", "ana", question, costs(5, 5)[:1], time.Minute, true},
		{"dearer", "ana", question, costs(5, 6), time.Minute, false},
		{"of another budget", "ana", question, []planner.Cost{{Scope: "analyst ana", Loss: zcdp(t, 1)}}, time.Minute, false},
		{"late", "ana", question, costs(5, 5), consentFor + 1, false},
		{"another analyst", "bob", question, costs(5, 5), time.Minute, false},
		{"another statement", "ana", askedBy("SELECT 2", wire.BindRequest{}), costs(5, 5), time.Minute, false},
	} {
		c.show("ana", question, costs(5, 5))
		at = at.Add(used.after)
		if got := c.use(used.analyst, used.of, used.costs); got != used.want {
			t.Errorf("%s: %t", used.what, got)
		}
		if used.want && c.use(used.analyst, used.of, used.costs) {
			t.Errorf("%s: it counts twice", used.what)
		}
	}
	for i := range 2 * consentsKept {
		c.show("ana", asked{byte(i), byte(i >> 8)}, costs(1, 1))
	}
	if last := 2*consentsKept - 1; len(c.of["ana"]) != consentsKept || !c.use("ana", asked{byte(last), byte(last >> 8)}, costs(1, 1)) {
		t.Errorf("%d are kept", len(c.of["ana"]))
	}
}

// TestAskedBy holds that a statement is known by its text and the values of its parameters, each by itself.
func TestAskedBy(t *testing.T) {
	seen := map[asked]int{}
	for i, b := range []wire.BindRequest{
		{},
		{Params: [][]byte{nil}},
		{Params: [][]byte{{}}},
		{Params: [][]byte{[]byte("1")}},
		{Params: [][]byte{[]byte("12")}},
		{Params: [][]byte{[]byte("1"), []byte("2")}},
		{Params: [][]byte{[]byte("1")}, Formats: []int16{1}},
		{Params: [][]byte{[]byte("1"), []byte("2")}, Formats: []int16{0, 1}},
	} {
		a := askedBy(" SELECT 1\n", b)
		if before, again := seen[a]; again {
			t.Errorf("%d is %d", i, before)
		}
		seen[a] = i
		if a != askedBy("SELECT 1", b) {
			t.Errorf("%d depends on spaces", i)
		}
	}
}

func zcdp(t *testing.T, pico int64) dp.Loss {
	t.Helper()
	l, err := dp.NewLoss(dp.ZCDP, pico, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
