package main

import (
	"context"
	"crypto/tls"
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
	"dpproxy/config"
	"dpproxy/internal/frugal"
	"dpproxy/mirror"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/proxy"
	"dpproxy/proxy/reader"
	"dpproxy/proxy/settings"
	"dpproxy/proxy/survey"
	"dpproxy/wire"
)

// runCommand serves analysts.
type runCommand struct {
	Policy string        `arg:"" help:"Policy file." type:"path"`
	Sync   bool          `help:"Refresh the mirror first."`
	Wait   time.Duration `help:"How long to wait for the two databases to be there; 0 ends at once." default:"1m"`
}

// Run implements the command.
func (c *runCommand) Run(ctx context.Context, log *slog.Logger) error {
	if err := forbidDumps(); err != nil {
		return err
	}
	s, err := openHost(c.Policy)
	if err != nil {
		return err
	}
	s.wait = c.Wait
	if c.Sync {
		if err := await(ctx, s.site, c.Wait, log); err != nil {
			return err
		}
		if err := s.sync(ctx, func(change string) { log.Info("mirror", "change", change) }); err != nil {
			return err
		}
	}
	return s.serve(ctx, log, func(addr string) { log.Info("serving", "address", addr) })
}

// A host is a site that serves.
type host struct {
	*site

	books *books
	// hangUps are those since before the policy was read.
	hangUps chan os.Signal
	wait    time.Duration // for the databases to be there, at a start
	desk    *survey.Desk  // nil without local tables
	aside   *proxy.Aside  // these two are opened with a generation
	keeper  *keeper
	// authorities sign certificates of clients; nil: none do.
	authorities *x509.CertPool
}

// openHost reads the policy and the secret. A SIGHUP from now on waits until the host serves, and has it read the policy again.
func openHost(path string) (*host, error) {
	hangUps := make(chan os.Signal, 1)
	signal.Notify(hangUps, syscall.SIGHUP)
	s, err := openSite(path)
	if err != nil {
		return nil, err
	}
	h := newHost(s)
	h.hangUps = hangUps
	return h, nil
}

func newHost(s *site) *host {
	return &host{site: s, books: &books{policy: s.policy, secret: s.secret}}
}

