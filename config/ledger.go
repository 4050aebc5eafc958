package config

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// maxReplicas is more than a Redis has that is waited for.
const maxReplicas = 16

// ledger reads where the ledger is.
func (v value) ledger() (l Ledger) {
	var shared []string // the keys that only a ledger in Redis has
	of := func(key string, read func(value)) func(value) {
		return func(v value) { shared = append(shared, key); read(v) }
	}
	v.object(fields{
		"dir":                 func(v value) { l.Dir = v.text() },
		"redis":               func(v value) { l.Redis = v.redis() },
		"name":                of("name", func(v value) { l.Name = v.ledgerName() }),
		"redis_password_file": of("redis_password_file", func(v value) { l.PasswordFile = v.text() }),
		"replicas":            of("replicas", func(v value) { l.Replicas = int(v.count(maxReplicas)) }),
		"asserted_durable":    of("asserted_durable", func(v value) { l.AssertedDurable = v.text() }),
	})
	v.need("dir")
	switch m, ok := v.node.(ast.MapNode); {
	case ok && states(m, "redis"):
		v.need("name")
	case len(shared) > 0:
		v.fail("%s is for a ledger in redis, and redis is missing", shared[0])
	}
	return l
}

var ledgerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$`)

func (v value) ledgerName() string {
	s := v.text()
	if s != "" && !ledgerName.MatchString(s) {
		v.fail("the name of a ledger is 1 to 63 letters, digits, underscores, dots and dashes, and begins with a letter or a digit")
	}
	return s
}

// redis reads the URL of a Redis. It never repeats the URL in a fault.
func (v value) redis() string {
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
		v.fail("a Redis is redis://host:port/number, rediss://host:port/number with TLS, or unix:///path?db=number; its user, if it has one, stands before the host")
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
