package serve

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror"
)

// A keeper restores, at each log-in, the analyst's role on the mirror to its state after `dpproxy sync`. Every session of an analyst can
// change the password and the settings of its role, and so lock out the others. While a session is changing the role, restoring it can take
// seconds; so the keeper has its own sessions on the mirror, and serves the log-ins of an analyst one at a time.
type keeper struct {
	sessions *pgxpool.Pool
	// follower has a single session, which asks whether the mirror was remade.
	follower *pgxpool.Pool

	mu    sync.Mutex
	turns map[string]chan struct{} // by analyst
}

// close ends the sessions.
func (k *keeper) close() {
	for _, pool := range []*pgxpool.Pool{k.sessions, k.follower} {
		if pool != nil {
			pool.Close()
		}
	}
}

// turn waits until no other log-in of the analyst is being kept; end admits the next.
func (k *keeper) turn(ctx context.Context, user string) (end func(), err error) {
	k.mu.Lock()
	if k.turns == nil {
		k.turns = map[string]chan struct{}{}
	}
	if k.turns[user] == nil {
		k.turns[user] = make(chan struct{}, 1)
	}
	turn := k.turns[user]
	k.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open opens a session of an analyst, and examines the role meanwhile: to begin a session takes longer, and the role is rarely changed. If
// the role had to be restored, open opens another session, since the first may have begun with the changed settings.
//
// The analyst's turn includes the start of the session. Otherwise the log-in of another session could restore the role between the start
// and the examination, and the changed settings of the first would go unnoticed.
func (k *keeper) open(
	ctx context.Context, plan mirror.Plan, user string, log *slog.Logger, dial func(context.Context) (*pgconn.PgConn, error),
) (*pgconn.PgConn, error) {
	i := slices.IndexFunc(plan.Analysts, func(a mirror.Analyst) bool { return a.Name == user })
	if i < 0 {
		return dial(ctx)
	}
	end, err := k.turn(ctx, user)
	if err != nil {
		return nil, err
	}
	first := begin(ctx, dial)
	changed, err := k.keep(ctx, plan.Analysts[i])
	end()
	switch {
	case err != nil:
		first.drop(ctx)
		return nil, err
	case changed:
		first.drop(ctx)
		log.Warn("the role of an analyst on the mirror was changed, and has been put right", "user", user)
		return dial(ctx)
	}
	return first.wait()
}

// keep restores the role of an analyst, and reports whether it was changed.
func (k *keeper) keep(ctx context.Context, a mirror.Analyst) (changed bool, err error) {
	err = k.sessions.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		changed, err = mirror.KeepLogin(ctx, conn.Conn(), a)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // there was no sync since the analyst was added to the policy: the mirror refuses the log-in
		}
		return err
	})
	return changed, err
}

// An opening is a session that is being opened.
type opening struct {
	stop   context.CancelFunc
	ended  chan struct{}
	conn   *pgconn.PgConn
	err    error
	defect any // the value of a panic, or nil
}

// begin starts to open a session. The caller must call wait or drop.
func begin(ctx context.Context, dial func(context.Context) (*pgconn.PgConn, error)) *opening {
	ctx, stop := context.WithCancel(ctx)
	o := &opening{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(o.ended)
		defer func() { o.defect = recover() }()
		o.conn, o.err = dial(ctx)
	}()
	return o
}

// wait returns the session.
func (o *opening) wait() (*pgconn.PgConn, error) {
	defer o.stop()
	<-o.ended
	if o.defect != nil {
		panic(o.defect) //nolint:forbidigo // it is the log-in's that asked for the session, and ends that alone
	}
	return o.conn, o.err
}

// drop ends the session, or the attempt to open it.
func (o *opening) drop(ctx context.Context) {
	o.stop()
	if conn, err := o.wait(); err == nil {
		_ = conn.Close(ctx) // nobody uses it
	}
}

// openKeeper opens sessions of the mirror's superuser, to restore the roles of analysts and to follow dpproxy sync.
func openKeeper(ctx context.Context, s *site.Site) (_ *keeper, err error) {
	k := &keeper{}
	if k.sessions, err = s.Superuser(ctx, keeperSessions); err != nil {
		return nil, err
	}
	if k.follower, err = s.Superuser(ctx, 1); err != nil {
		k.close()
		return nil, err
	}
	return k, site.Unpooled(site.MirrorPassword(s.Policy).Told(k.follower.Ping(ctx)))
}

// keeperSessions is the number of log-ins that are kept at the same time.
const keeperSessions = 4
