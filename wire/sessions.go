package wire

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"sync"
	"time"
)

const (
	shortKeyBytes = 4 // of a cancel key in protocol 3.0
	longKeyBytes  = 32
	// notifyMemory is how long the sender of a notification is known after its
	// session has ended: a busy listener hears of it late.
	notifyMemory = time.Minute
)

// cancelKey is what a client must show to cancel.
type cancelKey struct {
	pid    uint32
	secret []byte
}

// sessions are those that are logged in.
type sessions struct {
	mu      sync.Mutex
	byPID   map[uint32]*Session // as clients know them
	senders map[uint32]*sender  // by process of the mirror
}

// sender is who a process of the mirror works for.
type sender struct {
	user string
	pid  uint32 // as clients know it
}

func newSessions() *sessions {
	return &sessions{byPID: map[uint32]*Session{}, senders: map[uint32]*sender{}}
}

// add gives the session its cancel key. Clients know it by the mirror's process,
// which pg_backend_pid() shows them too, unless another session has that name.
func (r *sessions) add(s *Session, version, process uint32) {
	length := shortKeyBytes
	if version >= protocol32 {
		length = longKeyBytes
	}
	s.key = cancelKey{pid: process, secret: make([]byte, length)}
	rand.Read(s.key.secret)
	s.process, s.siblings = process, r
	r.mu.Lock()
	defer r.mu.Unlock()
	for s.key.pid == 0 || r.byPID[s.key.pid] != nil {
		var b [4]byte
		rand.Read(b[:])
		s.key.pid = binary.BigEndian.Uint32(b[:]) >> 1
	}
	r.byPID[s.key.pid] = s
	r.senders[process] = &sender{user: s.login.User, pid: s.key.pid}
}

func (r *sessions) remove(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byPID, s.key.pid)
	process, last := s.process, r.senders[s.process] // not the session: it has large buffers
	time.AfterFunc(notifyMemory, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.senders[process] == last {
			delete(r.senders, process)
		}
	})
}

// find returns the session of that key, or nil.
func (r *sessions) find(k cancelKey) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPID[k.pid]
	if s == nil || subtle.ConstantTimeCompare(s.key.secret, k.secret) != 1 {
		return nil
	}
	return s
}

// sender returns who a process of the mirror works for, if it is known.
func (r *sessions) sender(process uint32) (sender, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if who := r.senders[process]; who != nil {
		return *who, true
	}
	return sender{}, false
}

func (r *sessions) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*Session, 0, len(r.byPID))
	for _, s := range r.byPID {
		out = append(out, s)
	}
	return out
}
