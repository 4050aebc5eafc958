package wire

import (
	"net"
	"net/netip"
	"sync"

	"dpproxy/pgerr"
)

// admission counts sessions, so that neither one address nor one user can keep the others out. Clients that have not
// logged in are in the lobby, and take no session's place.
type admission struct {
	mu        sync.Mutex
	sessions  int
	byUser    map[string]int // sessions
	byAddress map[string]int // sessions
}

func newAdmission() *admission {
	return &admission{byUser: map[string]int{}, byAddress: map[string]int{}}
}

// admit refuses a session that would be one too many; leave must follow one that
// is admitted.
func (a *admission) admit(address, user string, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.sessions >= l.Connections:
		return fatal(pgerr.TooManyConnections, "sorry, too many clients already")
	case a.byUser[user] >= l.UserConnections:
		return fatal(pgerr.TooManyConnections, "too many connections for role %q", user)
	case a.byAddress[address] >= l.AddressConnections:
		return fatal(pgerr.TooManyConnections, "too many connections from this address")
	}
	a.sessions++
	a.byUser[user]++
	a.byAddress[address]++
	return nil
}

func (a *admission) leave(address, user string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions--
	less(a.byUser, user)
	less(a.byAddress, address)
}

// less counts one down, and forgets what is at nothing.
func less(counts map[string]int, key string) {
	if counts[key]--; counts[key] == 0 {
		delete(counts, key)
	}
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
