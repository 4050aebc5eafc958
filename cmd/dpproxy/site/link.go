package site

import (
	"crypto/tls"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Exposed says why whoever is between dpproxy and the protected database can read the rows of people that the database sends, or
// answer in its place, as the policy has the connection; "" where nobody is between, or cannot.
func Exposed(data string) string {
	cfg, err := pgx.ParseConfig(data)
	if err != nil {
		return "" // which the check of the connection says
	}
	const remedy = ": name sslmode=verify-full there, and the authority's file as sslrootcert"
	worst := protectionOf(cfg.Host, cfg.TLSConfig)
	for _, f := range cfg.Fallbacks {
		worst = max(worst, protectionOf(f.Host, f.TLSConfig))
	}
	switch worst {
	case open:
		return "rows of people may come unencrypted from the protected database" + remedy
	case unverified:
		return "rows of people come encrypted, and from whatever server answers in the place of the protected database" + remedy
	case closed:
	}
	return ""
}

// A protection of a connection says how much it leaves to others between its ends; more is worse.
type protection int

const (
	closed     protection = iota // nothing
	unverified                   // to answer in the place of the database
	open                         // to read
)

// protectionOf is that of a connection to a host, under settings of TLS; nil without TLS.
func protectionOf(host string, c *tls.Config) protection {
	ip := net.ParseIP(host)
	switch {
	case strings.HasPrefix(host, "/"), strings.HasPrefix(host, "@"), host == "localhost", ip != nil && ip.IsLoopback():
		return closed
	case c == nil:
		return open
	case c.InsecureSkipVerify && c.VerifyPeerCertificate == nil:
		return unverified
	}
	return closed
}
