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

// The door is between analysts and the mirror. A session sees all that the mirror shows, also through its own cursors, functions and views.
// So while the mirror shows more than the policy permits, no session continues and none begins.

// closedDoor says why nobody is served.
type closedDoor struct {
	reason error
	// recorded is the name of the mirror that was last examined since the door was closed; "" if none was.
	recorded string
}

// A doorkeeper opens and closes the door of a service.
type doorkeeper struct{ *service }

// heed shuts the door if an error says that the mirror shows more than the policy permits. The caller still has the turn in which the
// mirror was examined.
func (v doorkeeper) heed(err error) {
	if isUnsafe(err) {
		v.shut(err)
	}
}

// shut ends all sessions, and prevents new ones.
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

// open serves again. The caller has proved that the mirror shows nothing that the policy does not permit.
func (v doorkeeper) open() {
	if v.door.Swap(nil) != nil {
		v.log.Info("analysts are served again: the mirror shows nothing that the policy does not permit")
	}
}

// another reports whether the mirror is another than the mirror last examined since the door was closed, and records its name. It records
// the name before the examination, so a mirror that is made meanwhile is examined again. The door is closed, and the caller has the turn.
func (v doorkeeper) another(ctx context.Context) bool {
	shut := v.door.Load()
	recorded, err := v.now.Load().recordedAs(ctx)
	if err != nil || recorded == shut.recorded {
		return false
	}
	v.door.Store(&closedDoor{shut.reason, recorded})
	return true
}

// isUnsafe reports whether an error says that the mirror shows too much.
func isUnsafe(err error) bool {
	_, unsafe := errors.AsType[*mirror.UnsafeError](err)
	return unsafe
}

// recordedAs returns the name of the mirror's record. It waits for a sync that is changing the record.
func (g *generation) recordedAs(ctx context.Context) (name string, err error) {
	err = g.keeper.sessions.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		name, err = mirror.RecordedAs(ctx, conn.Conn())
		return err
	})
	return name, err
}

// admitted begins a session of an analyst, if the policy was compared with the current mirror. The session begins first. If it begins
// before a sync that shows more, the sync ends it; if it begins later, admit waits for the sync and reads its record.
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

// admit takes over another mirror, if there is one, and refuses after two attempts.
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
