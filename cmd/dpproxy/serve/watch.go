package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/catalog"
	"dpproxy/cmd/dpproxy/drift"
	"dpproxy/mirror"
	"dpproxy/proxy"
)

const (
	// schemaInterval is the time between two comparisons of the protected database's schema with the schema of the last sync. Each read
	// compares its own tables too.
	schemaInterval = 15 * time.Second
	// syncInterval is the time between two checks whether the mirror was remade.
	syncInterval = time.Second
	// catchUpTime bounds a look, including a sync.
	catchUpTime = 30 * time.Second
	// patience is how long a statement waits for a look.
	patience = 3 * time.Second
)

// watch takes over the mirror that dpproxy sync has made, and refuses tables whose schema changes.
func (v *service) watch(ctx context.Context) {
	synced, changed := time.NewTicker(syncInterval), time.NewTicker(schemaInterval)
	defer synced.Stop()
	defer changed.Stop()
	said := "" // the last logged error
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-v.flights.wanted:
			var news bool
			news, err = v.look(ctx, v.fly)
			v.flights.land(news)
		case <-synced.C:
			_, err = v.look(ctx, v.takeOver)
		case <-changed.C:
			_, err = v.look(ctx, v.recheckSchema)
		}
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && !isUnsafe(err) && err.Error() != said:
			said = err.Error()
			v.log.Warn("the schema of the protected database could not be compared", "error", err)
		}
	}
}

// look holds the turn while it examines the mirror and the protected database. If the mirror shows more than the policy permits, it shuts
// the door in the same turn, because another policy may serve in the next.
func (v *service) look(ctx context.Context, at func(context.Context) (news bool, err error)) (news bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	v.turn.Lock()
	defer v.turn.Unlock()
	news, err = at(ctx)
	doorkeeper{v}.heed(err)
	return news, err
}

// takeOver makes the next generation if the mirror is another than the mirror of this generation, or, if the door is closed, than the
// mirror that was last examined. The caller has the turn.
func (v *service) takeOver(ctx context.Context) (taken bool, err error) {
	other := v.remade
	if v.door.Load() != nil {
		other = doorkeeper{v}.another
	}
	if !other(ctx) {
		return false, nil
	}
	return true, v.renew(ctx)
}

// remade reports whether the mirror was remade since this generation began, or a policy waits for it. If the mirror cannot be reached, it
// was not remade: the health pages and statements report that.
func (v *service) remade(ctx context.Context) bool {
	g := v.now.Load()
	var name string
	err := g.keeper.follower.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		var err error
		name, err = mirror.ConfirmedAs(ctx, conn.Conn())
		return err
	})
	return err == nil && (name != g.outlook.Confirmed || v.wanted != nil)
}

// renew serves by the current schema: with the wanted policy if there is one, or with the current policy. The caller has the turn.
func (v *service) renew(ctx context.Context) error {
	if v.wanted != nil {
		err := v.adopt(ctx)
		if err == nil || v.wanted != nil {
			return err
		}
		v.log.Error("the policy was not reloaded: the old one stays", "error", err)
	}
	g := v.now.Load()
	same := newHost(g.Site)
	same.desk = g.desk
	next, err := v.build(ctx, same, g)
	if err != nil {
		return fmt.Errorf("the mirror or the schema is another, and is not taken over: %w", err)
	}
	v.replace(next)
	v.logChanges(next.outlook, g.outlook)
	v.log.Info("the schema as of the last sync was taken over", "refused", len(next.outlook.Off))
	doorkeeper{v}.open()
	return nil
}

// recheckSchema refuses tables whose schema has changed, and examines the rights of dpproxy's role. If the door is closed, it tries to open
// it. The caller has the turn.
func (v *service) recheckSchema(ctx context.Context) (news bool, err error) {
	g := v.now.Load()
	conn, err := g.ConnectData(ctx)
	if err != nil {
		return false, fmt.Errorf("recheck: %w", err)
	}
	defer conn.Close(ctx)
	if err := v.rights.look(ctx, g.MirrorPlan(), conn); err != nil {
		return false, err
	}
	if v.door.Load() != nil {
		return true, v.mend(ctx)
	}
	if err := drift.Of(g.Site).ProveShown(ctx, conn); err != nil {
		return false, fmt.Errorf("recheck: %w", err)
	}
	if _, err := g.data.Recheck(ctx, conn); err != nil {
		return false, err
	}
	g.compareCopies(ctx, conn)
	if err := g.turnOffDerived(ctx, conn); err != nil || g.ready() {
		return false, err
	}
	return v.understand(ctx)
}

