package reader

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// crowd lets statements into a queue, and notes whose turn came.
type crowd struct {
	q     *queue
	turns []string
}

// ask sends a statement that keeps its session until leave.
func (c *crowd) ask(ctx context.Context, analyst string) chan error {
	done := make(chan error, 1)
	go func() {
		err := c.q.enter(ctx, analyst)
		if err == nil {
			c.turns = append(c.turns, analyst)
		}
		done <- err
	}()
	synctest.Wait()
	return done
}

func (c *crowd) leave(analyst string) {
	c.q.leave(analyst)
	synctest.Wait()
}

// One analyst fills the sessions and the queue. Another analyst's first statement is next, and their second waits like the others.
func TestQueueIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{q: newQueue(2, Sharing{})}
		for range 6 {
			c.ask(t.Context(), "ana")
		}
		c.ask(t.Context(), "bob")
		c.ask(t.Context(), "bob")
		c.ask(t.Context(), "eve")
		for _, leaves := range []string{"ana", "ana", "bob", "ana", "eve", "bob", "ana", "ana", "ana"} {
			c.leave(leaves)
		}
		want := []string{"ana", "ana", "bob", "ana", "eve", "bob", "ana", "ana", "ana"}
		if !slices.Equal(c.turns, want) {
			t.Errorf("turns %v, want %v", c.turns, want)
		}
		if q := c.q; q.running != 0 || q.waiting != 0 || len(q.analysts) != 0 {
			t.Errorf("%d run, %d wait, %d analysts at the end", q.running, q.waiting, len(q.analysts))
		}
	})
}

// An analyst's share keeps sessions free for others.
func TestQueueShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{q: newQueue(3, Sharing{AnalystSessions: 2})}
		for range 4 {
			c.ask(t.Context(), "ana")
		}
		c.ask(t.Context(), "bob")
		if want := []string{"ana", "ana", "bob"}; !slices.Equal(c.turns, want) {
			t.Errorf("turns %v, want %v", c.turns, want)
		}
		c.leave("bob") // nobody may have the third session now
		if len(c.turns) != 3 {
			t.Errorf("turns %v: more than the share", c.turns)
		}
		for range 4 {
			c.leave("ana")
		}
	})
}

// A statement that does not fit the queue is refused, unless it need not wait.
func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{q: newQueue(2, Sharing{AnalystSessions: 1, Waiting: 3, AnalystWaiting: 2})}
		refused := func(analyst string) bool {
			select {
			case err := <-c.ask(t.Context(), analyst):
				return errors.Is(err, errQueueFull)
			default:
				return false
			}
		}
		for i, want := range []bool{false, false, false, true} {
			if refused("ana") != want {
				t.Errorf("statement %d of ana: refused %v", i, !want)
			}
		}
		for i, want := range []bool{false, false, true} {
			if refused("bob") != want {
				t.Errorf("statement %d of bob: refused %v", i, !want)
			}
		}
		if !refused("eve") {
			t.Error("the queue takes more than its limit")
		}
		for range 3 {
			c.leave("ana")
		}
		if refused("eve") {
			t.Error("a statement is refused that need not wait")
		}
		c.leave("eve")
		c.leave("bob")
		c.leave("bob")
	})
}

// A statement that gives up makes room, and takes no session along.
func TestQueueAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{q: newQueue(1, Sharing{Waiting: 1})}
		c.ask(t.Context(), "ana")
		ctx, cancel := context.WithCancelCause(t.Context())
		bob := c.ask(ctx, "bob")
		reason := errors.New("enough")
		cancel(reason)
		if err := <-bob; !errors.Is(err, reason) {
			t.Errorf("gave up: %v", err)
		}
		c.ask(t.Context(), "eve")
		c.leave("ana")
		c.leave("eve")
		if want := []string{"ana", "eve"}; !slices.Equal(c.turns, want) {
			t.Errorf("turns %v, want %v", c.turns, want)
		}
	})
}

// With one session, analysts take turns, however much one of them asks.
func TestQueueTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{q: newQueue(1, Sharing{})}
		for _, a := range []string{"ana", "ana", "ana", "ana", "bob", "bob", "eve"} {
			c.ask(t.Context(), a)
		}
		want := []string{"ana", "ana", "bob", "eve", "ana", "bob", "ana"}
		for _, a := range want {
			c.leave(a)
		}
		if !slices.Equal(c.turns, want) {
			t.Errorf("turns %v, want %v", c.turns, want)
		}
	})
}

// Whatever comes and goes, no more statements run than there are sessions, nobody has more than their share, no session is idle that
// somebody may have, and everything is counted.
func TestQueueInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue(rapid.IntRange(1, 4).Draw(t, "sessions"), Sharing{
			AnalystSessions: rapid.IntRange(0, 3).Draw(t, "share"), Waiting: rapid.IntRange(0, 5).Draw(t, "waiting"),
		})
		turns := map[string][]*turn{}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				a := rapid.SampledFrom([]string{"ana", "bob", "eve"}).Draw(t, "analyst")
				if turn, err := q.arrive(a); err == nil {
					turns[a] = append(turns[a], turn)
				}
			},
			"go": func(t *rapid.T) {
				a := rapid.SampledFrom([]string{"ana", "bob", "eve"}).Draw(t, "analyst")
				if len(turns[a]) == 0 {
					return
				}
				i := rapid.IntRange(0, len(turns[a])-1).Draw(t, "which")
				q.abandon(a, turns[a][i]) // if its turn has come, this is leave
				turns[a] = slices.Delete(turns[a], i, i+1)
			},
			"": func(t *rapid.T) { checkQueue(t, q, turns) },
		})
	})
}

func checkQueue(t *rapid.T, q *queue, turns map[string][]*turn) {
	running, waiting := 0, 0
	for a, all := range turns {
		mine := 0
		for _, turn := range all {
			select {
			case <-turn.come:
				mine++
			default:
				waiting++
			}
		}
		running += mine
		if s := q.analysts[a]; s != nil && s.running != mine || s == nil && len(all) > 0 {
			t.Fatalf("%s has %d sessions, counted %+v", a, mine, s)
		}
		if mine > q.limits.AnalystSessions {
			t.Fatalf("%s has %d sessions", a, mine)
		}
	}
	if running != q.running || waiting != q.waiting || running > q.sessions {
		t.Fatalf("%d run and %d wait, counted %d and %d", running, waiting, q.running, q.waiting)
	}
	if s := q.next(); s != nil {
		t.Fatalf("a session is idle, and %+v waits", s)
	}
}
