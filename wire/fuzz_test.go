package wire_test

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/internal/await"
	"dpproxy/wire"
)

func FuzzStartup(f *testing.F) {
	f.Add(startupPacket(3<<16, "user", "ana", "database", "d", "options", `-c a=b --c-d=e -cx=\ y`)[4:])
	f.Add(startupPacket(3<<16|9999, "user", "ana", "_pq_.x", "1")[4:])
	f.Add(startupPacket(3<<16, "user", "ana", "replication", "database")[4:])
	f.Add(requestPacket(80877102, 1, 2, 3, 4, 5, 6, 7, 8)[4:])
	f.Add(requestPacket(80877103)[4:])
	f.Add([]byte{0, 3})
	f.Fuzz(func(_ *testing.T, body []byte) { wire.ParseStartup(body) })
}

// FuzzLogin sends any bytes to a server with TLS before log-in. The connection must
// end by itself when the client does.
func FuzzLogin(f *testing.F) {
	const ssl, gss = 80877103, 80877104
	start30 := startupPacket(3<<16, "user", "ana")
	f.Add(append(requestPacket(gss), append(requestPacket(ssl), start30...)...))
	f.Add([]byte("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"))
	f.Add(append(requestPacket(80877102, 0, 0, 0, 1), start30...))
	f.Add(append(start30, packet('p', []byte("SCRAM-SHA-256\x00\x00\x00\x00\x20n,,n=,r=abcdefghijklmnopqrstuvwx"))...))
	for _, bytes := range malformed {
		f.Add(slices.Concat(start30, bytes))
	}
	certificate := certificate(f)
	p := start(f, func(c *wire.Config) { c.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}} })
	f.Fuzz(func(t *testing.T, bytes []byte) {
		c := p.dialTCP(t)
		c.Write(bytes)
		c.(*net.TCPConn).CloseWrite()
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the connection does not end")
		}
	})
}

// FuzzSession sends any bytes after log-in to a session on a mirror that agrees
// with everything. The session must end by itself when the client does.
func FuzzSession(f *testing.F) {
	for _, bytes := range malformed {
		f.Add(bytes)
	}
	f.Add(encodeAll(f, &pgproto3.Query{String: "SELECT 1; SELECT id FROM secret; SELECT forbidden"}))
	f.Add(encodeAll(f, &pgproto3.Parse{Name: "s", Query: "SELECT id FROM secret"},
		&pgproto3.Bind{DestinationPortal: "p", PreparedStatement: "s"},
		&pgproto3.Describe{ObjectType: 'P', Name: "p"}, &pgproto3.Execute{Portal: "p"},
		&pgproto3.Close{ObjectType: 'S', Name: "s"}, &pgproto3.Sync{}))
	mirror := agreeableMirror(f)
	verifier, err := wire.MakeVerifier(password, 1)
	if err != nil {
		f.Fatal(err)
	}
	p := start(f, func(c *wire.Config) {
		c.Verifier = func(context.Context, string) (string, bool, error) { return verifier, true, nil }
		c.Handler = newFakeHandler()
		c.Dial = func(ctx context.Context, _ wire.Login) (*pgconn.PgConn, error) {
			return pgconn.Connect(ctx, "sslmode=disable user=ana host=127.0.0.1 port="+mirror)
		}
	})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		c := openRaw(t, p.config(t))
		c.Write(bytes)
		c.Conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, c.Conn)
		c.Close()
		await.That(t, "the session ends", func() bool { return p.Sessions() == 0 })
	})
}

// agreeableMirror listens for sessions in which every request succeeds. It
// returns its port.
func agreeableMirror(f *testing.F) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go agree(c)
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func agree(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	var length [4]byte
	if _, err := io.ReadFull(c, length[:]); err != nil {
		return
	}
	io.CopyN(io.Discard, c, int64(binary.BigEndian.Uint32(length[:])-4))
	c.Write([]byte("R\x00\x00\x00\x08\x00\x00\x00\x00K\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x00\x00\x01Z\x00\x00\x00\x05I"))
	answers := map[byte]string{
		'P': "1\x00\x00\x00\x04", 'B': "2\x00\x00\x00\x04", 'C': "3\x00\x00\x00\x04",
		'E': "C\x00\x00\x00\x08SET\x00", 'S': "Z\x00\x00\x00\x05I",
		'Q': "C\x00\x00\x00\x08SET\x00Z\x00\x00\x00\x05I",
	}
	for {
		var h [5]byte
		if _, err := io.ReadFull(c, h[:]); err != nil || h[0] == 'X' {
			return
		}
		body := make([]byte, max(4, binary.BigEndian.Uint32(h[1:]))-4)
		if _, err := io.ReadFull(c, body); err != nil {
			return
		}
		answer := answers[h[0]]
		if h[0] == 'D' {
			answer = "n\x00\x00\x00\x04"
			if len(body) > 0 && body[0] == 'S' {
				answer = "t\x00\x00\x00\x06\x00\x00" + answer
			}
		}
		if _, err := c.Write([]byte(answer)); err != nil {
			return
		}
	}
}
