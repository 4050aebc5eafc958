package faults_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"dpproxy/internal/pgtemp"
)

// TestPromotion holds that clients go on by a standby that is promoted: it takes over the address of the primary, or the
// policy is given its own, or had both from the beginning.
func TestPromotion(t *testing.T) {
	t.Parallel()
	l := newLife(t, nil)
	for _, h := range []happening{
		{
			name: "a standby is promoted, and takes over the address", want: []string{"PB017"},
			before: (*life).follow, during: func(l *life) { l.promote(); l.Gate.Move(l.Data) },
		},
		{
			name: "a standby is promoted, and the policy names it", want: []string{"PB017"},
			before: (*life).follow, during: func(l *life) { l.promote(); l.nameData(l.direct(l.Data)) },
		},
		{
			name: "a standby is promoted, and the policy names both", want: []string{"PB017"},
			before: (*life).nameBoth, during: (*life).promote,
		},
	} {
		l.play(h)
	}
	l.print()
}

// follow starts a standby.
func (l *life) follow() {
	standby, err := l.Data.Standby(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(standby.Stop)
	l.standby = standby
}

// promote has the machine of the primary fail, and the standby take its place.
func (l *life) promote() {
	if err := l.Data.Kill(); err != nil {
		l.t.Fatal(err)
	}
	if err := l.standby.Promote(context.WithoutCancel(l.t.Context())); err != nil {
		l.t.Fatal(err)
	}
	l.Data = l.standby
}

func (l *life) direct(s *pgtemp.Server) string { return s.URL(l.Database, pgtemp.Superuser) }

// nameData gives the policy another address of the protected database.
func (l *life) nameData(address string) {
	l.Edit(l.t, l.address, address)
	l.address = address
	l.running().HangUp(l.t, "the policy was reloaded")
}

// nameBoth gives the policy the addresses of the primary, behind the gate, and of a standby.
func (l *life) nameBoth() {
	l.follow()
	l.Gate.Move(l.Data)
	gate, err := url.Parse(l.Gate.URL(l.Database, pgtemp.Superuser))
	if err != nil {
		l.t.Fatal(err)
	}
	l.nameData(fmt.Sprintf("host=%s,%s port=%d,%s dbname=%s user=%s sslmode=disable target_session_attrs=read-write",
		l.standby.SocketDir, gate.Hostname(), l.standby.Port, gate.Port(), l.Database, pgtemp.Superuser))
}

// promote has the primary's machine fail while clients ask, promotes a standby, and has the policy name it.
func (m *maintained) promote() {
	m.follow()
	if err := m.Data.Kill(); err != nil {
		m.t.Fatal(err)
	}
	m.awaitSeen("PB015")
	if err := m.standby.Promote(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	m.Data = m.standby
	m.nameData(m.Data.URL(m.Database, "reader"))
}
