package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
	"dpproxy/mirror"
)

// A recorder is a ledger that is marked.
type recorder interface {
	accountant.Ledger
	witness.Ledger
}

// markTime bounds the writing of a mark at one place.
const markTime = 10 * time.Second

// openWitness returns the witness of a site's ledger, and the end of its sessions. The site is asked for again and again.
func openWitness(b *books, log *slog.Logger, current func() *site) (w *witness.Witness, closePlaces func(context.Context)) {
	p := b.policy.Ledger
	places := []witness.Place{&markServer{
		name: "the mirror", current: current, dial: dialMirror, read: mirror.ReadMarkFile, write: mirror.WriteMarkFile,
		others: mirror.OtherMarkFiles, remove: mirror.RemoveMarkFile,
	}}
	switch {
	case p.Witness == "":
	case filepath.IsAbs(p.Witness):
		places = append(places, witness.File(p.Witness))
	default:
		places = append(places, &markServer{
			name: "the server of ledger.witness", current: current, dial: connectWitness, read: mirror.ReadMark, write: mirror.WriteMark,
			others: mirror.OtherMarks, remove: mirror.RemoveMark,
		})
	}
	w = witness.New(b.secret.derive("marks of the ledger"), b.shared(), log, time.Now, places...)
	return w, func(ctx context.Context) {
		for _, p := range places {
			if s, ok := p.(*markServer); ok {
				s.close(ctx)
			}
		}
	}
}

// dialMirror connects to the mirror.
func dialMirror(ctx context.Context, s *site) (*pgx.Conn, error) { return s.connectMirror(ctx) }

// connectWitness connects to the server of ledger.witness.
func connectWitness(ctx context.Context, s *site) (*pgx.Conn, error) {
	l := s.policy.Ledger
	p := password{"DPPROXY_WITNESS_PASSWORD", "ledger.witness_password_file", l.WitnessPasswordFile}
	return connect(ctx, "the server of ledger.witness", l.Witness, p)
}

// markServer keeps marks on a Postgres, over a session that it opens when it needs one.
type markServer struct {
	name    string
	current func() *site // which follows the policy
	dial    func(context.Context, *site) (*pgx.Conn, error)
	read    func(ctx context.Context, conn *pgx.Conn, ledger string) ([]byte, error)
	write   func(ctx context.Context, conn *pgx.Conn, ledger string, old, sealed []byte) (bool, error)
	others  func(ctx context.Context, conn *pgx.Conn, ledger string) (map[string][]byte, error)
	remove  func(ctx context.Context, conn *pgx.Conn, ledger string) error

	conn *pgx.Conn
	of   *site // to which conn is
}

// Name implements [witness.Place].
func (s *markServer) Name() string { return s.name }

// session returns the session.
func (s *markServer) session(ctx context.Context) (*pgx.Conn, error) {
	site := s.current()
	if s.conn != nil && (s.of != site || s.conn.IsClosed()) {
		s.close(ctx)
	}
	if s.conn != nil {
		return s.conn, nil
	}
	conn, err := s.dial(ctx, site)
	if err != nil {
		return nil, err
	}
	s.conn, s.of = conn, site
	return conn, nil
}

func (s *markServer) close(ctx context.Context) {
	if s.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = s.conn.Close(ctx)
		s.conn = nil
	}
}

// Read implements [witness.Place].
func (s *markServer) Read(ctx context.Context, ledger string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	conn, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	return s.read(ctx, conn, ledger)
}

// Write implements [witness.Place].
func (s *markServer) Write(ctx context.Context, ledger string, old, sealed []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	conn, err := s.session(ctx)
	if err != nil {
		return false, err
	}
	return s.write(ctx, conn, ledger, old, sealed)
}

// Others implements [witness.Place].
func (s *markServer) Others(ctx context.Context, ledger string) (map[string][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	conn, err := s.session(ctx)
	if err != nil {
		return nil, err
	}
	return s.others(ctx, conn, ledger)
}

// Remove implements [witness.Place].
func (s *markServer) Remove(ctx context.Context, ledger string) error {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	conn, err := s.session(ctx)
	if err != nil {
		return err
	}
	return s.remove(ctx, conn, ledger)
}

// witnessed is a ledger that charges only as long as it is marked.
type witnessed struct {
	accountant.Ledger
	marks *witness.Witness
}

// Charge implements [accountant.Ledger].
func (l witnessed) Charge(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	if err := l.marks.Err(); err != nil {
		return 0, err
	}
	return l.Ledger.Charge(ctx, c)
}

// Hold implements [accountant.Ledger].
func (l witnessed) Hold(ctx context.Context, c accountant.Charge) (accountant.ChargeID, error) {
	if err := l.marks.Err(); err != nil {
		return 0, err
	}
	return l.Ledger.Hold(ctx, c)
}

// openWitnessed opens the ledger of a service and host, if it is the latest, marks it, and goes on to by the clock until end is
// called, which marks and closes it.
func openWitnessed(ctx context.Context, v *service, s *host) (end func() error, err error) {
	current := func() *site {
		if g := v.now.Load(); g != nil {
			return g.site
		}
		return s.site
	}
	marks, closePlaces := openWitness(s.books, v.log, current)
	var away error // of the databases, not of the ledger
	ledger, err := s.books.openLedger(ctx, v.log, func(ctx context.Context, p history.Past) error {
		if away = await(ctx, s.site, s.wait, v.log); away != nil { // behind all that the ledger has to say
			return away
		}
		if _, err := marks.Alone(ctx, p.Ledger); err != nil {
			return err
		}
		return marks.Confirm(ctx, p)
	})
	if err != nil {
		closePlaces(ctx)
		return nil, cmp.Or(away, err)
	}
	if err := marks.Mark(ctx, ledger); err != nil {
		closePlaces(ctx)
		return nil, errors.Join(err, ledger.Close())
	}
	v.ledger, v.charging, v.marks = ledger, witnessed{ledger, marks}, marks
	ticking, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		markByClock(ticking, marks, ledger)
	}()
	return func() error {
		stop()
		<-stopped
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTime)
		defer cancel()
		if err := marks.Mark(last, ledger); err != nil {
			v.log.Error("the ledger was not marked at its end", "cause", err)
		}
		closePlaces(ctx)
		return ledger.Close()
	}, nil
}

// markByClock marks the ledger until the context ends. Ticks are at moments of the clock, however long one takes.
func markByClock(ctx context.Context, w *witness.Witness, l witness.Ledger) {
	interval := w.Interval()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.Tick(ctx, l)
			if now := w.Interval(); now != interval {
				interval = now
				tick.Reset(now)
			}
		}
	}
}
