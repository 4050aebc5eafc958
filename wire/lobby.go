package wire

import (
	"context"
	"errors"
	"slices"
	"sync"

	"dpproxy/pgerr"
)

// A lobby has the connections that have not proved who they are. Its places are limited, in all and for one address. If none
// is left, the guest that has said nothing for longest is turned away: of the same address if that has its share, else of the
// address that has most guests. So connections that only stay cannot keep anybody out, and one that says at once what it must
// is turned away only while as many others do so.
type lobby struct {
	mu     sync.Mutex
	guests []*guest // who has said nothing for longest comes first
	of     map[string]int
}

// A guest is a connection in the lobby.
type guest struct {
	address string
	turn    func(error) // ends the log-in, for this reason
}

// errNoRoom is the error of a guest that is turned away.
var errNoRoom = &fatalError{pgerr.New(pgerr.TooManyConnections, "too many connections are logging in")}

// turnedAway reports whether the log-in of a context was ended for others.
func turnedAway(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errNoRoom) }

func newLobby() *lobby { return &lobby{of: map[string]int{}} }

// enter lets a connection in, in the place of another if there is none; leave must follow.
func (b *lobby) enter(g *guest, l Limits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.of[g.address] >= l.AddressLogins:
		b.turnAway(g.address)
	case len(b.guests) >= l.Logins:
		b.turnAway(b.crowded())
	}
	b.guests = append(b.guests, g)
	b.of[g.address]++
}

// crowded is the address that has most guests; of several, the one that has waited longest.
func (b *lobby) crowded() string {
	most := b.guests[0].address
	for _, g := range b.guests {
		if b.of[g.address] > b.of[most] {
			most = g.address
		}
	}
	return most
}

// turnAway ends the log-in of the guest of an address that has said nothing for longest.
func (b *lobby) turnAway(address string) {
	at := slices.IndexFunc(b.guests, func(g *guest) bool { return g.address == address })
	g := b.guests[at]
	b.remove(at)
	g.turn(errNoRoom)
}

// heard says that a guest has said what was waited for.
func (b *lobby) heard(g *guest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.guests, g); at >= 0 {
		b.guests = append(slices.Delete(b.guests, at, at+1), g)
	}
}

// leave follows enter when a guest has proved who they are, or gives up.
func (b *lobby) leave(g *guest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.guests, g); at >= 0 {
		b.remove(at)
	}
}

// remove takes a guest off the list.
func (b *lobby) remove(at int) {
	less(b.of, b.guests[at].address)
	b.guests = slices.Delete(b.guests, at, at+1)
}
