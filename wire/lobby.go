package wire

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dpproxy/pgerr"
)

// A lobby has the connections that have not proved who they are. Its places are limited, in all and for one address. A new
// connection always gets a place. If none is free, one guest is turned away: of the same address if that has its share, else of
// the addresses that are crowded, else of all. Among these the guest is chosen by its stage, see choose.
type lobby struct {
	mu     sync.Mutex
	guests []*guest // who has said nothing for longest comes first
	of     map[string]int
}

// A stage is how far a guest has got in its log-in. A guest learns nothing of the user's name from it: an unknown user gets as
// far as a known one.
type stage int

const (
	refused   stage = iota // reads why it is not logged in
	silent                 // has said nothing
	begun                  // has sent a byte, or asked for encryption
	encrypted              // has exchanged keys
	started                // has sent its start-up packet
	answered               // has begun a proof, as one of the few that its address may for its user
	stages                 // how many there are
)

// A guest is a connection in the lobby.
type guest struct {
	address  string
	turn     func(error) // ends the log-in, for this reason
	stage    stage
	time     time.Duration // for each stage
	patience *time.Timer   // until the stage must be left
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
		b.turnAway(func(other *guest) bool { return other.address == g.address })
	case len(b.guests) >= l.Logins:
		least := b.crowd(l.Logins / crowdedPart)
		b.turnAway(func(other *guest) bool { return b.of[other.address] > least })
	}
	g.stage, g.time = silent, l.stageTime()
	g.patience = time.AfterFunc(g.time, func() { g.turn(errDone) })
	b.guests = append(b.guests, g)
	b.of[g.address]++
}

// crowdedPart of all places is what an address may have before it makes room for others. With less, an address that analysts
// share with strangers would be left with one place by strangers who have an address each.
const crowdedPart = 4

// crowd returns the number of guests above which an address makes room: places, or if no address has more, none.
func (b *lobby) crowd(places int) int {
	for _, n := range b.of {
		if n > places {
			return places
		}
	}
	return 0
}

// turnAway ends the log-in of one of the guests that may be chosen, of which there is one at least.
func (b *lobby) turnAway(may func(*guest) bool) {
	g := choose(slices.DeleteFunc(slices.Clone(b.guests), func(g *guest) bool { return !may(g) }))
	b.remove(slices.Index(b.guests, g))
	g.turn(errNoRoom)
}

// choose returns the guest that is turned away: of the crowded stage, the one that has said nothing for longest. So whoever gets
// further is safe from those who do not, until its own stage is crowded; and guests that wait at a far stage cannot fill the
// lobby, since near stages keep their part.
func choose(guests []*guest) *guest {
	crowded := crowdedStage(guests)
	return guests[slices.IndexFunc(guests, func(g *guest) bool { return g.stage == crowded })]
}

// crowdedStage is the least far stage that has an equal part of all guests, or more; empty stages have no part.
func crowdedStage(guests []*guest) stage {
	var at [stages]int
	occupied := 0
	for _, g := range guests {
		if at[g.stage]++; at[g.stage] == 1 {
			occupied++
		}
	}
	return stage(slices.IndexFunc(at[:], func(n int) bool { return n > 0 && n*occupied >= len(guests) }))
}

// reached says that a guest is at a stage, and gives it time for this one.
func (b *lobby) reached(g *guest, s stage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if at := slices.Index(b.guests, g); at >= 0 {
		g.stage = s
		g.patience.Reset(g.time)
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
	g := b.guests[at]
	g.patience.Stop()
	less(b.of, g.address)
	b.guests = slices.Delete(b.guests, at, at+1)
}
