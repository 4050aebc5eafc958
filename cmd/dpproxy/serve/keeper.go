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

// A keeper gives an analyst's role on the mirror the state of `dpproxy sync` again, at each
// log-in: whoever has a session can change its password and its settings, and so lock others
// out. That can take seconds while the role is being changed, so the keeper has sessions
// of its own on the mirror, of which one analyst's log-ins have one at a time.
type keeper struct {
	sessions *pgxpool.Pool
	// follower has the one session that looks whether the mirror was made anew.
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

// turn waits until no other log-in of the analyst is kept; end lets the next one go on.
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

// open opens a session of an analyst, whose role is looked at meanwhile. The mirror takes longer to begin a session than to
// show a role, which is mostly as it was. One that is put right needs another session, as the first may have begun with
// what was wrong.
//
// The session begins in the analyst's turn, so that no other log-in puts right what it began with.
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

// keep puts the role of an analyst right, and reports whether it was not.
func (k *keeper) keep(ctx context.Context, a mirror.Analyst) (changed bool, err error) {
	err = k.sessions.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		changed, err = mirror.KeepLogin(ctx, conn.Conn(), a)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // there was no sync since the policy has the analyst: the mirror says so
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
	defect any // of a panic, nil without one
}

// begin begins to open a session. One of wait and drop must follow.
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

// drop ends the session, or the attempt.
func (o *opening) drop(ctx context.Context) {
	o.stop()
	if conn, err := o.wait(); err == nil {
		_ = conn.Close(ctx) // it is of no use to anybody
	}
}

// openKeeper opens sessions of the mirror's superuser, for the roles of analysts and to follow dpproxy sync.
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

// keeperSessions is how many log-ins are kept at a time.
const keeperSessions = 4
