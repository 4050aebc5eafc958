package wire

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"dpproxy/pgerr"
)

// admission counts who is connected, so that neither one address nor one user
// can keep the others out, and passwords cannot be tried at will.
type admission struct {
	mu        sync.Mutex
	logins    int // connections that have not logged in
	sessions  int
	byUser    map[string]int // sessions
	byAddress map[string]*visitor
}

// visitor is what is known of one address.
type visitor struct{ logins, sessions, failures int }

func newAdmission() *admission {
	return &admission{byUser: map[string]int{}, byAddress: map[string]*visitor{}}
}

// change edits what is known of an address, and forgets one of which nothing is.
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

// failed remembers a wrong password for a while.
func (a *admission) failed(address string, l Limits) {
	count := func(by int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.change(address, func(v *visitor) { v.failures += by })
	}
	count(1)
	time.AfterFunc(l.FailedTime, func() { count(-1) })
}

// mayTry reports whether an address may offer one more password.
func (a *admission) mayTry(address string, l Limits) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.byAddress[address]
	return v == nil || v.failures < l.FailedLogins
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