// serve runs until the context ends; ready is told the address.
func (s *host) serve(ctx context.Context, log *slog.Logger, ready func(addr string)) (err error) {
	v := &service{log: log, rights: lookout{log: log}, flights: flights{wanted: make(chan *flight, 1)}}
	end, err := openWitnessed(ctx, v, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer func() { s.desk.Close() }()
	g, err := s.open(ctx, nil)
	if err != nil {
		return err
	}
	v.now.Store(g)
	defer func() { err = errors.Join(err, v.close()) }()
	if s.desk, err = (localSite{s.site}).openDesk(ctx, v.ledger, v.marks, g.ruling, log); err != nil {
		return err
	}
	if err := g.openProxy(ctx, v.charging, &generation{}, log); err != nil {
		return err
	}
	if err := v.rights.connect(ctx, s.site); err != nil {
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
	if err := v.rule(ctx, g); err != nil { // nothing fails behind it: a policy that does not serve fixes no budget
		return err
	}
	v.logChanges(g.outlook, nil)
	defer signal.Stop(s.hangUps)
	return v.serve(ctx, listener, s.hangUps, ready)
}

func (s *host) defaults() proxy.Defaults {
	d := s.policy.Defaults
	tables := map[catalog.Name]proxy.Allowance{}
	for n, a := range s.policy.Allowances {
		tables[n] = proxy.Allowance(a)
	}
	defaults := map[catalog.Name]proxy.TableDefaults{}
	for n, t := range s.policy.TableDefaults {
		defaults[n] = proxy.TableDefaults(t)
	}
	return proxy.Defaults{
		EpsilonPico: d.EpsilonPico, Mechanism: d.Mechanism, Confidence: d.Confidence, DeltaAtto: d.DeltaAtto,
		Timeout: s.policy.Limits.StatementTimeout, MaxEpsilonPico: d.MaxEpsilonPico, Refine: d.Refine, Recycling: s.policy.Recycling,
		Target: planner.Target{Relative: d.RelativeError, Fraction: d.TargetFraction}, Tables: tables, TableDefaults: defaults,
	}
}

func (s *host) openData(ctx context.Context, cat *policy.Model) (*reader.Data, error) {
	cfg, err := pgxpool.ParseConfig(s.policy.Data)
	if err != nil {
		return nil, fmt.Errorf("connection to the protected database: %w", err)
	}
	p, err := dataPassword(s.policy).read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	cfg.MaxConns = int32(s.policy.Limits.DataConnections)
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	// dpproxy ends reads itself, at a point of the reply grid that is not that much later. Without it the server does.
	late := 3*s.policy.Limits.StatementTimeout + s.policy.Limits.ReplyGrid
	cfg.ConnConfig.RuntimeParams["statement_timeout"] = fmt.Sprint(late.Milliseconds())
	data, err := reader.Open(ctx, cfg, cat, s.secret)
	if err != nil {
		return nil, err
	}
	if err := data.Ping(ctx); err != nil {
		data.Close()
		return nil, fmt.Errorf("connecting to the protected database: %w", unpooled(dataPassword(s.policy).told(err)))
	}
	return data, nil
}

// openAside returns sessions on the mirror for work that analysts may not see.
func (s *host) openAside() *proxy.Aside {
	return proxy.OpenAside(func(analyst string) (*pgxpool.Config, error) {
		cfg, err := pgxpool.ParseConfig(s.policy.Mirror)
		if err != nil {
			return nil, fmt.Errorf("connection to the mirror: %w", err)
		}
		cfg.ConnConfig.User, cfg.ConnConfig.Password = mirror.AsideRole(analyst), s.secret.asidePassword(analyst)
		cfg.ConnConfig.ConnectTimeout, cfg.ConnConfig.DialFunc = connectTimeout, watched(cfg.ConnConfig.DialFunc)
		return cfg, nil
	})
}

// openKeeper opens sessions of the mirror's superuser, for the roles of analysts and to follow dpproxy sync.
func (s *site) openKeeper(ctx context.Context) (_ *keeper, err error) {
	k := &keeper{}
	if k.sessions, err = s.superuser(ctx, keeperSessions); err != nil {
		return nil, err
	}
	if k.follower, err = s.superuser(ctx, 1); err != nil {
		k.close()
		return nil, err
	}
	return k, unpooled(mirrorPassword(s.policy).told(k.follower.Ping(ctx)))
}

// superuser returns sessions of the mirror's.
func (s *site) superuser(ctx context.Context, sessions int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(s.mirrorURL())
	if err != nil {
		return nil, fmt.Errorf("connection to the mirror: %w", err)
	}
	p, err := mirrorPassword(s.policy).read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	cfg.ConnConfig.ConnectTimeout, cfg.MaxConns = connectTimeout, sessions
	cfg.ConnConfig.DialFunc, cfg.PingTimeout = watched(cfg.ConnConfig.DialFunc), pingTimeout
	cfg.ConnConfig.RuntimeParams["application_name"], cfg.ConnConfig.RuntimeParams["search_path"] = "dpproxy", ""
	cfg.AfterConnect = checkSettings
	return pgxpool.NewWithConfig(ctx, cfg)
}

// keeperSessions is how many log-ins are kept at a time.
const keeperSessions = 4

const connectTimeout = 5 * time.Second

// pingTimeout is how long a session that was idle may take until another one is opened in its place: one from before the machine
// was gone may not be noticed yet, and all of them must fit into the time of a log-in.
const pingTimeout = time.Second

func (s *host) analysts() map[string]proxy.Analyst {
	out := map[string]proxy.Analyst{}
	for _, a := range s.policy.Analysts {
		granted := map[catalog.Name]bool{}
		for _, t := range a.Tables {
			granted[t] = true
		}
		out[a.Name] = proxy.Analyst{
			Tables: granted, Budget: a.Budget != nil, Allowance: proxy.Allowance(a.Allowance),
			ErrorColumns: a.Settings["dp.columns"] == "errors", Pooled: a.Pooled,
		}
	}
	return out
}

// viewNames lists the views over protected tables.
func viewNames(policy *config.Policy) []catalog.Name {
	var names []catalog.Name
	for _, v := range policy.Views {
		names = append(names, v.Name)
	}
	return names
}

// mirrored returns a function that reads the OIDs of relations on the mirror.
func (s *host) mirrored(names []catalog.Name) func(ctx context.Context) (map[catalog.Name]uint32, error) {
	return func(ctx context.Context) (map[catalog.Name]uint32, error) {
		conn, err := s.connectMirror(ctx)
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
			if oid != nil { // a table that the mirror lacks is refused
				oids[n] = *oid
			}
		}
		return oids, nil
	}
}

// wireConfig says how analysts are served. It reads the certificates, and asks auth_query
// for every analyst who needs it.
func (s *host) wireConfig(ctx context.Context, v *service, auth *authquery.Query) (wire.Config, error) {
	log := v.log
	logins := authSite{s.site}.logins(auth, log)
	verifiers, missing, err := logins.verifiers(ctx)
	if err != nil {
		return wire.Config{}, err
	}
	for name, reason := range missing {
		log.Warn("an analyst cannot log in with a password", "user", name, "reason", reason)
	}
	certificates := map[string][]string{}
	for _, a := range s.policy.Analysts {
		certificates[a.Name] = a.Certificates
	}
	limits := s.policy.Limits
	cfg := wire.Config{
		Handler:  v.front,
		Logger:   log,
		Verifier: logins.verifier,
		Certificate: func(user string, shown *x509.Certificate) bool {
			return slices.Contains(certificates[user], shown.Subject.CommonName)
		},
		Dial: func(ctx context.Context, login wire.Login) (*pgconn.PgConn, error) {
			if err := settings.CheckLogin(login.Params); err != nil {
				return nil, err
			}
			return doorkeeper{v}.admitted(ctx, func() (*pgconn.PgConn, error) {
				return s.keeper.open(ctx, s.mirrorPlan(), login.User, log, func(ctx context.Context) (*pgconn.PgConn, error) {
					return s.dialMirror(ctx, login)
				})
			})
		},
		MockKey:    s.secret.derive("mock log-in"),
		Iterations: iterations(verifiers),
		Limits: wire.Limits{
			Connections: limits.Connections, UserConnections: limits.AnalystConnections, AddressConnections: limits.AddressConnections,
			FailedLogins: limits.FailedLogins, IdleTime: limits.IdleSession, IdleTransaction: limits.IdleTransaction,
		},
	}
	if s.policy.TLSCert != "" {
		cfg.RequireTLS = true
		if cfg.TLS, err = tlsConfig(s.policy); err == nil {
			s.authorities = cfg.TLS.ClientCAs
		}
	}
	return cfg, err
}

// tlsConfig reads the certificate of the server, and the authorities of its clients.
func tlsConfig(p *config.Policy) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(p.TLSCert, p.TLSKey)
	if err != nil {
		return nil, fmt.Errorf("tls.cert %s, tls.key %s: %w", p.TLSCert, p.TLSKey, err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if p.ClientCA == "" {
		return cfg, nil
	}
	text, err := os.ReadFile(p.ClientCA)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca: %w", err)
	}
	cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.VerifyClientCertIfGiven
	if !cfg.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("tls.client_ca %s: there is no certificate in it", p.ClientCA)
	}
	return cfg, nil
}

// dialMirror opens an analyst's own session on the mirror.
func (s *host) dialMirror(ctx context.Context, login wire.Login) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig(s.policy.Mirror)
	if err != nil {
		return nil, err
	}
	cfg.User, cfg.Password = login.User, s.secret.mirrorPassword(login.User)
	cfg.RuntimeParams = s.defaults().Shown()
	for _, a := range s.policy.Analysts {
		if a.Name == login.User { // the role's own come after these
			maps.DeleteFunc(cfg.RuntimeParams, func(name, _ string) bool { return a.Settings[name] != "" })
		}
	}
	maps.Copy(cfg.RuntimeParams, login.Params)
	cfg.DialFunc = frugal.Dialing(cfg.DialFunc, reader.Gone, frugal.Probe)
	return pgconn.ConnectConfig(ctx, cfg)
}

// watched has dpproxy's own sessions on the mirror end when its machine is gone without a word. Sessions of analysts are probed alone:
// a mirror takes nothing more from a client that sends much behind a slow statement, and is not gone.
func watched(dial pgconn.DialFunc) pgconn.DialFunc {
	return frugal.Dialing(dial, reader.Gone, frugal.Watch)
}
