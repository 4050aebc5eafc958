package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/mirror"
)

// A keeper gives an analyst's role on the mirror the state of `dpproxy sync` again, at each
// log-in: whoever has a session can change its password and its settings, and so lock others
// out. That can take seconds while the role is being changed, so the keeper has sessions
// of its own on the mirror, of which one analyst's log-ins have one at a time.
type keeper struct {
	sessions *pgxpool.Pool
	// follower has the one session that looks whether the mirror was made anew.
	follower *pgxpool.Pool

	mu    sync.Mutex
	turns map[string]chan struct{} // by analyst
}

// close ends the sessions.
func (k *keeper) close() {
	for _, pool := range []*pgxpool.Pool{k.sessions, k.follower} {
		if pool != nil {
			pool.Close()
		}
	}
}

// turn waits until no other log-in of the analyst is kept; end lets the next one go on.
func (k *keeper) turn(ctx context.Context, user string) (end func(), err error) {
	k.mu.Lock()
	if k.turns == nil {
		k.turns = map[string]chan struct{}{}
	}
	if k.turns[user] == nil {
		k.turns[user] = make(chan struct{}, 1)
	}
	turn := k.turns[user]
	k.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// keep puts the role right of a user who is an analyst of the plan.
func (k *keeper) keep(ctx context.Context, plan mirror.Plan, user string, log *slog.Logger) error {
	i := slices.IndexFunc(plan.Analysts, func(a mirror.Analyst) bool { return a.Name == user })
	if i < 0 {
		return nil
	}
	end, err := k.turn(ctx, user)
	if err != nil {
		return err
	}
	defer end()
	return k.sessions.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		changed, err := mirror.KeepLogin(ctx, conn.Conn(), plan.Analysts[i])
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil // there was no sync since the policy has the analyst: the mirror says so
		case err == nil && changed:
			log.Warn("the role of an analyst on the mirror was changed, and has been put right", "user", user)
		}
		return err
	})
}
