package serve

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/authquery"
	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/auth"
	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/internal/frugal"
	"dpproxy/mirror"
	"dpproxy/planner"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
	"dpproxy/proxy/settings"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// A Host is a site that serves.
type Host struct {
	*site.Site

	books *ledger.Books
	// hangUps has the signals received since before the policy was read.
	hangUps chan os.Signal
	wait    time.Duration // for the databases at a start
	desk    *survey.Desk  // nil without local tables
	aside   *proxy.Aside  // like keeper, opened with a generation
	keeper  *keeper
	// authorities sign the certificates of clients; nil if there are none.
	authorities *x509.CertPool
}

// Open reads the policy and the secret. A SIGHUP after this is kept until the host serves, which then reloads the policy.
func Open(path string) (*Host, error) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	s, err := site.Open(path)
	if err != nil {
		return nil, err
	}
	h := newHost(s)
	h.hangUps = hangUps
	return h, nil
}

func newHost(s *site.Site) *Host {
	return &Host{Site: s, books: &ledger.Books{Policy: s.Policy, Secret: s.Secret}}
}

// Serve runs until the context ends. It calls ready with the address.
func (s *Host) Serve(ctx context.Context, log *slog.Logger, ready func(addr string)) (err error) {
	v := &service{log: log, rights: lookout{log: log}, flights: flights{wanted: make(chan *flight, 1)}}
	if err := v.openLedger(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.ledger.End(ctx)) }()
	defer func() { s.desk.Close() }()
	g, err := s.open(ctx, nil)
	if err != nil {
		return err
	}
	v.now.Store(g)
	defer func() { err = errors.Join(err, v.close()) }()
	if s.desk, err = local.Of(s.Site).OpenDesk(ctx, v.ledger, g.ruling, log); err != nil {
		return err
	}
	if err := g.openProxy(ctx, v.ledger, &generation{}, log); err != nil {
		return err
	}
	if err := v.rights.connect(ctx, s.Site); err != nil {
		return err
	}
	v.front = proxy.NewFront(g.proxy, v.catchUp)
	cfg, err := s.wireConfig(ctx, v, g.auth)
	if err != nil {
		return err
	}
	if v.server, err = wire.NewServer(cfg); err != nil {
		return err
	}
	listener, hangUp, err := v.listen(ctx)
	if err != nil {
		return err
	}
	defer hangUp()
	if err := v.rule(ctx, g); err != nil { // the last step that can fail: a policy that does not serve fixes no budget
		return err
	}
	v.logChanges(g.outlook, nil)
	defer signal.Stop(s.hangUps)
	return v.serve(ctx, listener, s.hangUps, ready)
}

func (s *Host) defaults() proxy.Defaults {
	d := s.Policy.Defaults
	tables := map[catalog.Name]proxy.Allowance{}
	for n, a := range s.Policy.Allowances {
		tables[n] = proxy.Allowance(a)
	}
	defaults := map[catalog.Name]proxy.TableDefaults{}
	for n, t := range s.Policy.TableDefaults {
		defaults[n] = proxy.TableDefaults(t)
	}
	return proxy.Defaults{
		EpsilonPico: d.EpsilonPico, Mechanism: d.Mechanism, Confidence: d.Confidence, DeltaAtto: d.DeltaAtto,
		Timeout: s.Policy.Limits.StatementTimeout, MaxEpsilonPico: d.MaxEpsilonPico, Refine: d.Refine, Recycling: s.Policy.Recycling,
		Target: planner.Target{Relative: d.RelativeError, Fraction: d.TargetFraction}, Tables: tables, TableDefaults: defaults,
		MinimumPeople: s.Policy.MinimumPeople, Judgment: s.Policy.MinimumConfidence,
	}
}

// openAside returns sessions on the mirror for work that analysts must not see.
func (s *Host) openAside() *proxy.Aside {
	return proxy.OpenAside(func(analyst string) (*pgxpool.Config, error) {
		cfg, err := pgxpool.ParseConfig(s.Policy.Mirror)
		if err != nil {
			return nil, fmt.Errorf("connection to the mirror: %w", err)
		}
		cfg.ConnConfig.User, cfg.ConnConfig.Password = mirror.AsideRole(analyst), s.Secret.AsidePassword(analyst)
		cfg.ConnConfig.ConnectTimeout, cfg.ConnConfig.DialFunc = site.ConnectTimeout, site.Watched(cfg.ConnConfig.DialFunc)
		return cfg, nil
	})
}

