package main

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/mirror"
	"dpproxy/pgerr"
)

// The door is between analysts and the mirror. A session on the mirror sees all that the mirror shows, in cursors, functions and
// views of its own too, so no session goes on and none begins while that is more than the policy permits.

// closedDoor says why nobody is served.
type closedDoor struct {
	reason error
	// recorded names the mirror that is to blame.
	recorded string
}

// A doorkeeper opens and shuts the door of a service.
type doorkeeper struct{ *service }

// shut ends all sessions, and lets none begin.
func (v doorkeeper) shut(ctx context.Context, reason error) {
	g := v.now.Load()
	recorded, err := g.recordedAs(ctx)
	if err != nil {
		recorded = "" // it is looked at again
	}
	if before := v.door.Swap(&closedDoor{reason, recorded}); before == nil || before.reason.Error() != reason.Error() {
		v.log.Error("nobody is served: the mirror shows more than the policy permits", "reason", reason, "to do", "dpproxy sync")
	}
	analysts := g.policy.Analysts
	if v.wanted != nil {
		analysts = append(slices.Clip(analysts), v.wanted.policy.Analysts...)
	}
	for _, a := range analysts {
		v.server.Disconnect(a.Name)
	}
}

// open serves again, after a proof.
func (v doorkeeper) open() {
	if v.door.Swap(nil) != nil {
		v.log.Info("analysts are served again: the mirror shows nothing that the policy does not permit")
	}
}

// isUnsafe reports whether an error is that of a mirror that shows too much.
func isUnsafe(err error) bool {
	_, unsafe := errors.AsType[*mirror.UnsafeError](err)
	return unsafe
}

// recordedAs names the record of the mirror. It waits for a sync that is changing it.
func (g *generation) recordedAs(ctx context.Context) (name string, err error) {
	err = g.keeper.sessions.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		name, err = mirror.RecordedAs(ctx, conn.Conn())
		return err
	})
	return name, err
}

// admitted begins a session of an analyst, if the mirror is the one that the policy was held against. The session begins first: one
// that began before a sync which shows more is ended by that sync, and one that began later waits here for it and sees its record.
func (v doorkeeper) admitted(ctx context.Context, begin func() (*pgconn.PgConn, error)) (*pgconn.PgConn, error) {
	conn, err := begin()
	if err != nil {
		return nil, err
	}
	if err := v.admit(ctx); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// admit has a mirror that is another taken over before it refuses.
func (v doorkeeper) admit(ctx context.Context) error {
	for tries := 0; ; tries++ {
		g := v.now.Load()
		recorded, err := g.recordedAs(ctx)
		switch {
		case err != nil:
			return err
		case recorded == g.outlook.recorded && v.door.Load() == nil:
			return nil
		case tries == 2 || recorded == g.outlook.recorded:
			return pgerr.New(pgerr.SchemaChanged, "the mirror was made for another policy, or from other relations than there are by now").
				WithHint("Nobody can log in until the administrator has run dpproxy check, and then dpproxy sync.")
		}
		joined := v.flights.join()
		select {
		case <-joined.done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
