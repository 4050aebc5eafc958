package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dpproxy/cmd/dpproxy/ledger"
	"dpproxy/cmd/dpproxy/local"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/proxy"
	"dpproxy/wire"
)

// A service is a running dpproxy.
type service struct {
	front  *proxy.Front
	server *wire.Server
	ledger *ledger.Marked
	log    *slog.Logger
	health *healthPages
	// now is the current generation. Only the holder of turn may make the next.
	now     atomic.Pointer[generation]
	turn    sync.Mutex
	flights flights
	// caughtUp is when a flight last looked for changes of the schema.
	caughtUp time.Time
	// rights are the rights of dpproxy's role in the protected database.
	rights lookout
	// unsynced is the last logged reason why dpproxy did not sync by itself.
	unsynced string
	// door is not nil while the mirror shows more than the policy permits.
	door atomic.Pointer[closedDoor]
	// wanted is the policy of the last SIGHUP as long as the mirror may show more than it permits. turn guards it.
	wanted *site.Site
	// closing is closed when all former generations have closed their connections.
	closing chan struct{}
}

// listen opens the port, the port of the health pages, and the socket for decisions.
func (v *service) listen(ctx context.Context) (_ net.Listener, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", v.now.Load().Policy.Listen)
	if err != nil {
		return nil, nil, err
	}
	if v.health, err = v.serveHealth(ctx, v.now.Load().Policy.Health); err != nil {
		return nil, nil, errors.Join(err, listener.Close())
	}
	decisions, err := v.now.Load().books.ServeDecisions(ctx, v.decide)
	if err != nil {
		v.health.stop()
		return nil, nil, errors.Join(err, listener.Close())
	}
	return listener, func() {
		decisions()
		v.health.stop()
		_ = listener.Close() // it may be closed already
	}, nil
}

// rule gives the budgets of a generation that is about to serve to the ledger.
func (v *service) rule(ctx context.Context, g *generation) error {
	if err := ledger.Rule(ctx, g.books, v.ledger, g.ruling, v.log); err != nil {
		return err
	}
	if err := g.proxy.ReloadBudgets(ctx); err != nil {
		return fmt.Errorf("the ledger has the budgets of the policy by now, which does not serve: %w", err)
	}
	return nil
}

// serve serves analysts until the context ends, and reloads the policy at each SIGHUP.
func (v *service) serve(ctx context.Context, listener net.Listener, hup <-chan os.Signal, ready func(addr string)) error {
	ready(listener.Addr().String())
	notify("READY=1")
	defer context.AfterFunc(ctx, func() { notify("STOPPING=1") })()
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() { v.reloadAt(ctx, hup) })
	all.Go(func() { v.watch(ctx) })
	err := v.server.Serve(ctx, listener)
	rest, end := context.WithTimeout(context.WithoutCancel(ctx), restTime)
	defer end()
	v.front.Now().Finish(rest)
	return err
}

// restTime is how long, after the end, paid reads continue whose clients have left.
const restTime = 5 * time.Second

func (v *service) reloadAt(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			err := v.reload(ctx)
			switch {
			case err != nil && v.door.Load() != nil:
				v.log.Error("the policy was not reloaded: nobody is served until dpproxy sync has made the mirror for it", "error", err)
			case err != nil && v.waits():
				v.log.Error("the policy was not reloaded: it waits for the mirror, and the old one stays until then", "error", err)
			case err != nil:
				v.log.Error("the policy was not reloaded: the old one stays", "error", err)
			default:
				v.log.Info("the policy was reloaded")
			}
		}
	}
}

// waits reports whether a policy waits until the mirror can be compared with it.
func (v *service) waits() bool {
	v.turn.Lock()
	defer v.turn.Unlock()
	return v.wanted != nil
}

// replace makes the next generation current. The former closes its connections when its statements have ended and all earlier generations
// have closed theirs.
func (v *service) replace(next *generation) {
	before := v.now.Swap(next)
	ended := v.front.Replace(next.proxy)
	next.desk.Renew(local.Of(next.Site).Readers())
	earlier, closed := v.closing, make(chan struct{})
	v.closing = closed
	go func() {
		defer close(closed)
		if earlier != nil {
			<-earlier
		}
		ended()
		if err := before.closeBut(next); err != nil {
			v.log.Warn("what the former policy had open was not closed", "error", err)
		}
	}()
}

// close closes the connections of the current generation after those of all former ones.
func (v *service) close() error {
	if v.closing != nil {
		<-v.closing
	}
	return v.now.Load().closeBut(&generation{})
}

// openLedger opens the ledger of a host, to be charged. Its marks follow the current generation.
func (v *service) openLedger(ctx context.Context, s *Host) (err error) {
	current := func() *site.Site {
		if g := v.now.Load(); g != nil {
			return g.Site
		}
		return s.Site
	}
	v.ledger, err = ledger.Open(ctx, s.books, v.log, current, func(ctx context.Context) error {
		return await(ctx, s.Site, s.wait, v.log)
	})
	return err
}
