package sitetest

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/wire"
)

// InProcess serves in the process of a test, where the handler can be one that no policy
// makes: with another ledger, another clock, or a way to watch it.
type InProcess struct {
	Handler wire.Handler
	// Analysts may log in, with [Password].
	Analysts []string
	// Mirror returns the connection string of the mirror for a role.
	Mirror func(role string) string
	// DialMirror connects to the mirror's server; nil: as usual.
	DialMirror pgconn.DialFunc
	// Logger is told how sessions end; nil: nobody is.
	Logger *slog.Logger
}

// Serve serves until the test ends. It returns the address, HOST:PORT.
func (p InProcess) Serve(t testing.TB) (addr string) {
	t.Helper()
	verifier, err := wire.MakeVerifier(Password, 4096)
	if err != nil {
		t.Fatal(err)
	}
	if p.Logger == nil {
		p.Logger = slog.New(slog.DiscardHandler)
	}
	server, err := wire.NewServer(wire.Config{
		Handler: p.Handler,
		Logger:  p.Logger,
		Verifier: func(_ context.Context, user string) (string, bool, error) {
			return verifier, slices.Contains(p.Analysts, user), nil
		},
		Dial: p.session,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(ctx, l); err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() { stop(); <-done })
	return l.Addr().String()
}

// session opens a session of the mirror for a client.
func (p InProcess) session(ctx context.Context, l wire.Login) (*pgconn.PgConn, error) {
	cfg, err := pgconn.ParseConfig(p.Mirror(l.User))
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams = l.Params
	if p.DialMirror != nil {
		cfg.DialFunc = p.DialMirror
	}
	return pgconn.ConnectConfig(ctx, cfg)
}