// mend opens the door again if possible. Somebody may have repaired the mirror or the protected database by hand; or dpproxy syncs by
// itself, if the policy says so and the sync takes nothing away. The caller has the turn.
func (v *service) mend(ctx context.Context) error {
	if v.wanted == nil && v.now.Load().Policy.SyncItself {
		if taken, err := v.syncItself(ctx); taken || err != nil {
			return err
		}
	}
	return v.renew(ctx)
}

// turnOffDerived refuses relations that may now contain rows of relations that must not be on the mirror: a view that they read was
// replaced, or a table has become their child.
func (g *generation) turnOffDerived(ctx context.Context, conn *pgx.Conn) error {
	schema := &catalog.Schema{Tables: map[catalog.Name]*catalog.Table{}}
	for _, n := range g.outlook.Model.Relations() {
		schema.Tables[n] = g.outlook.Model.Source(n)
	}
	faults, err := mirror.Faults(ctx, conn, g.MirrorPlan(), schema)
	for _, f := range faults {
		if g.outlook.Off[f.Table] == nil {
			g.data.TurnOff(f.Table, "")
		}
	}
	return err
}

// A flight is a look for changes. All who ask during the flight wait for its result.
type flight struct {
	done chan struct{}
	news bool
}

// flights has the current flight. The goroutine of watch executes it.
type flights struct {
	wanted chan *flight

	mu  sync.Mutex
	now *flight
}

// join returns the current flight, or starts one.
func (f *flights) join() *flight {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now == nil {
		f.now = &flight{done: make(chan struct{})}
		f.wanted <- f.now // the channel has room for the only flight
	}
	return f.now
}

// land ends the current flight.
func (f *flights) land(news bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now.news = news
	close(f.now.done)
	f.now = nil
}

// catchUp is called when a statement is refused because a schema has changed. It does not wait for long, because the transaction of the
// statement may block a sync.
func (v *service) catchUp(ctx context.Context) proxy.News {
	was := v.now.Load()
	joined := v.flights.join()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-joined.done:
	case <-timer.C:
		return proxy.Pending
	case <-ctx.Done():
		return proxy.Pending
	}
	if joined.news || v.now.Load() != was {
		return proxy.Changed
	}
	return proxy.NoNews
}

// fly looks for changes on behalf of a flight. If the reason of every refusal is known, it looks at most once in syncInterval. The caller
// has the turn.
func (v *service) fly(ctx context.Context) (news bool, err error) {
	news, err = v.takeOver(ctx)
	if !news && err == nil && (v.now.Load().unexplained() || time.Since(v.caughtUp) >= syncInterval) {
		defer func() { v.caughtUp = time.Now() }()
		news, err = v.understand(ctx)
	}
	return news, err
}

// unexplained reports whether a relation is refused without a known change.
func (g *generation) unexplained() bool {
	return slices.ContainsFunc(g.data.Off(), func(n catalog.Name) bool { return g.outlook.Off[n] == nil })
}

// understand finds the changes of the refused relations, takes over a sync, or syncs if the policy says so. It reports whether anything is
// new. The caller has the turn.
func (v *service) understand(ctx context.Context) (news bool, err error) {
	if taken, err := v.takeOver(ctx); taken || err != nil {
		return taken, err
	}
	g := v.now.Load()
	if g.Policy.SyncItself {
		if taken, err := v.syncItself(ctx); taken || err != nil {
			return taken, err
		}
	}
	o, err := drift.Of(g.Site).Look(ctx)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(g.data.Off(), func(n catalog.Name) bool { return o.Off[n] == nil }) {
		return true, v.renew(ctx) // the schema is as before again
	}
	for n, changes := range o.Off {
		text, told := drift.Why(changes)
		earlier, _ := drift.Why(g.outlook.Off[n])
		news = news || text != earlier
		g.data.TurnOff(n, told)
	}
	v.logChanges(o, g.outlook)
	g.outlook.Off, g.outlook.Misfits = o.Off, o.Misfits
	return news, nil
}

// syncItself remakes the mirror and takes it over, if nothing is lost by that.
func (v *service) syncItself(ctx context.Context) (bool, error) {
	err := drift.Of(v.now.Load().Site).SyncItself(ctx, false, func(change string) { v.log.Info("mirror", "change", change) })
	if err != nil {
		if v.unsynced != err.Error() {
			v.log.Error("dpproxy does not sync by itself: the administrator must look", "reason", err, "to do", confirmHint)
		}
		v.unsynced = err.Error()
		return false, nil
	}
	v.unsynced = ""
	return v.takeOver(ctx)
}
