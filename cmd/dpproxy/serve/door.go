package serve

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
	// recorded names the mirror that was last looked at since; empty as long as none was.
	recorded string
}

// A doorkeeper opens and shuts the door of a service.
type doorkeeper struct{ *service }

// heed shuts the door if an error says that the mirror shows more than the policy permits. It is called in the turn of the look that
// ended in the error.
func (v doorkeeper) heed(err error) {
	if isUnsafe(err) {
		v.shut(err)
	}
}

// shut ends all sessions, and lets none begin.
func (v doorkeeper) shut(reason error) {
	g, before, now := v.now.Load(), v.door.Load(), &closedDoor{reason: reason}
	if before != nil {
		now.recorded = before.recorded
	}
	if v.door.Store(now); before == nil || before.reason.Error() != reason.Error() {
		v.log.Error("nobody is served: the mirror shows more than the policy permits", "reason", reason, "to do", "dpproxy sync")
	}
	analysts := g.Policy.Analysts
	if v.wanted != nil {
		analysts = append(slices.Clip(analysts), v.wanted.Policy.Analysts...)
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

// another reports whether the mirror is another than the one that was last looked at since the door is shut, and notes which it is.
// It is noted before the look: one that is made during the look is looked at again. The caller has the turn.
func (v doorkeeper) another(ctx context.Context) bool {
	shut := v.door.Load()
	recorded, err := v.now.Load().recordedAs(ctx)
	if err != nil || recorded == shut.recorded {
		return false
	}
	v.door.Store(&closedDoor{shut.reason, recorded})
	return true
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
		case recorded == g.outlook.Recorded && v.door.Load() == nil:
			return nil
		case tries == 2 || recorded == g.outlook.Recorded:
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
