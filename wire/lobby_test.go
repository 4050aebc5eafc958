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

	"dpproxy/internal/await"
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
	stops := map[string]func(net.Conn){
		"nothing": func(net.Conn) {},
		"half a start": func(c net.Conn) {
			c.Write(requestPacket(80877104)) // whose answer says that the first byte was read
			c.Read(make([]byte, 1))
			c.Write(startupPacket(3<<16, "user", "ana")[:9])
		},
		"a start": func(c net.Conn) { starts(t, c) },
		handshake: func(c net.Conn) { asksTLS(c) },
		"a challenge": func(c net.Conn) {
			starts(t, c)
			c.Write(firstProof)
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

// TestLobbyKeepsWhoSaidMore has three connections come behind a client, each of which says one word less: they take each other's
// places, and the client goes on. Nothing of that depends on whether there is such a user.
func TestLobbyKeepsWhoSaidMore(t *testing.T) {
	var p *proxy
	for _, user := range []string{"ana", "nobody"} {
		words := []struct {
			name string
			say  func(net.Conn) net.Conn // as far as this, from the beginning
			next func(net.Conn)          // a word more, which is answered
			want string                  // in the answer
		}{
			{name: "a refusal read", say: func(c net.Conn) net.Conn {
				c.Write(startupPacket(3 << 16)) // names no user
				readMessage(t, c)
				return c
			}},
			{"nothing", func(c net.Conn) net.Conn {
				return c
			}, func(c net.Conn) { c.Write(startupPacket(3<<16, "user", user)) }, "SCRAM-SHA-256"},
			{"encryption asked for", asksTLS, func(c net.Conn) {
				c.Write([]byte{0x16, 3, 1, 0, 4, 9, 0, 0, 0}) // no hello
			}, "\x15"}, // an alert of TLS
			{"encryption", func(c net.Conn) net.Conn {
				c = tls.Client(asksTLS(c), &tls.Config{InsecureSkipVerify: true})
				if err := c.(*tls.Conn).Handshake(); err != nil {
					t.Fatal(err)
				}
				await.That(t, "the server has seen the last of the handshake", func() bool { return p.Encrypted() > 0 })
				return c
			}, func(c net.Conn) { c.Write(startupPacket(3<<16, "user", user)) }, "SCRAM-SHA-256"},
			{"a start", func(c net.Conn) net.Conn {
				c.Write(startupPacket(3<<16, "user", user))
				readMessage(t, c)
				return c
			}, func(c net.Conn) { c.Write(firstProof) }, "r=abcdef"},
			{"a proof begun", func(c net.Conn) net.Conn {
				c.Write(startupPacket(3<<16, "user", user))
				readMessage(t, c)
				c.Write(firstProof)
				readMessage(t, c)
				return c
			}, func(c net.Conn) { c.Write(packet('p', []byte("wrong"))) }, "28P01"},
		}
		for i, word := range words[1:] {
			p = start(t, func(c *wire.Config) {
				c.Limits.AddressLogins = 2
				c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
			})
			client := word.say(p.dialTCP(t))
			var less []net.Conn
			for range 3 {
				c := p.dialTCP(t)
				words[i].say(c)
				less = append(less, c)
			}
			_, _ = io.ReadAll(less[1]) // the third has come
			word.next(client)
			got := make([]byte, 1000)
			n, _ := client.Read(got)
			if answer := string(got[:n]); !strings.Contains(answer, word.want) || strings.Contains(answer, "53300") {
				t.Errorf("%s: after %s, beside three with %s, a client reads %q", user, word.name, words[i].name, answer)
			}
			for _, c := range append(less, client) {
				c.Close()
			}
		}
	}
}

// firstProof is a client's first message of SCRAM.
var firstProof = packet('p', append([]byte("SCRAM-SHA-256\x00\x00\x00\x00\x20"), []byte("n,,n=,r=abcdefghijklmnopqrstuvwx")...))

// asksTLS asks for encryption, and reads yes.
func asksTLS(c net.Conn) net.Conn {
	c.Write(requestPacket(80877103))
	c.Read(make([]byte, 1))
	return c
}

// starts sends a start-up packet, and reads what is answered.
func starts(t *testing.T, c net.Conn) {
	c.Write(startupPacket(3<<16, "user", "ana"))
	readMessage(t, c)
}

// TestLobbyAfterTheProof takes the place of a client that has said its last word and is not yet let in: it is told so, and the mirror
// is not asked for a session that would fail, and would be logged as an outage.
func TestLobbyAfterTheProof(t *testing.T) {
	authority := newAuthority(t)
	var dialled atomic.Bool
	var running atomic.Pointer[proxy]
	p := start(t, func(c *wire.Config) {
		c.Limits.AddressLogins = 2
		c.TLS = &tls.Config{
			Certificates: []tls.Certificate{certificate(t)}, ClientCAs: authority.pool, ClientAuth: tls.VerifyClientCertIfGiven,
		}
		c.Certificate = func(string, *x509.Certificate) bool {
			for range 2 { // as far as the client, whose place the second has
				other := running.Load().dialTCP(t)
				starts(t, other)
			}
			return true
		}
		dial := c.Dial
		c.Dial = func(ctx context.Context, l wire.Login) (*pgconn.PgConn, error) {
			dialled.Store(true)
			return dial(ctx, l)
		}
	})
	running.Store(p)
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