func (s *Host) analysts() map[string]proxy.Analyst {
	out := map[string]proxy.Analyst{}
	for _, a := range s.Policy.Analysts {
		granted := map[catalog.Name]bool{}
		for _, t := range a.Tables {
			granted[t] = true
		}
		out[a.Name] = proxy.Analyst{
			Tables: granted, Budget: a.Budget != nil, Allowance: proxy.Allowance(a.Allowance),
			Widens: a.Publishes || settings.Widens(a.Settings["dp.columns"]), Pooled: a.Pooled,
		}
	}
	return out
}

// mirrored returns a function that reads the OIDs of relations on the mirror.
func (s *Host) mirrored(names []catalog.Name) func(ctx context.Context) (map[catalog.Name]uint32, error) {
	return func(ctx context.Context) (map[catalog.Name]uint32, error) {
		conn, err := s.ConnectMirror(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close(ctx)
		oids := map[catalog.Name]uint32{}
		for _, n := range names {
			var oid *uint32
			if err := conn.QueryRow(ctx, "SELECT CAST(pg_catalog.to_regclass($1) AS pg_catalog.oid)",
				pgx.Identifier{n.Schema, n.Name}.Sanitize()).Scan(&oid); err != nil {
				return nil, err
			}
			if oid != nil { // statements about a table that the mirror lacks are refused
				oids[n] = *oid
			}
		}
		return oids, nil
	}
}

// wireConfig returns the configuration of the server. It reads the certificates, and asks auth_query for the verifier of every analyst
// who logs in by it.
func (s *Host) wireConfig(ctx context.Context, v *service, query *authquery.Query) (wire.Config, error) {
	log := v.log
	logins := auth.Of(s.Site).Logins(query, log)
	verifiers, missing, err := logins.Verifiers(ctx)
	if err != nil {
		return wire.Config{}, err
	}
	for name, reason := range missing {
		log.Warn("an analyst cannot log in with a password", "user", name, "reason", reason)
	}
	certificates := map[string][]string{}
	for _, a := range s.Policy.Analysts {
		certificates[a.Name] = a.Certificates
	}
	limits := s.Policy.Limits
	cfg := wire.Config{
		Handler:  v.front,
		Logger:   log,
		Verifier: logins.Verifier,
		Certificate: func(user string, shown *x509.Certificate) bool {
			return slices.Contains(certificates[user], shown.Subject.CommonName)
		},
		Dial: func(ctx context.Context, login wire.Login) (*pgconn.PgConn, error) {
			if err := settings.CheckLogin(login.Params); err != nil {
				return nil, err
			}
			return doorkeeper{v}.admitted(ctx, func() (*pgconn.PgConn, error) {
				return s.keeper.open(ctx, s.MirrorPlan(), login.User, log, func(ctx context.Context) (*pgconn.PgConn, error) {
					return s.dialMirror(ctx, login)
				})
			})
		},
		MockKey:    s.Secret.Derive("mock log-in"),
		Iterations: auth.Iterations(verifiers),
		Limits: wire.Limits{
			Connections: limits.Connections, UserConnections: limits.AnalystConnections, AddressConnections: limits.AddressConnections,
			FailedLogins: limits.FailedLogins, IdleTime: limits.IdleSession, IdleTransaction: limits.IdleTransaction,
		},
	}
	if s.Policy.TLSCert != "" {
		cfg.RequireTLS = true
		if cfg.TLS, err = site.ServerTLS(s.Policy); err == nil {
			s.authorities = cfg.TLS.ClientCAs
		}
	}
	return cfg, err
}

// dialMirror opens an analyst's own session on the mirror.
func (s *Host) dialMirror(ctx context.Context, login wire.Login) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig(s.Policy.Mirror)
	if err != nil {
		return nil, err
	}
	cfg.User, cfg.Password = login.User, s.Secret.MirrorPassword(login.User)
	cfg.RuntimeParams = s.defaults().Shown()
	for _, a := range s.Policy.Analysts {
		if a.Name == login.User { // parameters of a session would override the settings of its role
			maps.DeleteFunc(cfg.RuntimeParams, func(name, _ string) bool { return a.Settings[name] != "" })
		}
	}
	maps.Copy(cfg.RuntimeParams, login.Params)
	cfg.DialFunc = frugal.Dialing(cfg.DialFunc, reader.Gone, frugal.Probe)
	return pgconn.ConnectConfig(ctx, cfg)
}
