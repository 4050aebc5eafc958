package wire_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/wire"
)

// TestLobby opens connections that say nothing, or stop at any point of a log-in: who logs in has room, and who makes it reads why.
func TestLobby(t *testing.T) {
	p := start(t, func(c *wire.Config) {
		c.Limits.AddressLogins = 2
		c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
	})
	session := p.connect(t)
	const handshake = "TLS asked" // in the middle of which nothing can be said
	starts := func(c net.Conn) {
		c.Write(startupPacket(3<<16, "user", "ana"))
		readMessage(t, c)
	}
	stops := map[string]func(net.Conn){
		"nothing":      func(net.Conn) {},
		"half a start": func(c net.Conn) { c.Write(startupPacket(3<<16, "user", "ana")[:9]) },
		"a start":      starts,
		handshake: func(c net.Conn) {
			c.Write(requestPacket(80877103))
			c.Read(make([]byte, 1))
		},
		"a challenge": func(c net.Conn) {
			starts(c)
			c.Write(packet('p', append([]byte("SCRAM-SHA-256\x00\x00\x00\x00\x20"), []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")...)))
			readMessage(t, c)
		},
	}
	for name, stop := range stops {
		var silent []net.Conn
		for range 4 {
			c := p.dialTCP(t)
			stop(c)
			silent = append(silent, c)
		}
		if got := connectError(t, p.url("")); got != "" {
			t.Errorf("%s: who logs in reads %s", name, got)
		}
		for i, c := range silent[:2] {
			if all, _ := io.ReadAll(c); !strings.Contains(string(all), "53300") && name != handshake {
				t.Errorf("%s: connection %d, which makes room, reads %q", name, i, all)
			}
		}
		for _, c := range silent {
			c.Close()
		}
	}
	if got := queryInt(t, session, "SELECT 1"); got != "1" {
		t.Errorf("a session beside them reads %s", got)
	}
}

// TestLobbyAfterTheProof takes the place of a client that has said its last word and is not yet let in: it is told so, and the mirror
// is not asked for a session that would fail, and would be logged as an outage.
func TestLobbyAfterTheProof(t *testing.T) {
	authority := newAuthority(t)
	var dialled atomic.Bool
	var p *proxy
	p = start(t, func(c *wire.Config) {
		c.Limits.AddressLogins = 2
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{certificate(t)}, ClientCAs: authority.pool, ClientAuth: tls.VerifyClientCertIfGiven,
		}
		c.Certificate = func(string, *x509.Certificate) bool {
			first := p.dialTCP(t)
			p.dialTCP(t) // has the client's place
			p.dialTCP(t) // has that of the first, which hears of it
			_, _ = io.ReadAll(first)
			return true
		}
		dial := c.Dial
		c.Dial = func(ctx context.Context, l wire.Login) (*pgconn.PgConn, error) {
			dialled.Store(true)
			return dial(ctx, l)
		}
	})
	config, err := pgconn.ParseConfig(strings.Replace(p.url(""), "sslmode=disable", "sslmode=require", 1))
	if err != nil {
		t.Fatal(err)
	}
	config.TLSConfig.Certificates = []tls.Certificate{authority.sign(t, "ana")}
	_, err = pgconn.ConnectConfig(t.Context(), config)
	if got := code(err); !strings.Contains(got, "too many connections are logging in") || dialled.Load() {
		t.Errorf("whose place was taken reads %s; the mirror was asked: %t", got, dialled.Load())
	}
}
