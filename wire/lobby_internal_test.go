package wire

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestLobbyMakesRoom fills a lobby, from few addresses and from many: the silent ones of the address that has most make room.
func TestLobbyMakesRoom(t *testing.T) {
	b := newLobby()
	l := Limits{Logins: 5, AddressLogins: 3, LoginTime: time.Hour}
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
	b.reached(a2, silent)
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

// TestLobbyKeepsWhoIsFurther has a crowd come between any two words of a client: at each address many more than there are places,
// all at one stage or at all in turn. Once the client is further than the crowd it keeps its place, at its own address and at
// that of nobody else.
func TestLobbyKeepsWhoIsFurther(t *testing.T) {
	crowds := map[string]struct {
		at   []stage // of the crowd, in turn
		kept stage   // from which on the client is safe
	}{
		"nothing":          {[]stage{silent}, begun},
		"half a start":     {[]stage{silent, begun}, encrypted},
		"encryption":       {[]stage{silent, begun, encrypted}, started},
		"a start":          {[]stage{silent, begun, started}, answered},
		"refused, a start": {[]stage{refused, started}, answered},
	}
	for name, crowd := range crowds {
		for _, from := range []string{"the client's address", "another address"} {
			for at := crowd.kept; at < stages; at++ {
				b, l := newLobby(), Limits{Logins: 20, AddressLogins: 10, LoginTime: time.Hour}
				var lost bool
				client := &guest{address: "the client's address", turn: func(error) { lost = true }}
				b.enter(client, l)
				b.reached(client, at)
				for i := range 1000 {
					other := &guest{address: from, turn: func(error) {}}
					b.enter(other, l)
					b.reached(other, crowd.at[i%len(crowd.at)])
				}
				if lost {
					t.Errorf("%s, from %s: the client's place is lost at stage %d", name, from, at)
				}
				if n := b.of[from]; n > l.AddressLogins {
					t.Errorf("%s: %d guests of one address", name, n)
				}
			}
		}
	}
}

// TestLobbyLetsIn fills a lobby with guests that stay at one stage, or at several: a new client always enters, and keeps its place
// while it goes from stage to stage as fast as the crowd comes back.
func TestLobbyLetsIn(t *testing.T) {
	for _, crowd := range [][]stage{
		{refused},
		{silent},
		{begun},
		{encrypted},
		{started},
		{answered},
		{silent, answered},
		{refused, silent, begun, encrypted, started, answered},
	} {
		for _, many := range []bool{false, true} { // addresses
			b, l := newLobby(), Limits{Logins: 60, AddressLogins: 30, LoginTime: time.Hour}
			address, come := "here", 0
			another := func() {
				if come++; many {
					address = fmt.Sprint(come)
				}
				g := &guest{address: address, turn: func(error) {}}
				b.enter(g, l)
				b.reached(g, crowd[come%len(crowd)])
			}
			for range 10 * l.Logins {
				another()
			}
			var lost bool
			client := &guest{address: "here", turn: func(error) { lost = true }}
			b.enter(client, l)
			for at := silent; at < stages; at++ {
				b.reached(client, at)
				for range 4 {
					another()
				}
			}
			if b.leave(client); lost {
				t.Errorf("beside %v, of many addresses: %t, a client loses its place", crowd, many)
			}
		}
	}
}

// TestLobbySharesOfAddresses has strangers with an address each beside many at the address of analysts: that keeps its part.
// Where few addresses have all places, they make room, and a client from elsewhere keeps its place at any stage.
func TestLobbySharesOfAddresses(t *testing.T) {
	l := Limits{Logins: 40, AddressLogins: 20, LoginTime: time.Hour}
	b := newLobby()
	come := func(address string, at stage) {
		g := &guest{address: address, turn: func(error) {}}
		b.enter(g, l)
		b.reached(g, at)
	}
	for i := range 1000 {
		come("shared", started)
		for j := range 3 {
			come(fmt.Sprint("strangers ", i, j), started)
		}
		if n := b.of["shared"]; i > 100 && n < l.Logins/crowdedPart/2 {
			t.Fatalf("%d places are left to the shared address", n)
		}
	}
	b = newLobby()
	var lost bool
	b.enter(&guest{address: "elsewhere", turn: func(error) { lost = true }}, l)
	for range 1000 {
		for _, address := range []string{"one", "two", "three"} {
			come(address, answered)
		}
	}
	if lost {
		t.Error("three addresses take the place of a client from elsewhere")
	}
}

// TestNoStageLasts lets time pass over guests: each stage has its own end, and who leaves the lobby is not ended.
func TestNoStageLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, l := newLobby(), Limits{Logins: 20, AddressLogins: 20, LoginTime: 10 * time.Second}
		ended := make(chan string, l.Logins)
		enter := func(name string) *guest {
			g := &guest{address: "here", turn: func(why error) { ended <- fmt.Sprint(name, ": ", why) }}
			b.enter(g, l)
			return g
		}
		for at := silent; at < stages; at++ {
			b.reached(enter("stays"), at)
		}
		b.leave(enter("logs in"))
		moves := enter("moves")
		check := func(after time.Duration, n int, who string) {
			t.Helper()
			<-time.After(after) // at once, in a bubble
			synctest.Wait()
			if len(ended) != n {
				t.Fatalf("%d guests are ended, want %d", len(ended), n)
			}
			for range n {
				if got := <-ended; got != fmt.Sprint(who, ": ", errDone) {
					t.Errorf("%s, want %s", got, who)
				}
			}
		}
		check(l.stageTime()-time.Second, 0, "")
		b.reached(moves, begun)
		check(time.Second, int(stages-silent), "stays")
		check(l.stageTime()-2*time.Second, 0, "")
		check(time.Second, 1, "moves")
	})
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
