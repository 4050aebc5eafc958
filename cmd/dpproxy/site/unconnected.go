package site

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// An unconnected says in one line why a server could not be connected to, and names the remedy.
type unconnected struct {
	text string
	err  error
}

// Error writes the line.
func (u *unconnected) Error() string { return u.text }

// Unwrap returns the error of pgconn.
func (u *unconnected) Unwrap() error { return u.err }

// Told returns the error of a connection with a password in one line, with the remedy; other errors as they are.
func (p Password) Told(err error) error {
	failed, ok := errors.AsType[*pgconn.ConnectError](err)
	if !ok {
		return err
	}
	all := attempts(failed)
	var places, reasons []string
	for _, a := range all {
		if a.place != "" && !slices.Contains(places, a.place) {
			places = append(places, a.place)
		}
		if !slices.Contains(reasons, a.reason) {
			reasons = append(reasons, a.reason)
		}
	}
	text := fmt.Sprintf("user %s, database %s: %s", failed.Config.User, failed.Config.Database, strings.Join(reasons, "; "))
	if places != nil {
		text = strings.Join(places, ", ") + ", " + text
	}
	if hint := p.remedy(all[len(all)-1].err); hint != "" {
		text += ": " + hint
	}
	return &unconnected{text, err}
}

// An attempt is one to reach a server: with TLS or without, at one of its addresses.
type attempt struct {
	place, reason string
	err           error
}

// dialled is how pgconn writes the error of one attempt.
var dialled = regexp.MustCompile(`^(\S+) \([^)]*\): (?:[a-zA-Z ]+ error: )?`)

const noTLS = "server refused TLS connection"

// attempts lists those that a connection was given up after. That a server has no TLS is no reason if it was asked without as well.
func attempts(failed *pgconn.ConnectError) []attempt {
	errs := []error{failed.Unwrap()}
	if several, ok := errs[0].(interface{ Unwrap() []error }); ok {
		errs = several.Unwrap()
	}
	all := make([]attempt, len(errs))
	for i, err := range errs {
		all[i] = attempt{reason: oneReason(err), err: err}
		if m := dialled.FindStringSubmatch(err.Error()); m != nil {
			all[i].place = m[1]
		}
	}
	if plain := slices.DeleteFunc(slices.Clone(all), func(a attempt) bool { return a.reason == noTLS }); len(plain) > 0 {
		return plain
	}
	return all
}

// oneReason writes why one attempt failed, without where.
func oneReason(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Sprintf("%s (SQLSTATE %s)", refused.Message, refused.Code)
	}
	if unknown, ok := errors.AsType[*net.DNSError](err); ok {
		return unknown.Err + ": " + unknown.Name
	}
	if pgconn.Timeout(err) {
		return "no answer within " + ConnectTimeout.String()
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	return strings.Join(strings.Fields(dialled.ReplaceAllString(err.Error(), "")), " ")
}

// remedies of refusals, by SQLSTATE.
var remedies = map[string]string{
	"3D000": "name a database that is there",
	"53300": "it has no session free: raise its max_connections, or the role's limit",
	"57P03": "it starts or stops: try again",
	"42501": "GRANT CONNECT ON DATABASE",
}

// remedy advises after the error of an attempt, "" if the error itself does.
func (p Password) remedy(err error) string {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		const invalidPassword, invalidAuthorization = "28P01", "28000"
		switch {
		case refused.Code == invalidPassword:
			return p.source()
		case refused.Code == invalidAuthorization && strings.Contains(refused.Message, "pg_hba.conf"):
			return "the server's pg_hba.conf has to let the role in from here"
		case refused.Code == invalidAuthorization:
			return "the connection has to name a role that may log in there"
		}
		return remedies[refused.Code]
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, unknown := errors.AsType[*net.DNSError](err)
	switch {
	case unverified:
		return "sslrootcert has to name the file of the authority that signed its certificate, and host a name in it"
	case strings.Contains(err.Error(), noTLS):
		return "set ssl = on there, or say sslmode=disable where nobody listens between"
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return "is the server running, and does it listen there?"
	case unknown, pgconn.Timeout(err), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "are host and port right, and does a firewall let them through?"
	}
	return ""
}
