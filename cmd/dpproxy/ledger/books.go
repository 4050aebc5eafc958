package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
	"dpproxy/accountant/witness"
	"dpproxy/cmd/dpproxy/site"
	"dpproxy/config"
)

// A decider is a ledger of any kind that takes an administrator's decisions.
type decider interface {
	Decide(ctx context.Context, decision history.Entry) error
	Close() error
}

// Books are the ledger of a policy. Commands that look at it, or decide about it, need no secret.
type Books struct {
	Policy *config.Policy
	Secret site.Secret // nil: it was not read
}

// Load reads the policy alone.
func Load(path string) (*Books, error) {
	policy, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return &Books{Policy: policy}, nil
}

// Shared reports whether the ledger is in Redis.
func (s *Books) Shared() bool { return s.Policy.Ledger.Redis != "" }

// where names the ledger to people.
func (s *Books) where() string {
	if s.Shared() {
		return fmt.Sprintf("the ledger %q in Redis", s.Policy.Ledger.Name)
	}
	return "the ledger in " + s.Policy.Ledger.Dir
}

// place names the ledger to programs: a folder, or a key of Redis.
func (s *Books) place() string {
	if s.Shared() {
		return "dp:" + s.Policy.Ledger.Name
	}
	return s.Policy.Ledger.Dir
}

// A confirm refuses a ledger that is not the latest.
type confirm = func(ctx context.Context, p history.Past) error

// openLedger opens the ledger to charge, once the budgets of the policy were set ([Rule]). It must exist: one that
// vanished would be a budget born again.
func (s *Books) openLedger(ctx context.Context, log *slog.Logger, latest confirm) (recorder, error) {
	if s.Shared() {
		return s.openShared(ctx, log, latest)
	}
	l, err := logledger.Open(ctx, s.Policy.Ledger.Dir, nil, logledger.Options{Log: log, Now: time.Now, Confirm: latest})
	if err != nil {
		return nil, s.advise(err)
	}
	return l, nil
}

func (s *Books) openEmbedded(ctx context.Context, log *slog.Logger, create bool) (*logledger.Ledger, error) {
	return logledger.Open(ctx, s.Policy.Ledger.Dir, nil, logledger.Options{Create: create, Log: log, Now: time.Now})
}

// openShared opens the ledger in Redis. A proxy that has no journal yet first makes
// sure that it has the secret of the others.
func (s *Books) openShared(ctx context.Context, log *slog.Logger, latest confirm) (recorder, error) {
	o, err := s.redisOptions(log)
	if err != nil {
		return nil, err
	}
	if _, err := logledger.JournalID(o.Dir); errors.Is(err, logledger.ErrNoLedger) {
		if err := s.agree(ctx, o); err != nil {
			return nil, err
		}
	}
	o.Confirm = latest
	l, err := redisledger.Open(ctx, nil, o)
	if err != nil {
		return nil, s.advise(err)
	}
	return l, nil
}

func (s *Books) redisOptions(log *slog.Logger) (redisledger.Options, error) {
	l := s.Policy.Ledger
	redis.SetLogger(redisLog{log})
	p, err := site.RedisPassword(l).Read()
	return redisledger.Options{
		URL: l.Redis, Password: p, Name: l.Name, Dir: l.Dir, Replicas: l.Replicas,
		AssertedDurable: l.AssertedDurable, Log: log, Now: time.Now,
	}, err
}

// Decide has an administrator's decision recorded, and returns the state after it. Limits of the policy are
// left for the next start of dpproxy.
func (s *Books) Decide(ctx context.Context, log *slog.Logger, decision history.Entry) (*history.State, error) {
	l, err := s.openDecider(ctx, log)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(l.Decide(ctx, decision), l.Close()); err != nil {
		return nil, s.advise(err)
	}
	a, err := s.audit(ctx, log)
	if err != nil {
		return nil, err
	}
	return a.state, nil
}

// openDecider opens the ledger for decisions.
func (s *Books) openDecider(ctx context.Context, log *slog.Logger) (decider, error) {
	if !s.Shared() {
		return s.openEmbeddedDecider(ctx, log)
	}
	o, err := s.redisOptions(log)
	if err != nil {
		return nil, err
	}
	l, err := redisledger.OpenReader(ctx, o, func(history.Record) {})
	if err != nil {
		return nil, s.advise(err)
	}
	return l, nil
}

// entries shows every entry of the ledger, verified, to visit. It works beside a
// dpproxy that runs.
func (s *Books) entries(ctx context.Context, log *slog.Logger, visit func(history.Record) error) error {
	if !s.Shared() {
		for r, err := range logledger.Entries(ctx, s.Policy.Ledger.Dir) {
			if err != nil {
				return s.advise(err)
			}
			if err := visit(r); err != nil {
				return err
			}
		}
		return nil
	}
	o, err := s.redisOptions(log)
	if err != nil {
		return err
	}
	var failed error
	l, err := redisledger.OpenReader(ctx, o, func(r history.Record) {
		if failed == nil {
			failed = visit(r)
		}
	})
	if err != nil {
		return s.advise(err)
	}
	return errors.Join(l.Close(), failed) // Close may show entries that were written meanwhile
}

// advise says which ledger failed, and how an administrator can mend that.
func (s *Books) advise(err error) error {
	var advice string
	switch {
	case errors.Is(err, logledger.ErrNoLedger), errors.Is(err, redisledger.ErrNoLedger):
		advice = "dpproxy init makes it, once"
	case errors.Is(err, logledger.ErrLocked) && s.Shared():
		advice = "each proxy needs a ledger.dir of its own for its journal"
	case errors.Is(err, logledger.ErrLocked):
		advice = "stop dpproxy first"
	case isA[*accountant.MissingError](err):
		missing, _ := errors.AsType[*accountant.MissingError](err)
		advice = adviseMissing(missing)
	case errors.Is(err, accountant.ErrLimitRaise):
		advice = "dpproxy budget raise does that, or lower the policy"
	case errors.Is(err, accountant.ErrUnknownScope):
		advice = "dpproxy budget list shows the budgets"
	case isA[*witness.BehindError](err):
		advice = "put the latest copy back, or go on with this one and charge what the mark proves: " +
			"dpproxy ledger repair --accept-loss (docs/operations.md)"
	case isA[*redisledger.DurabilityError](err):
		advice = "set this in its configuration and restart it (docs/operations.md has one)"
	case isA[*redisledger.DivergedError](err):
		advice = "stop all proxies, then dpproxy ledger repair puts back what their journals have (docs/operations.md)"
	case redis.HasErrorPrefix(err, "NOAUTH"), redis.HasErrorPrefix(err, "WRONGPASS"):
		advice = "the user stands in ledger.redis, the password in DPPROXY_REDIS_PASSWORD or the file ledger.redis_password_file"
	case redis.HasErrorPrefix(err, "NOPERM"):
		advice = "docs/operations.md lists the commands that dpproxy's user needs"
	}
	if advice == "" {
		return fmt.Errorf("%s: %w", s.where(), err)
	}
	return fmt.Errorf("%s: %w: %s", s.where(), err, advice)
}

func isLocked(err error) bool { return errors.Is(err, logledger.ErrLocked) }

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// redisLog takes the remarks of the client of Redis beside its errors.
type redisLog struct{ log *slog.Logger }

// Printf is called by the client.
func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	l.log.DebugContext(ctx, "redis", "message", fmt.Sprintf(format, args...))
}
