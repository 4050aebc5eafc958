package memory

import (
	"context"
	"sync"
	"time"

	"dpproxy/answers"
)

// The store has a list of the epochs of which it has releases, under keys of their own, so that a release of a former epoch is found.

// mostEpochs bounds how many former epochs are searched for an answer.
const mostEpochs = 100

// epochs is the last epoch that is known to be on the list.
type epochs struct {
	mu   sync.Mutex
	last string
}

// listOfEpochs is the list as a question that has a generation for each epoch.
func listOfEpochs() *question {
	return &question{parts: [][]byte{[]byte("epoch")}, generations: 1 << 30, generation: -1}
}

// enter puts the present epoch on the list. An epoch that is not put there is not searched later.
func (m *Memory) enter(ctx context.Context) {
	if m.store == nil || m.now == nil {
		return
	}
	m.epochs.mu.Lock()
	defer m.epochs.mu.Unlock()
	now := m.epoch()
	if m.epochs.last == now {
		return
	}
	list := listOfEpochs()
	if last := list.last(func(key answers.Key) *answers.Release { return m.get(ctx, key) }); last == nil || string(last.Request) != now {
		if _, err := m.store.Put(ctx, list.next(), answers.Release{Request: []byte(now), At: m.time()}); err != nil {
			m.log.Warn("an epoch is not remembered", "cause", err)
			return
		}
	}
	m.epochs.last = now
}

// earlier are the former epochs that may have releases which are no older than since, the latest first.
func (m *Memory) earlier(ctx context.Context, since time.Time) (all []string) {
	list := listOfEpochs()
	entry, now := list.last(func(key answers.Key) *answers.Release { return m.get(ctx, key) }), m.epoch()
	for entry != nil && len(all) < mostEpochs {
		if epoch := string(entry.Request); epoch != now {
			all = append(all, epoch)
		}
		if time.Unix(entry.At, 0).Before(since) || list.generation == 0 {
			break // those before it ended before it began
		}
		list.generation--
		entry = m.get(ctx, list.key(list.generation))
	}
	return all
}
