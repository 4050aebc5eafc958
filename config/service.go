package config

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/planner"
)

// passwordKey matches a password in a connection string of either form.
var passwordKey = regexp.MustCompile(`(?i)password[\s\v]*=`)

// readConnection reads a connection string. It never repeats the string in a fault,
// nor pgx's error, which quotes it.
func readConnection(v value) string {
	v.conceal()
	s := v.text()
	const instead = "a password must not stand here: give it in the environment " +
		"(DPPROXY_DATA_PASSWORD, DPPROXY_MIRROR_PASSWORD, DPPROXY_AUTH_PASSWORD) " +
		"or in a file (data_password_file, mirror_password_file, auth_query.password_file)"
	switch {
	case s == "":
	case strings.Contains(s, "${"):
		v.fail("environment variables are not replaced here; %s", instead)
	case passwordKey.MatchString(s) || urlHasPassword(s):
		v.fail(instead)
	case !strings.Contains(s, "=") && !isURL(s):
		v.fail("a connection is postgres://user@host:port/database or host=... dbname=... user=...")
	default:
		if _, err := pgconn.ParseConfig(s); err != nil {
			v.fail("this connection string cannot be used: its syntax is wrong, or a file that it names cannot be read")
		}
	}
	return s
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

// urlHasPassword reports whether a URL has a password in front of the host, or in a
// parameter in whatever spelling.
func urlHasPassword(s string) bool {
	u, err := url.Parse(s)
	if !isURL(s) || err != nil {
		return false
	}
	for key := range u.Query() {
		if strings.Contains(strings.ToLower(key), "password") {
			return true
		}
	}
	_, set := u.User.Password()
	return set
}

func readAddress(v value) string {
	s := v.text()
	_, port, err := net.SplitHostPort(s)
	if _, bad := strconv.ParseUint(port, 10, 16); s != "" && (err != nil || bad != nil) {
		v.fail("an address is host:port, such as 127.0.0.1:6432")
	}
	return s
}

// The least relative error and share of groups that can be asked for, and the range of
// absolute errors.
const (
	leastRelativeError = 1e-4
	leastFraction      = 0.01
	leastError         = 1e-15
	mostError          = 1e30
)

// readMechanisms reads a list of mechanisms, each once.
func readMechanisms(v value) (names []string) {
	names = []string{}
	v.list(func(c value) {
		s := c.oneOf(planner.Mechanisms()...)
		if slices.Contains(names, s) {
			c.fail("the mechanism %s is listed twice", s)
		}
		names = append(names, s)
	})
	return names
}

// The confidences that a session can ask for.
const minConfidence, maxConfidence = 0.5, 0.999999

// readConfidence reads a probability.
func readConfidence(v value) float64 { return v.between(minConfidence, maxConfidence) }

// The largest numbers of a policy: beyond these a number is a mistake.
const (
	maxConnections     = 10_000
	maxDataConnections = 1000
	maxFoldMemory      = 1 << 20 // a terabyte
	maxContribution    = 1_000_000
	maxUnits           = 1_000_000_000_000
	maxFailedLogins    = 10_000
	maxFanout          = 1_000_000_000
	maxWork            = 1_000_000_000_000
	maxReplyGrid       = 10 * time.Second
)

// readGrid reads a time such as 20ms, or 0.
func readGrid(v value) time.Duration {
	s, _ := scalarText(v.node)
	d, err := time.ParseDuration(s)
	if err != nil || d != 0 && d < time.Millisecond || d > maxReplyGrid {
		v.fail("a time from 1ms to %v is needed, such as 20ms, or 0 for no grid", maxReplyGrid)
	}
	return d
}
