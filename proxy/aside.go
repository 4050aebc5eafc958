package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/mirror"
	"dpproxy/parser/ast"
)

// An Aside holds sessions of dpproxy's own on the mirror, for computations that no
// analyst may see: constants of views whose definition is not shown. An analyst can read all that
// runs in their own session, its text and its parameters: from another session, from a function
// that is called in it, from the notices and contexts of errors.
//
// The sessions are of a role of each analyst's own, which may take the analyst's role and nothing
// else: none but that analyst waits for them.
type Aside struct {
	// Login configures the sessions for an analyst.
	login func(analyst string) (*pgxpool.Config, error)

	mu    sync.Mutex
	pools map[string]*pgxpool.Pool
}

// OpenAside returns sessions that are opened when they are needed.
func OpenAside(login func(analyst string) (*pgxpool.Config, error)) *Aside {
	return &Aside{login: login, pools: map[string]*pgxpool.Pool{}}
}

// asideSettings are in force while values are written, so that any session reads the texts alike.
var asideSettings = map[string]string{
	"application_name": "dpproxy", "client_encoding": "UTF8", "DateStyle": "ISO, MDY", "IntervalStyle": "iso_8601", "TimeZone": "UTC",
	"search_path": "", "extra_float_digits": "1", "bytea_output": "hex", "standard_conforming_strings": "on",
}

// Close ends all sessions.
func (s *Aside) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pool := range s.pools {
		pool.Close()
	}
}

// pool returns the sessions for an analyst.
func (s *Aside) pool(ctx context.Context, analyst string) (*pgxpool.Pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if pool := s.pools[analyst]; pool != nil {
		return pool, nil
	}
	cfg, err := s.login(analyst)
	if err != nil {
		return nil, err
	}
	maps.Copy(cfg.ConnConfig.RuntimeParams, asideSettings)
	cfg.MaxConns, cfg.MaxConnIdleTime = mirror.AsideSessions, asideIdle
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg)
	if err == nil {
		s.pools[analyst] = pool
	}
	return pool, err
}

// asideIdle is how long a session waits for the next statement.
const asideIdle = time.Minute

// carried are the settings on which the value of an expression depends.
var carried = []string{
	"TimeZone", "DateStyle", "IntervalStyle", "lc_monetary", "lc_numeric", "lc_time", "extra_float_digits", "bytea_output",
	"xmloption", "xmlbinary", "default_text_search_config", "timezone_abbreviations", "array_nulls",
}

// carriedSQL asks a session for them.
var carriedSQL = func() string {
	var pairs []string
	for _, name := range carried {
		pairs = append(pairs, ast.Quote(name)+", pg_catalog.current_setting("+ast.Quote(name)+")")
	}
	return "CAST(pg_catalog.json_build_object(" + strings.Join(pairs, ", ") + ") AS pg_catalog.text)"
}()

// runAs runs f in a transaction with the rights of an analyst, and with the settings of their
// session as [carriedSQL] tells them; then, unless that is nil, after with neither.
func (s *Aside) runAs(
	ctx context.Context, analyst string, settings []byte, limit time.Duration, f, after func(*pgconn.PgConn) error,
) error {
	if s == nil {
		return errMirror
	}
	pool, err := s.pool(ctx, analyst)
	if err != nil {
		return err
	}
	session, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer session.Release()
	values := map[string]string{}
	if err := json.Unmarshal(settings, &values); err != nil {
		return errMirror
	}
	values["search_path"], values["statement_timeout"] = "", fmt.Sprint(limit.Milliseconds())
	err = pgx.BeginTxFunc(ctx, session, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for name, value := range values {
			if _, err := tx.Exec(ctx, "SELECT pg_catalog.set_config($1, $2, true)", name, value); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "SET LOCAL ROLE "+ast.QuoteIdent(analyst)); err != nil {
			return err
		}
		return f(tx.Conn().PgConn())
	})
	if err != nil || after == nil {
		return err
	}
	return after(session.Conn().PgConn())
}
