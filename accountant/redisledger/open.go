package redisledger

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/internal/durable"
)

// ErrNoLedger is wrapped where Redis has no ledger of that name. Only an operator
// makes one ([Init]): a name that vanished must not become a fresh budget.
var ErrNoLedger = errors.New("redisledger: there is no such ledger")

// ErrExists is wrapped where Init finds a ledger.
var ErrExists = errors.New("redisledger: there is a ledger of that name")

// defaultCheckpointEvery keeps a start below a second and checkpoints rare.
const defaultCheckpointEvery = 1 << 14

var initScript = redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'seq', '0', 'head', ARGV[2])
return 1`)

// Init makes an empty ledger.
func Init(ctx context.Context, o Options) error {
	client, err := dial(o)
	if err != nil {
		return err
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // ends the process instead of failing
	err = create(ctx, client, o.key(), hex.EncodeToString(id[:]))
	return errors.Join(err, client.Close())
}

func create(ctx context.Context, client *redis.Client, key, id string) error {
	genesis, err := logledger.Genesis(id)
	if err != nil {
		return err
	}
	made, err := initScript.Run(ctx, client, []string{key}, id, hex.EncodeToString(genesis[:])).Int()
	if err != nil {
		return fmt.Errorf("redisledger: making the ledger: %w", err)
	}
	if made == 0 {
		return fmt.Errorf("%w: %s", ErrExists, key)
	}
	return nil
}

// Open opens a ledger: it checks the server, brings this proxy's journal up to
// date, which verifies every line that it has not seen, begins a run, and records
// the limits of the configuration, which can add budgets and lower limits but not
// raise one ([accountant.ErrLimitRaise]). It returns a [*DurabilityError],
// [ErrNoLedger], a [*DivergedError] or the journal's errors where they apply.
func Open(ctx context.Context, limits []accountant.Limit, o Options) (*Ledger, error) {
	l, err := connect(ctx, o, func(ctx context.Context, id string, log *slog.Logger) (journal, *history.State, position, error) {
		j, state, err := logledger.OpenJournal(ctx, o.Dir, id, log)
		if err != nil {
			return nil, nil, position{}, err
		}
		seq, head := j.Last()
		return j, state, position{seq, head}, nil
	})
	if err != nil {
		return nil, err
	}
	if err := l.confirm(ctx, o.Confirm); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if err := l.begin(ctx, limits, o); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// OpenReader opens a ledger for looking at it and for decisions, without a journal
// and without a run: it reads and verifies every line, and shows each to visit.
// It cannot charge.
func OpenReader(ctx context.Context, o Options, visit func(history.Record)) (*Ledger, error) {
	l, err := connect(ctx, o, func(_ context.Context, id string, _ *slog.Logger) (journal, *history.State, position, error) {
		genesis, err := logledger.Genesis(id)
		return &noJournal{visit: visit, at: position{head: genesis}}, history.NewState(), position{head: genesis}, err
	})
	if err != nil {
		return nil, err
	}
	if err := l.confirm(ctx, o.Confirm); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// A noJournal shows lines instead of keeping them.
type noJournal struct {
	visit func(history.Record)
	at    position
}

// Append implements journal.
func (n *noJournal) Append(lines [][]byte) error {
	for _, line := range lines {
		r, err := history.Decode(line, n.at.seq+1, n.at.head)
		if err != nil {
			return err
		}
		n.visit(r)
		n.at = position{r.Seq, r.Hash()}
	}
	return nil
}

// Checkpoint implements journal.
func (*noJournal) Checkpoint([]byte, uint64, history.Hash, []byte) {}

// Close implements journal.
func (*noJournal) Close() error { return nil }

type openJournal func(ctx context.Context, id string, log *slog.Logger) (journal, *history.State, position, error)

// connect opens a ledger up to where it can serve requests.
func connect(ctx context.Context, o Options, open openJournal) (_ *Ledger, err error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = func() time.Time { return time.Time{} }
	}
	l := &Ledger{
		log: o.Log, now: o.Now, boot: rand.Text(), every: uint64(max(0, o.CheckpointEvery)),
		kick: make(chan struct{}, 1), stopped: make(chan struct{}), abandoned: map[string]bool{},
	}
	l.Calls = history.NewCalls(l.boot, l.record, l.read)
	if l.every == 0 {
		l.every = defaultCheckpointEvery
	}
	client, err := dial(o)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, client.Close())
		}
	}()
	l.server = o.server(client)
	if l.server.id, err = l.server.ledgerID(ctx, o); err != nil {
		return nil, err
	}
	if l.journal, l.state, l.at, err = open(ctx, l.server.id, o.Log); err != nil {
		return nil, err
	}
	if err = l.catchUp(ctx); err != nil {
		return nil, errors.Join(err, l.journal.Close())
	}
	go l.commitLoop() //nolint:contextcheck // it serves until Close, whatever becomes of the caller
	return l, nil
}

// ledgerID returns the ID of the ledger in Redis.
func (s *server) ledgerID(ctx context.Context, o Options) (string, error) {
	id, err := s.client.HGet(ctx, s.key, idField).Result()
	if !errors.Is(err, redis.Nil) {
		return id, err
	}
	if o.Dir != "" {
		if _, journaled := logledger.JournalID(o.Dir); journaled == nil {
			return "", &DivergedError{"is gone, and this proxy has its journal"}
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNoLedger, s.key)
}

// catchUp reads the lines that the journal has missed.
func (l *Ledger) catchUp(ctx context.Context) error {
	for {
		missed, err := l.server.append(ctx, l.at, nil, l.at.head)
		if err != nil || missed == nil {
			return err
		}
		if _, err := l.absorb(missed, nil, nil); err != nil {
			return err
		}
	}
}

// begin begins a run, after it has ended the one that the same journal had before:
// the journal's lock says that that process is gone.
func (l *Ledger) begin(ctx context.Context, limits []accountant.Limit, o Options) error {
	before, err := readRun(o.Dir)
	if err != nil {
		return err
	}
	runs, err := l.Runs(ctx)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run == before {
			end := history.FenceEntry{Boot: before, Who: "dpproxy", Reason: "a later run of the same proxy begins"}
			if err := l.Decide(ctx, end); err != nil {
				return err
			}
		}
	}
	if err := writeRun(o.Dir, l.boot); err != nil {
		return err
	}
	if _, err := l.record(ctx, "", history.BeginEntry{Boot: l.boot}); err != nil {
		return err
	}
	if o.AssertedDurable != "" {
		note := history.NoteEntry{Who: "the configuration", Text: "asserts that Redis is durable: " + o.AssertedDurable}
		if err := l.Decide(ctx, note); err != nil {
			return err
		}
	}
	if len(limits) == 0 {
		return nil
	}
	return l.SetLimits(ctx, limits)
}

// runName is the file with the name of the journal's latest run.
const runName = "run"

func readRun(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, runName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// writeRun replaces the file whole, and durably.
func writeRun(dir, boot string) error {
	return durable.ReplaceFile(filepath.Join(dir, runName), []byte(boot+"\n"))
}
