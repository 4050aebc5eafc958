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

// connection reads a connection string. It never repeats the string in a fault,
// nor what pgx says of it.
func (v value) connection() string {
	v.conceal()
	s := v.text()
	const instead = "a password must not stand here: give it in the environment (DPPROXY_DATA_PASSWORD, DPPROXY_MIRROR_PASSWORD, DPPROXY_AUTH_PASSWORD) or in a file (data_password_file, mirror_password_file, auth_query.password_file)"
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

func (v value) address() string {
	s := v.text()
	_, port, err := net.SplitHostPort(s)
	if _, bad := strconv.ParseUint(port, 10, 16); s != "" && (err != nil || bad != nil) {
		v.fail("an address is host:port, such as 127.0.0.1:6432")
	}
	return s
}

func (v value) tls(p *Policy) {
	v.object(fields{
		"cert":      func(v value) { p.TLSCert = v.text() },
		"key":       func(v value) { p.TLSKey = v.text() },
		"client_ca": func(v value) { p.ClientCA = v.text() },
	})
	v.need("cert", "key")
}

func (v value) defaults(d *Defaults) {
	v.object(fields{
		"epsilon":    func(v value) { d.EpsilonPico = v.epsilon(maxSettingEpsilon) },
		"confidence": func(v value) { d.Confidence = v.confidence() },
		"mechanism":  func(v value) { d.Mechanism = v.oneOf(planner.MechanismNames()...) },
		"delta":      func(v value) { d.DeltaAtto = v.delta() },

		"max_epsilon":     func(v value) { d.MaxEpsilonPico = v.epsilon(maxSettingEpsilon) },
		"relative_error":  func(v value) { d.RelativeError = v.between(leastRelativeError, 1) },
		"target_fraction": func(v value) { d.TargetFraction = v.between(leastFraction, 1) },
		"refine":          func(v value) { d.Refine = v.bool() },
	})
}

// The least relative error and share of groups that can be asked for, and the range of
// absolute errors.
const (
	leastRelativeError = 1e-4
	leastFraction      = 0.01
	leastError         = 1e-15
	mostError          = 1e30
)

// between reads a number in a range. It sets accuracy and no loss, so that it may be
// rounded.
func (v value) between(least, most float64) float64 {
	r, ok := v.number()
	if !ok {
		return 0
	}
	f, _ := r.Float64()
	if f < least || f > most {
		v.fail("must be from %v to %v", least, most)
	}
	return f
}

// targetOr reads a number in a range, or off.
func (v value) targetOr(least, most float64) {
	if s, ok := scalarText(v.node); ok && s == "off" {
		return
	}
	v.between(least, most)
}

// mechanisms reads a list of mechanisms, each once.
func (v value) mechanisms() (names []string) {
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

// confidence reads a probability.
func (v value) confidence() float64 { return v.between(minConfidence, maxConfidence) }

// Most of what a policy can allow: beyond these a number is a mistake.
const (
	maxConnections     = 10_000
	maxDataConnections = 1000
	maxContribution    = 1_000_000
	maxFailedLogins    = 10_000
	maxFanout          = 1_000_000_000
	maxWork            = 1_000_000_000_000
	maxReplyGrid       = 10 * time.Second
)

func (v value) limits(l *Limits) {
	v.object(fields{
		"statement_timeout":                   func(v value) { l.StatementTimeout = v.duration() },
		"connections":                         func(v value) { l.Connections = int(v.count(maxConnections)) },
		"analyst_connections":                 func(v value) { l.AnalystConnections = int(v.count(maxConnections)) },
		"address_connections":                 func(v value) { l.AddressConnections = int(v.count(maxConnections)) },
		"failed_logins":                       func(v value) { l.FailedLogins = int(v.count(maxFailedLogins)) },
		"idle_session_timeout":                func(v value) { l.IdleSession = v.duration() },
		"idle_in_transaction_session_timeout": func(v value) { l.IdleTransaction = v.duration() },
		"data_connections":                    func(v value) { l.DataConnections = int(v.count(maxDataConnections)) },
		"analyst_data_connections":            func(v value) { l.AnalystDataConnections = int(v.count(maxDataConnections)) },
		"data_queue":                          func(v value) { l.DataQueue = int(v.count(maxConnections)) },
		"analyst_data_queue":                  func(v value) { l.AnalystDataQueue = int(v.count(maxConnections)) },
		"max_public_fanout":                   func(v value) { l.MaxPublicFanout = v.count(maxFanout) },
		"max_work":                            func(v value) { l.MaxWork = v.count(maxWork) },
		"reply_grid":                          func(v value) { l.ReplyGrid = v.grid() },
	})
}

// grid reads a time such as 20ms, or 0.
func (v value) grid() time.Duration {
	s, _ := scalarText(v.node)
	d, err := time.ParseDuration(s)
	if err != nil || d != 0 && d < time.Millisecond || d > maxReplyGrid {
		v.fail("a time from 1ms to %v is needed, such as 20ms, or 0 for no grid", maxReplyGrid)
	}
	return d
}
