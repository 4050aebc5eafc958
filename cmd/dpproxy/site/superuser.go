package site

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/internal/frugal"
	"dpproxy/proxy/reader"
)

// Superuser returns sessions of the mirror's superuser.
func (s *Site) Superuser(ctx context.Context, sessions int32) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(s.mirrorURL())
	if err != nil {
		return nil, fmt.Errorf("connection to the mirror: %w", err)
	}
	p, err := MirrorPassword(s.Policy).Read()
	if err != nil {
		return nil, err
	}
	if p != "" {
		cfg.ConnConfig.Password = p
	}
	cfg.ConnConfig.ConnectTimeout, cfg.MaxConns = ConnectTimeout, sessions
	cfg.ConnConfig.DialFunc, cfg.PingTimeout = Watched(cfg.ConnConfig.DialFunc), pingTimeout
	cfg.ConnConfig.RuntimeParams["application_name"], cfg.ConnConfig.RuntimeParams["search_path"] = "dpproxy", ""
	cfg.AfterConnect = checkSettings
	return pgxpool.NewWithConfig(ctx, cfg)
}

// ConnectTimeout is how long connecting to a server may take.
const ConnectTimeout = 5 * time.Second

// pingTimeout is how long a session that was idle may take until another one is opened in its place: one from before the machine
// was gone may not be noticed yet, and all of them must fit into the time of a log-in.
const pingTimeout = time.Second

// Watched has dpproxy's own sessions on the mirror end when its machine is gone without a word. Sessions of analysts are probed alone:
// a mirror takes nothing more from a client that sends much behind a slow statement, and is not gone.
func Watched(dial pgconn.DialFunc) pgconn.DialFunc {
	return frugal.Dialing(dial, reader.Gone, frugal.Watch)
}

// mirrorURL is how the mirror's superuser reaches it.
func (s *Site) mirrorURL() string { return cmp.Or(s.Policy.MirrorAdmin, s.Policy.Mirror) }
