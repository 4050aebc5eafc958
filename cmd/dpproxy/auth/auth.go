package auth

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/authquery"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
	"dpproxy/mirror/introspect"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/wire"
)

// An Site is a site with its auth_query.
type Site struct{ *site.Site }

// Of returns a site with its auth_query.
func Of(s *site.Site) Site { return Site{s} }

// Open returns the policy's auth_query, or nil if it has none. It asks the protected
// database for the tables that inherit from protected ones; the query connects when it is asked.
func (s Site) Open(ctx context.Context) (*authquery.Query, error) {
	q := s.Policy.AuthQuery
	if q == nil {
		return nil, nil
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if err := s.checkAuthDescendants(ctx); err != nil {
		return nil, err
	}
	url := q.Connection
	switch q.Connection {
	case config.AuthData:
		url = s.Policy.Data
	case config.AuthMirror:
		url = cmp.Or(s.Policy.MirrorAdmin, s.Policy.Mirror)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection of auth_query: %w", err)
	}
	p, err := site.AuthPassword(s.Policy).Read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	return authquery.Open(ctx, cfg, q.Query)
}

// Check checks the text of auth_query: it is to read one verifier, and nothing that
// is protected.
func (s Site) Check() error {
	fault := func(message string) error { return s.Policy.Annotate([]string{"auth_query", "query"}, message) }
	text := s.Policy.AuthQuery.Query
	o, ok := parser.OutlineOf(text)
	if !ok {
		return fault("one SELECT is needed that only reads")
	}
	if !slices.Equal(o.Params, []int{1}) {
		return fault("the query takes the parameter $1, the name of a role, and no other")
	}
	for _, r := range o.Relations {
		if s.mayBeProtected(r) {
			return fault("the query must not read " + r.Name + ", which is protected")
		}
		passwords := r.Name == "pg_shadow" || r.Name == "pg_authid"
		if passwords && !strings.Contains(strings.ToLower(text), "valuntil") && !strings.Contains(strings.ToLower(text), "rolvaliduntil") {
			return fault("passwords that have expired would log in: " +
				"let the query return valuntil (of pg_shadow) or rolvaliduntil (of pg_authid) as well")
		}
	}
	return nil
}

// checkAuthDescendants refuses an auth_query that names a partition of a protected table, or a
// table that inherits from one: the policy need not name them.
func (s Site) checkAuthDescendants(ctx context.Context) error {
	conn, err := s.ConnectData(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	descendants, err := introspect.Descendants(ctx, conn, s.ProtectedTables())
	if err != nil {
		return fmt.Errorf("reading what inherits from protected tables: %w", err)
	}
	o, _ := parser.OutlineOf(s.Policy.AuthQuery.Query)
	for _, r := range o.Relations {
		if slices.ContainsFunc(descendants, func(n catalog.Name) bool { return refersTo(r, n) }) {
			return s.Policy.Annotate([]string{"auth_query", "query"},
				"the query must not read "+r.Name+", which has rows of a protected table")
		}
	}
	return nil
}

// refersTo reports whether a name in a query could be that of a relation.
func refersTo(r ast.TableRef, n catalog.Name) bool {
	return n.Name == r.Name && (r.Schema == "" || r.Schema == n.Schema)
}

// mayBeProtected reports whether a name could be that of a protected table, or of a view over
// some.
func (s Site) mayBeProtected(r ast.TableRef) bool {
	named := func(n catalog.Name) bool { return refersTo(r, n) }
	for _, t := range s.Policy.Tables.Tables {
		if !t.Public && named(t.Name) {
			return true
		}
	}
	return slices.ContainsFunc(s.ViewNames(), named)
}

// Logins finds the verifiers of analysts: in the policy, or by auth_query.
type Logins struct {
	site  *site.Site
	query *authquery.Query // nil: there is none
	own   map[string]string
	asked []string // analysts whom the query is asked for
	log   *slog.Logger
}

// Logins returns the verifiers of the policy, and those for whom its auth_query is asked; nil: it has none.
func (s Site) Logins(q *authquery.Query, log *slog.Logger) *Logins {
	l := &Logins{site: s.Site, query: q, own: map[string]string{}, log: log}
	for _, a := range s.Policy.Analysts {
		switch {
		case a.Verifier != "":
			l.own[a.Name] = a.Verifier
		case q != nil:
			l.asked = append(l.asked, a.Name)
		}
	}
	return l
}

// Verifier returns that of a user. If any analyst's verifier must be asked for, the database
// is asked whoever the user is, so that neither the time nor a failure tells who is known. It
// is not asked for names that the policy does not have: the claims of people who have
// not logged in do not reach it.
func (l *Logins) Verifier(ctx context.Context, user string) (verifier string, known bool, err error) {
	verifier = l.own[user]
	if len(l.asked) == 0 {
		return verifier, verifier != "", nil
	}
	role := user
	if !slices.Contains(l.asked, user) {
		role = l.standIn(user)
	}
	found, reason, err := l.query.Verifier(ctx, role)
	if err != nil {
		return "", false, err
	}
	if role == user {
		verifier = found
		if reason != "" {
			l.log.Warn("auth_query has no verifier for an analyst", "user", user, "reason", reason)
		}
	}
	return verifier, verifier != "", nil
}

// standIn returns the analyst for whom the query is asked in place of a user, always the same.
func (l *Logins) standIn(user string) string {
	n := binary.BigEndian.Uint64(l.site.Secret.Derive("auth_query for:" + user))
	return l.asked[n%uint64(len(l.asked))]
}

// Verifiers returns the verifiers of all analysts as they are now, and why there is none of
// an analyst for whom the query was asked.
func (l *Logins) Verifiers(ctx context.Context) (verifiers []string, missing map[string]string, err error) {
	missing = map[string]string{}
	for _, a := range l.site.Policy.Analysts {
		if a.Verifier != "" {
			verifiers = append(verifiers, a.Verifier)
		}
	}
	for _, name := range l.asked {
		v, reason, err := l.query.VerifierApart(ctx, name)
		if err != nil {
			return nil, nil, fmt.Errorf("asking auth_query: %w", site.AuthPassword(l.site.Policy).Told(err))
		}
		if reason == "" && wire.CheckVerifier(v) != nil {
			reason = "what the query returns is no SCRAM-SHA-256 verifier"
		}
		if reason != "" {
			missing[name] = reason
			continue
		}
		verifiers = append(verifiers, v)
	}
	return verifiers, missing, nil
}

// annotateForm says where in the policy the query is, if it is wrong.
func (s Site) annotateForm(err error) error {
	if form, ok := errors.AsType[*authquery.FormError](err); ok {
		return s.Policy.Annotate([]string{"auth_query", "query"}, form.Reason)
	}
	return err
}

// Iterations returns the iterations of all verifiers.
func Iterations(verifiers []string) (all []int) {
	for _, v := range verifiers {
		if n := wire.Iterations(v); n > 0 {
			all = append(all, n)
		}
	}
	return all
}

// Try asks the query for every analyst who needs it, and reports whom it has a
// verifier for.
func (s Site) Try(ctx context.Context) (report []string, err error) {
	q, err := s.Open(ctx)
	if err != nil || q == nil {
		return nil, err
	}
	defer q.Close()
	if err := q.Check(ctx); err != nil {
		return nil, s.annotateForm(fmt.Errorf("connecting for auth_query: %w", site.AuthPassword(s.Policy).Told(err)))
	}
	l := s.Logins(q, nil)
	_, missing, err := l.Verifiers(ctx)
	if err != nil {
		return nil, s.annotateForm(err)
	}
	report = []string{fmt.Sprintf("auth_query has verifiers for %d of %d analysts without a password in the policy",
		len(l.asked)-len(missing), len(l.asked))}
	for _, name := range l.asked {
		if reason, ok := missing[name]; ok {
			report = append(report, fmt.Sprintf("%s cannot log in with a password: %s", name, reason))
		}
	}
	return report, nil
}
