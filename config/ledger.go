package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// maxReplicas is more than a Redis has that is waited for.
const maxReplicas = 16

var ledgerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

func readLedgerName(v value) string {
	s := v.text()
	if s != "" && !ledgerName.MatchString(s) {
		v.fail("the name of a ledger is 1 to 63 letters, digits, underscores, dots and dashes, and begins with a letter or a digit")
	}
	return s
}

// readWitness reads a file or a connection.
func readWitness(v value) string {
	v.conceal()
	switch s := v.text(); {
	case s == "" || strings.HasPrefix(s, "/"):
		return s
	case !strings.Contains(s, "=") && !isURL(s):
		v.fail("marks are in a file, by its absolute path, or on a Postgres: " +
			"postgres://user@host:port/database or host=... dbname=... user=...")
		return s
	}
	return readConnection(v)
}

// readRedis reads the URL of a Redis. It never repeats the URL in a fault.
func readRedis(v value) string {
	v.conceal()
	s := v.text()
	const instead = "a password must not stand here: give it in the environment (DPPROXY_REDIS_PASSWORD) or in a file (redis_password_file)"
	u, err := url.Parse(s)
	switch {
	case s == "":
	case strings.Contains(s, "${"):
		v.fail("environment variables are not replaced here; %s", instead)
	case err == nil && hasPassword(u), err != nil && strings.Contains(s, "@"):
		v.fail(instead)
	case err != nil || !isRedis(u):
		v.fail("a Redis is redis://host:port/number, rediss://host:port/number with TLS, or unix:///path?db=number; " +
			"its user, if it has one, stands before the host")
	}
	return s
}

func hasPassword(u *url.URL) bool {
	_, set := u.User.Password()
	for key := range u.Query() {
		set = set || strings.Contains(strings.ToLower(key), "pass")
	}
	return set
}

// isRedis reports whether a URL names a Redis and nothing besides: options of the
// client are dpproxy's own.
func isRedis(u *url.URL) bool {
	if u.Fragment != "" || u.Opaque != "" {
		return false
	}
	var number string
	switch u.Scheme {
	case "redis", "rediss":
		number = strings.TrimPrefix(u.Path, "/")
		if u.Hostname() == "" || u.RawQuery != "" {
			return false
		}
	case "unix":
		q := u.Query()
		number = q.Get("db")
		if u.Host != "" || u.Path == "" || len(q) > 1 || len(q) == 1 && !q.Has("db") || len(q["db"]) > 1 {
			return false
		}
	default:
		return false
	}
	if number == "" {
		return true
	}
	_, err := strconv.ParseUint(number, 10, 16)
	return err == nil
}
