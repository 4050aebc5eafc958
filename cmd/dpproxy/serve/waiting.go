package serve

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/cmd/dpproxy/site"
)

// waitBetween is the time between two attempts to connect.
const waitBetween = 500 * time.Millisecond

// await waits until it can connect to the protected database and to the mirror, because a machine that boots starts them together with
// dpproxy. It fails at once if waiting cannot help, for example after a wrong password, and fails with the last error when the time is
// over.
func await(ctx context.Context, s *site.Site, most time.Duration, log *slog.Logger) error {
	limit, tick := time.Now().Add(most), time.NewTicker(waitBetween)
	defer tick.Stop()
	for _, d := range []struct {
		what    string
		connect func(context.Context) (*pgx.Conn, error)
	}{
		{"the protected database", s.ConnectData},
		{"the mirror", s.ConnectMirror},
	} {
		waited := false
		for {
			one, done := context.WithTimeout(ctx, site.ConnectTimeout)
			conn, err := d.connect(one)
			done()
			if err == nil {
				if waited {
					log.Info("waited", "for", d.what)
				}
				if err := conn.Close(ctx); err != nil {
					return err
				}
				break
			}
			if ctx.Err() != nil || !passes(err) || time.Now().After(limit) {
				return err
			}
			if !waited {
				log.Warn("waiting", "for", d.what, "at most", most, "error", err)
			}
			waited = true
			select {
			case <-ctx.Done():
				return err
			case <-tick.C:
			}
		}
	}
	return nil
}

// passes reports whether an error of connecting may disappear by itself: nobody listens, or the server is starting or stopping or has no
// free session.
func passes(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		const starting, full = "57P03", "53300"
		return refused.Code == starting || refused.Code == full
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting
}
