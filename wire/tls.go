package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"

	"github.com/xdg-go/scram"
)

const (
	// tlsHandshake is the first byte of a TLS connection. No start-up packet begins
	// with it: its length would be beyond any limit.
	tlsHandshake = 0x16
	// alpnPostgres is the protocol's name in TLS (Postgres 17, "direct" negotiation).
	alpnPostgres = "postgresql"
)

// channelBinding ties a log-in to its TLS connection.
type channelBinding = scram.ChannelBinding

// acceptTLS says yes to an SSLRequest. Bytes that came behind the request are
// not set aside: they are read as the client's hello, and fail.
func (c *connection) acceptTLS(ctx context.Context) error {
	if _, err := c.conn.Write([]byte{'S'}); err != nil {
		return err
	}
	return c.startTLS(ctx)
}

// directTLS begins TLS if the client's first byte does. Such a client must name
// the protocol, so that no other one can be confused with it.
func (c *connection) directTLS(ctx context.Context) error {
	var first [1]byte
	if _, err := io.ReadFull(c.conn, first[:]); err != nil {
		return errDone
	}
	c.reached(begun)
	plain := c.conn
	c.conn = &unread{Conn: plain, bytes: first[:]}
	if first[0] != tlsHandshake || c.config.TLS == nil {
		return nil
	}
	if err := c.startTLS(ctx); err != nil {
		return err
	}
	if t, ok := c.conn.(*tls.Conn); !ok || t.ConnectionState().NegotiatedProtocol != alpnPostgres {
		return errDone
	}
	return nil
}

// unread is a connection of which a few bytes have been read too early.
type unread struct {
	net.Conn
	bytes []byte
}

// Read returns the bytes first.
func (u *unread) Read(p []byte) (int, error) {
	if len(u.bytes) == 0 {
		return u.Conn.Read(p)
	}
	n := copy(p, u.bytes)
	u.bytes = u.bytes[n:]
	return n, nil
}

// NetConn returns the connection itself.
func (u *unread) NetConn() net.Conn { return u.Conn }

// CloseWrite says that nothing more comes, where the connection can.
func (u *unread) CloseWrite() error {
	closeWrite(u.Conn)
	return nil
}

func (c *connection) startTLS(ctx context.Context) error {
	var shown *tls.Certificate
	conn := tls.Server(c.conn, serverTLS(c.config.TLS, &shown))
	if err := conn.HandshakeContext(ctx); err != nil {
		return errDone
	}
	c.reached(encrypted)
	c.conn, c.tls = conn, true
	c.binding = endpointBinding(shown)
	if chains := conn.ConnectionState().VerifiedChains; len(chains) > 0 {
		c.shown = chains[0][0]
	}
	return nil
}

// serverTLS returns a copy of config for one connection, which stores the
// certificate that it shows. Sessions are not resumed, since then none is shown.
func serverTLS(config *tls.Config, shown **tls.Certificate) *tls.Config {
	own := config.Clone()
	own.SessionTicketsDisabled = true
	own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
	own.NextProtos = []string{alpnPostgres}
	fixed, choose := own.Certificates, own.GetCertificate
	own.Certificates = nil
	own.GetCertificate = func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
		var err error
		if choose != nil {
			*shown, err = choose(hello)
		}
		for i := range fixed {
			if *shown == nil && (i == len(fixed)-1 || hello.SupportsCertificate(&fixed[i]) == nil) {
				*shown = &fixed[i]
			}
		}
		return *shown, err
	}
	return own
}

// endpointBinding is the tls-server-end-point binding of RFC 5929, or none for
// a certificate that the RFC has no hash for.
func endpointBinding(c *tls.Certificate) channelBinding {
	if c == nil || len(c.Certificate) == 0 {
		return channelBinding{}
	}
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		return channelBinding{}
	}
	// The library looks for the server's certificate where a client would have
	// it.
	state := tls.ConnectionState{PeerCertificates: []*x509.Certificate{leaf}}
	b, err := scram.NewTLSServerEndpointBinding(&state)
	if err != nil {
		return channelBinding{}
	}
	return b
}
