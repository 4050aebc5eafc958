package wire

import (
	"sync"
	"time"
)

// notifyMemory is how long the sender of a notification is known after its
// session has ended: a busy listener hears of it late.
const notifyMemory = time.Minute

// senders are the users that processes of the mirror work for.
type senders struct {
	mu        sync.Mutex
	byProcess map[uint32]*sender
}

// sender is a user with one of their sessions.
type sender struct {
	user string
	pid  uint32 // as clients know it
}

func newSenders() *senders { return &senders{byProcess: map[uint32]*sender{}} }

func (s *senders) add(process uint32, named sender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byProcess[process] = &named
}

// forget forgets a process a while after its session has ended, unless it works for another
// one by then.
func (s *senders) forget(process uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.byProcess[process] // not the session: it has large buffers
	time.AfterFunc(notifyMemory, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.byProcess[process] == last {
			delete(s.byProcess, process)
		}
	})
}

// find returns the user that a process works for, if it is known.
func (s *senders) find(process uint32) (sender, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byProcess[process]; found != nil {
		return *found, true
	}
	return sender{}, false
}
