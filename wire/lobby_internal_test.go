package wire

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestLobbyMakesRoom fills a lobby, from few addresses and from many: the silent ones of the address that has most make room.
func TestLobbyMakesRoom(t *testing.T) {
	b := newLobby()
	l := Limits{Logins: 5, AddressLogins: 3}
	var turned []string
	enter := func(address, name string) *guest {
		g := &guest{address: address, turn: func(error) { turned = append(turned, name) }}
		b.enter(g, l)
		return g
	}
	check := func(want ...string) {
		t.Helper()
		if !slices.Equal(turned, want) {
			t.Errorf("%v make room, want %v", turned, want)
		}
		turned = nil
	}
	a1, a2 := enter("a", "a1"), enter("a", "a2")
	enter("a", "a3")
	check()
	enter("a", "a4") // of its own address
	check("a1")
	b.heard(a2)
	b1 := enter("b", "b1")
	enter("b", "b2")
	check()
	enter("c", "c1") // of the address that has most
	check("a3")
	enter("d", "d1") // a and b have as many: who has said nothing for longest
	check("a4")
	enter("e", "e1")
	check("b1")
	for _, g := range []*guest{a1, b1} {
		b.leave(g) // they have left
	}
	b.leave(a2)
	enter("f", "f1")
	check()
	if n := len(b.guests); n != l.Logins {
		t.Errorf("%d guests, where there is room for %d", n, l.Logins)
	}
	for range l.Logins {
		b.leave(b.guests[0])
	}
	if len(b.of) > 0 {
		t.Errorf("an empty lobby remembers %v", b.of)
	}
}

// TestFailuresAreFew has strangers fail under more names than are remembered.
func TestFailuresAreFew(t *testing.T) {
	a, l := newAttempts(), Limits{FailedLogins: 2, FailedTime: time.Hour}
	fail := func(name string) {
		of := attemptOf("here", name)
		if err := a.prove(t.Context(), of, l); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a.settle(of, true, l)
	}
	fail("ana")
	fail("ana")
	if a.may(attemptOf("here", "ana"), l) == nil || a.may(attemptOf("there", "ana"), l) != nil {
		t.Error("who fails too often must wait, there alone")
	}
	for i := range mostFailures {
		fail(fmt.Sprint("nobody ", i))
	}
	if len(a.failed) > mostFailures || len(a.by) > mostFailures {
		t.Errorf("%d failures of %d names are remembered", len(a.failed), len(a.by))
	}
}
