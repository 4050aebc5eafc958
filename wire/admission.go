package wire

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"dpproxy/pgerr"
)

// admission counts who is connected, so that neither one address nor one user
// can keep the others out, and neither passwords be tried nor verifiers be asked
// for at will.
type admission struct {
	mu        sync.Mutex
	settled   *sync.Cond // a proof has come, or will not
	logins    int        // connections that have not logged in
	sessions  int
	byUser    map[string]int // sessions
	byAddress map[string]*visitor
}

// visitor is an address with its log-ins and sessions.
type visitor struct {
	logins, sessions int
	proving          int // log-ins for whom the verifier was asked, and no proof has come
	failures         int // log-ins that ended without the right proof, a while ago at most
}

func newAdmission() *admission {
	a := &admission{byUser: map[string]int{}, byAddress: map[string]*visitor{}}
	a.settled = sync.NewCond(&a.mu)
	return a
}

// change edits the visitor of an address, and forgets one of whom nothing is known.
// Callers hold the lock.
func (a *admission) change(address string, edit func(*visitor)) {
	v := a.byAddress[address]
	if v == nil {
		v = &visitor{}
		a.byAddress[address] = v
	}
	edit(v)
	if *v == (visitor{}) {
		delete(a.byAddress, address)
	}
}

// arrive reports whether a connection may try to log in; gone must follow then.
func (a *admission) arrive(address string, l Limits) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ok := false
	a.change(address, func(v *visitor) {
		if ok = a.logins < l.Logins && v.logins < l.AddressLogins; ok {
			a.logins++
			v.logins++
		}
	})
	return ok
}

// gone follows arrive when a log-in has ended, well or not.
func (a *admission) gone(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logins--
	a.change(address, func(v *visitor) { v.logins-- })
}

// admit refuses a session that would be one too many; leave must follow one that
// is admitted.
func (a *admission) admit(address, user string, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	a.change(address, func(v *visitor) {
		switch {
		case a.sessions >= l.Connections:
			err = fatal(pgerr.TooManyConnections, "sorry, too many clients already")
		case a.byUser[user] >= l.UserConnections:
			err = fatal(pgerr.TooManyConnections, "too many connections for role %q", user)
		case v.sessions >= l.AddressConnections:
			err = fatal(pgerr.TooManyConnections, "too many connections from this address")
		default:
			a.sessions++
			a.byUser[user]++
			v.sessions++
		}
	})
	return err
}

func (a *admission) leave(address, user string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions--
	if a.byUser[user]--; a.byUser[user] == 0 {
		delete(a.byUser, user)
	}
	a.change(address, func(v *visitor) { v.sessions-- })
}

// mayTry refuses an address from which too many log-ins have failed.
func (a *admission) mayTry(address string, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tried(address, l)
}

// tried is mayTry for callers that hold the lock.
func (a *admission) tried(address string, l Limits) error {
	if v := a.byAddress[address]; v != nil && v.failures >= l.FailedLogins {
		return fatal(pgerr.InvalidAuthorization, "too many log-ins from this address have failed")
	}
	return nil
}

// prove lets a client see a challenge; settle must follow. As each that is under way may
// fail, there are never more of them than may: the others of the address wait for their
// proofs, which clients that know their password send at once.
func (a *admission) prove(ctx context.Context, address string, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.settled.Broadcast()
	})()
	for ctx.Err() == nil {
		if err := a.tried(address, l); err != nil {
			return err
		}
		if v := a.byAddress[address]; v == nil || v.failures+v.proving < l.FailedLogins {
			a.change(address, func(v *visitor) { v.proving++ })
			return nil
		}
		a.settled.Wait()
	}
	return errDone // the time to log in is over, or the server stops
}

// settle ends a proof that prove let begin. A log-in without the right proof is remembered for a while,
// whether there was a wrong one or none.
func (a *admission) settle(address string, failed bool, l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(address, func(v *visitor) {
		v.proving--
		if failed {
			v.failures++
		}
	})
	a.settled.Broadcast()
	if failed {
		time.AfterFunc(l.FailedTime, func() { a.forgive(address) })
	}
}

// forgive forgets a log-in that failed.
func (a *admission) forgive(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(address, func(v *visitor) { v.failures-- })
	a.settled.Broadcast()
}

// addressOf names whom a connection comes from: a host of IPv4, or the network
// of 64 bits that a host of IPv6 has to itself.
func addressOf(c net.Conn) string {
	text := remote(c)
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return text
	}
	addr := ap.Addr().Unmap().WithZone("")
	const hostNetwork = 64
	if addr.Is6() {
		return netip.PrefixFrom(addr, hostNetwork).Masked().String()
	}
	return addr.String()
}
