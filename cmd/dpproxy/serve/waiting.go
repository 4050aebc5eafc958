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

// waitBetween is how long a start waits between two looks at a database that is not there.
const waitBetween = 500 * time.Millisecond

// await waits until the protected database and the mirror can be connected to: a machine that starts brings them up beside
// dpproxy. It ends at once for what waiting does not mend, such as a wrong password, and after so long with the last error.
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

// passes reports whether an error of connecting is one that can pass by itself: nobody is there yet, or a server that starts,
// stops or has no session free.
func passes(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		const starting, full = "57P03", "53300"
		return refused.Code == starting || refused.Code == full
	}
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	return connecting
}
