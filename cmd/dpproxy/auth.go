package main

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
	"dpproxy/config"
	"dpproxy/mirror/introspect"
	"dpproxy/parser"
	"dpproxy/parser/ast"
	"dpproxy/wire"
)

// An authSite is a site with its auth_query.
type authSite struct{ *site }

// authOf returns a site with its auth_query.
func authOf(s *site) authSite { return authSite{s} }

// openAuthQuery returns the policy's auth_query, or nil if it has none. It asks the protected
// database for the tables that inherit from protected ones; the query connects when it is asked.
func (s authSite) openAuthQuery(ctx context.Context) (*authquery.Query, error) {
	q := s.policy.AuthQuery
	if q == nil {
		return nil, nil
	}
	if err := s.checkAuthQuery(); err != nil {
		return nil, err
	}
	if err := s.checkAuthDescendants(ctx); err != nil {
		return nil, err
	}
	url := q.Connection
	switch q.Connection {
	case config.AuthData:
		url = s.policy.Data
	case config.AuthMirror:
		url = cmp.Or(s.policy.MirrorAdmin, s.policy.Mirror)
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("connection of auth_query: %w", err)
	}
	p, err := authPassword(s.policy).read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	return authquery.Open(ctx, cfg, q.Query)
}

// checkAuthQuery checks the text of auth_query: it is to read one verifier, and nothing that
// is protected.
func (s authSite) checkAuthQuery() error {
	fault := func(message string) error { return s.policy.Annotate([]string{"auth_query", "query"}, message) }
	text := s.policy.AuthQuery.Query
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
func (s authSite) checkAuthDescendants(ctx context.Context) error {
	conn, err := s.connectData(ctx)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	descendants, err := introspect.Descendants(ctx, conn, s.protectedTables())
	if err != nil {
		return fmt.Errorf("reading what inherits from protected tables: %w", err)
	}
	o, _ := parser.OutlineOf(s.policy.AuthQuery.Query)
	for _, r := range o.Relations {
		if slices.ContainsFunc(descendants, func(n catalog.Name) bool { return refersTo(r, n) }) {
			return s.policy.Annotate([]string{"auth_query", "query"},
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
func (s authSite) mayBeProtected(r ast.TableRef) bool {
	named := func(n catalog.Name) bool { return refersTo(r, n) }
	for _, t := range s.policy.Tables.Tables {
		if !t.Public && named(t.Name) {
			return true
		}
	}
	return slices.ContainsFunc(s.viewNames(), named)
}

// logins finds the verifiers of analysts: in the policy, or by auth_query.
type logins struct {
	site  *site
	query *authquery.Query // nil: there is none
	own   map[string]string
	asked []string // analysts whom the query is asked for
	log   *slog.Logger
}

func (s authSite) logins(q *authquery.Query, log *slog.Logger) *logins {
	l := &logins{site: s.site, query: q, own: map[string]string{}, log: log}
	for _, a := range s.policy.Analysts {
		switch {
		case a.Verifier != "":
			l.own[a.Name] = a.Verifier
		case q != nil:
			l.asked = append(l.asked, a.Name)
		}
	}
	return l
}

// verifier returns that of a user. If any analyst's verifier must be asked for, the database
// is asked whoever the user is, so that neither the time nor a failure tells who is known. It
// is not asked for names that the policy does not have: the claims of people who have
// not logged in do not reach it.
func (l *logins) verifier(ctx context.Context, user string) (verifier string, known bool, err error) {
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
func (l *logins) standIn(user string) string {
	n := binary.BigEndian.Uint64(l.site.secret.derive("auth_query for:" + user))
	return l.asked[n%uint64(len(l.asked))]
}

// verifiers returns the verifiers of all analysts as they are now, and why there is none of
// an analyst for whom the query was asked.
func (l *logins) verifiers(ctx context.Context) (verifiers []string, missing map[string]string, err error) {
	missing = map[string]string{}
	for _, a := range l.site.policy.Analysts {
		if a.Verifier != "" {
			verifiers = append(verifiers, a.Verifier)
		}
	}
	for _, name := range l.asked {
		v, reason, err := l.query.VerifierApart(ctx, name)
		if err != nil {
			return nil, nil, fmt.Errorf("asking auth_query: %w", authPassword(l.site.policy).told(err))
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
func (s authSite) annotateForm(err error) error {
	if form, ok := errors.AsType[*authquery.FormError](err); ok {
		return s.policy.Annotate([]string{"auth_query", "query"}, form.Reason)
	}
	return err
}

// iterations returns the iterations of all verifiers.
func iterations(verifiers []string) (all []int) {
	for _, v := range verifiers {
		if n := wire.Iterations(v); n > 0 {
			all = append(all, n)
		}
	}
	return all
}

// tryAuthQuery asks the query for every analyst who needs it, and reports whom it has a
// verifier for.
func (s authSite) tryAuthQuery(ctx context.Context) (report []string, err error) {
	q, err := s.openAuthQuery(ctx)
	if err != nil || q == nil {
		return nil, err
	}
	defer q.Close()
	if err := q.Check(ctx); err != nil {
		return nil, s.annotateForm(fmt.Errorf("connecting for auth_query: %w", authPassword(s.policy).told(err)))
	}
	l := s.logins(q, nil)
	_, missing, err := l.verifiers(ctx)
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
