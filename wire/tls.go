package wire

import (
	"context"
	"crypto/tls"
	"crypto/x509"

	"github.com/xdg-go/scram"
)

// startTLS says yes to an SSLRequest. Bytes that came behind the request are
// not set aside: they are read as the client's hello, and fail.
func (v *Server) startTLS(ctx context.Context, c *connection) error {
	if _, err := c.conn.Write([]byte{'S'}); err != nil {
		return err
	}
	var shown *tls.Certificate
	conn := tls.Server(c.conn, watchCertificate(v.config.TLS, &shown))
	if err := conn.HandshakeContext(ctx); err != nil {
		return errDone
	}
	c.conn, c.tls = conn, true
	c.binding = endpointBinding(shown)
	return nil
}

// watchCertificate returns a copy of config that stores the certificate it
// shows. Sessions are not resumed, since then none is shown.
func watchCertificate(config *tls.Config, shown **tls.Certificate) *tls.Config {
	own := config.Clone()
	own.SessionTicketsDisabled = true
	own.MinVersion = max(own.MinVersion, tls.VersionTLS12)
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
