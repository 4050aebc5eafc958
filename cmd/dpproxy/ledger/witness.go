package ledger

import (
	"context"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/mirror"
)

// A recorder is a ledger that is charged and marked, embedded or in Redis.
type recorder interface {
	accountant.Ledger
	witness.Ledger
	decider
	SetPolicy(ctx context.Context, p history.PolicyEntry) error
	Survey(ctx context.Context, s accountant.Survey) error
	Surveys(ctx context.Context, table string) (all []accountant.Survey, epoch int64, err error)
}

// markTime bounds the writing of a mark at one place.
const markTime = 10 * time.Second

// openWitness returns the witness of a site's ledger, and the end of its sessions. The site is asked for again and again.
func openWitness(b *Books, log *slog.Logger, current func() *site.Site) (w *witness.Witness, closePlaces func(context.Context)) {
	p := b.Policy.Ledger
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
			name: "the server of ledger.witness", current: current, dial: dialWitness, read: mirror.ReadMark, write: mirror.WriteMark,
			others: mirror.OtherMarks, remove: mirror.RemoveMark,
		})
	}
	w = witness.New(b.Secret.Derive("marks of the ledger"), b.Shared(), log, time.Now, places...)
	return w, func(ctx context.Context) {
		for _, p := range places {
			if s, ok := p.(*markServer); ok {
				s.close(ctx)
			}
		}
	}
}

// dialMirror connects to the mirror.
func dialMirror(ctx context.Context, s *site.Site) (*pgx.Conn, error) { return s.ConnectMirror(ctx) }

// markServer keeps marks on a Postgres, over a session that it opens when it needs one.
type markServer struct {
	name    string
	current func() *site.Site // which follows the policy
	dial    func(context.Context, *site.Site) (*pgx.Conn, error)
	read    func(ctx context.Context, conn *pgx.Conn, ledger string) ([]byte, error)
	write   func(ctx context.Context, conn *pgx.Conn, ledger string, old, sealed []byte) (bool, error)
	others  func(ctx context.Context, conn *pgx.Conn, ledger string) (map[string][]byte, error)
	remove  func(ctx context.Context, conn *pgx.Conn, ledger string) error

	conn *pgx.Conn
	of   *site.Site // to which conn is
}

// Name implements [witness.Place].
func (s *markServer) Name() string { return s.name }

// session returns the session.
func (s *markServer) session(ctx context.Context) (*pgx.Conn, error) {
	at := s.current()
	if s.conn != nil && (s.of != at || s.conn.IsClosed()) {
		s.close(ctx)
	}
	if s.conn != nil {
		return s.conn, nil
	}
	conn, err := s.dial(ctx, at)
	if err != nil {
		return nil, err
	}
	s.conn, s.of = conn, at
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

// dialWitness connects to the server of ledger.witness.
func dialWitness(ctx context.Context, s *site.Site) (*pgx.Conn, error) { return s.ConnectWitness(ctx) }
