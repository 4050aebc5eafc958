package wire

import (
	"context"
	"sync"
	"time"

	"dpproxy/pgerr"
)

// attempts counts log-ins that failed, by the address that they came from and the name that they were for: so passwords
// cannot be tried at will, and who tries those of one name, or tries from one address, locks nobody else out.
type attempts struct {
	mu      sync.Mutex
	settled *sync.Cond // a proof has come, or will not
	by      map[attempt]*tries
	failed  []*failure // in the order in which they are forgiven
}

// An attempt is a log-in from an address for a name.
type attempt struct{ address, user string }

// attemptOf is what a log-in is counted with; a name that is longer than those of Postgres is nobody's.
func attemptOf(address, user string) attempt {
	return attempt{address, user[:min(len(user), longestName)]}
}

// tries are an attempt's log-ins.
type tries struct {
	proving  int // a challenge was shown, and no proof has come
	failures int // ended without the right proof, a while ago at most
}

// A failure is a log-in that failed and is to be forgiven when its time has come, if it was not before.
type failure struct {
	of       attempt
	forgiven bool
}

// mostFailures bounds the memory that strangers can fill. Beyond it the oldest is forgiven before its time, so that
// who fails so often may try one name about failed_logins times more for each of these.
const mostFailures = 100_000

func newAttempts() *attempts {
	a := &attempts{by: map[attempt]*tries{}}
	a.settled = sync.NewCond(&a.mu)
	return a
}

// change edits the tries of an attempt, and forgets one of which nothing is known.
// Callers hold the lock.
func (a *attempts) change(of attempt, edit func(*tries)) {
	t := a.by[of]
	if t == nil {
		t = &tries{}
		a.by[of] = t
	}
	edit(t)
	if *t == (tries{}) {
		delete(a.by, of)
	}
}

// may refuses an attempt that has failed too often.
func (a *attempts) may(of attempt, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.tried(of, l)
}

// tried is may for callers that hold the lock.
func (a *attempts) tried(of attempt, l Limits) error {
	if t := a.by[of]; t != nil && t.failures >= l.FailedLogins {
		return fatal(pgerr.InvalidAuthorization, "too many log-ins for this user from this address have failed: try again in a minute")
	}
	return nil
}

// prove lets a client see a challenge; settle must follow. As each that is under way may
// fail, there are never more of them than may: the others of the address and name wait for their
// proofs, which clients that know their password send at once.
func (a *attempts) prove(ctx context.Context, of attempt, l Limits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.settled.Broadcast()
	})()
	for ctx.Err() == nil {
		if err := a.tried(of, l); err != nil {
			return err
		}
		if t := a.by[of]; t == nil || t.failures+t.proving < l.FailedLogins {
			a.change(of, func(t *tries) { t.proving++ })
			return nil
		}
		a.settled.Wait()
	}
	return errDone // the time to log in is over, or the server stops
}

// settle ends a proof that prove let begin. A log-in without the right proof is remembered for a while,
// whether there was a wrong one or none.
func (a *attempts) settle(of attempt, failed bool, l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.change(of, func(t *tries) { t.proving-- })
	if failed {
		a.fail(of, l)
	}
	a.settled.Broadcast()
}

// fail remembers a log-in that failed. Callers hold the lock.
func (a *attempts) fail(of attempt, l Limits) {
	if len(a.failed) >= mostFailures {
		a.forgive(a.failed[0])
	}
	f := &failure{of: of}
	a.failed = append(a.failed, f)
	a.change(of, func(t *tries) { t.failures++ })
	time.AfterFunc(l.FailedTime, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.forgive(f)
		a.settled.Broadcast()
	})
}

// forgive forgets a log-in that failed. Callers hold the lock.
func (a *attempts) forgive(f *failure) {
	if f.forgiven {
		return
	}
	f.forgiven = true
	a.change(f.of, func(t *tries) { t.failures-- })
	for len(a.failed) > 0 && a.failed[0].forgiven {
		a.failed = a.failed[1:]
	}
}
