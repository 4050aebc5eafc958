package wire

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"dpproxy/pgerr"
)

const (
	codeSSL    = 80877103
	codeGSSENC = 80877104
	codeCancel = 80877102
	// Versions of the protocol: 3.2 differs from 3.0 in the length of cancel keys.
	protocol30 = 3 << 16
	protocol32 = 3<<16 | 2

	maxStartup    = loginMessageBytes
	maxSettings   = 256
	shortKeyBytes = 4 // of a cancel key in protocol 3.0
	longKeyBytes  = 32
	// maxCancelKey is the longest key that protocol 3.2 allows.
	maxCancelKey = 256
)

// cancelKey is the pair of numbers that a client must show to cancel.
type cancelKey struct {
	pid    uint32
	secret []byte
}

// newCancelKey returns a key of the length that the protocol's version has.
func newCancelKey(version, pid uint32) cancelKey {
	length := shortKeyBytes
	if version >= protocol32 {
		length = longKeyBytes
	}
	k := cancelKey{pid: pid, secret: make([]byte, length)}
	rand.Read(k.secret)
	return k
}

// startup is a client's start-up packet.
type startup struct {
	code    uint32 // protocol version or request code
	params  map[string]string
	unknown []string  // protocol options, _pq_.*, none of which is known here
	cancel  cancelKey // of a cancel request
}

// version is the protocol that is spoken from here on.
func (s startup) version() uint32 { return min(s.code, protocol32) }

// user and database are the names to log in with.
func (s startup) user() string { return s.params["user"] }

func (s startup) database() string {
	if d := s.params["database"]; d != "" {
		return d
	}
	return s.user()
}

// readStartup reads one packet and not a byte more: the bytes behind an SSLRequest
// belong to TLS.
func readStartup(r io.Reader) (startup, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return startup{}, errDone
	}
	n := binary.BigEndian.Uint32(length[:])
	if n < 8 || n > maxStartup {
		return startup{}, fatal(pgerr.ProtocolViolation, "invalid length of startup packet")
	}
	body := make([]byte, n-4)
	if _, err := io.ReadFull(r, body); err != nil {
		return startup{}, errDone
	}
	return parseStartup(body)
}

// parseStartup reads the packet behind its length.
func parseStartup(body []byte) (startup, error) {
	if len(body) < 4 {
		return startup{}, fatal(pgerr.ProtocolViolation, "invalid length of startup packet")
	}
	s := startup{code: binary.BigEndian.Uint32(body)}
	rest := body[4:]
	switch {
	case s.code == codeSSL || s.code == codeGSSENC:
		return s, nil
	case s.code == codeCancel:
		if len(rest) < 8 || len(rest) > 4+maxCancelKey {
			return s, fatal(pgerr.ProtocolViolation, "invalid length of cancel request packet")
		}
		s.cancel = cancelKey{pid: binary.BigEndian.Uint32(rest), secret: rest[4:]}
		return s, nil
	case s.code>>16 != 3:
		return s, fatal(pgerr.FeatureNotSupported, "unsupported frontend protocol %d.%d: server supports 3.0 to 3.2",
			s.code>>16, s.code&0xffff)
	}
	err := s.parseParams(rest)
	return s, err
}

func (s *startup) parseParams(b []byte) error {
	s.params = map[string]string{}
	for {
		name, rest, ok := cstring(b)
		if ok && name == "" && len(rest) == 0 {
			break
		}
		value, rest, ok2 := cstring(rest)
		if !ok || !ok2 || name == "" || len(s.params) >= maxSettings {
			return fatal(pgerr.ProtocolViolation, "invalid startup packet layout: expected terminator as last byte")
		}
		if strings.HasPrefix(name, "_pq_.") {
			s.unknown = append(s.unknown, name)
		} else {
			s.params[name] = value
		}
		b = rest
	}
	if s.user() == "" {
		return fatal(pgerr.InvalidAuthorization, "no user name specified in startup packet")
	}
	switch strings.ToLower(s.params["replication"]) {
	case "", "false", "off", "no", "0", "f", "n":
		return nil
	}
	return fatal(pgerr.FeatureNotSupported, "replication connections are not supported")
}

// negotiation is the answer to a protocol newer than ours, or to options of it
// that are not known here; or nil.
func (s startup) negotiation() []byte {
	if s.code <= protocol32 && len(s.unknown) == 0 {
		return nil
	}
	slices.Sort(s.unknown)
	return encode(nil, &pgproto3.NegotiateProtocolVersion{
		NewestMinorProtocol: s.version(), UnrecognizedOptions: s.unknown,
	})
}

// negotiate answers requests for encryption until the client sends its start-up
// or cancel packet. Afterwards c.conn is the encrypted connection, if any. Nothing
// is buffered that could be taken for part of the encrypted stream.
func (c *connection) negotiate(ctx context.Context) (startup, error) {
	if err := c.directTLS(ctx); err != nil {
		return startup{}, err
	}
	seen := map[uint32]bool{}
	for {
		s, err := readStartup(c.conn)
		if err != nil {
			return s, err
		}
		if s.code != codeSSL && s.code != codeGSSENC {
			return s, nil
		}
		if seen[s.code] || c.tls {
			return s, fatal(pgerr.ProtocolViolation, "encryption was asked for twice")
		}
		seen[s.code] = true
		if s.code == codeGSSENC || c.config.TLS == nil {
			_, err = c.conn.Write([]byte{'N'})
		} else {
			err = c.acceptTLS(ctx)
		}
		if err != nil {
			return s, err
		}
	}
}

// A connection is a client that has not logged in.
type connection struct {
	config  *Config // of the moment when it was accepted
	moment  uint64  // among dismissals
	conn    net.Conn
	address string // whom admission counts it with
	tls     bool
	guest   *guest            // in the lobby, until it has logged in
	reached func(stage)       // tells the lobby how far it is
	user    string            // as it says
	shown   *x509.Certificate // the client's, signed by an authority of the policy; nil if none
	binding channelBinding
}
