package wire

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/binary"
	"sync"
)

// sessions are the clients that have logged in, by the number that a cancel request names.
type sessions struct {
	mu      sync.Mutex
	byPID   map[uint32]*relay // as clients know them
	senders *senders
	// dismissals counts how often the sessions of a user were ended, and dismissed has the number of each user's last.
	dismissals uint64
	dismissed  map[string]uint64
}

func newSessions() *sessions {
	return &sessions{byPID: map[uint32]*relay{}, senders: newSenders(), dismissed: map[string]uint64{}}
}

// add gives the session its cancel key. Clients know it by the mirror's process,
// which pg_backend_pid() shows them too, unless another session has that name.
func (r *sessions) add(s *relay, version, process uint32) {
	s.key, s.process = newCancelKey(version, process), process
	r.mu.Lock()
	defer r.mu.Unlock()
	for s.key.pid == 0 || r.byPID[s.key.pid] != nil {
		var b [4]byte
		rand.Read(b[:])
		s.key.pid = binary.BigEndian.Uint32(b[:]) >> 1
	}
	r.byPID[s.key.pid] = s
	r.senders.add(process, sender{user: s.session.User(), pid: s.key.pid})
}

func (r *sessions) remove(s *relay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byPID, s.key.pid)
	r.senders.forget(s.process)
}

// dismiss notes that the sessions of a user are being ended, and returns all that there are.
func (r *sessions) dismiss(user string) []*relay {
	r.mu.Lock()
	r.dismissals++
	r.dismissed[user] = r.dismissals
	r.mu.Unlock()
	return r.all()
}

// moment returns the number of the last dismissal.
func (r *sessions) moment() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dismissals
}

// isDismissed reports whether the sessions of a user were ended after a moment.
func (r *sessions) isDismissed(user string, since uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dismissed[user] > since
}

// find returns the session of that key, or nil.
func (r *sessions) find(k cancelKey) *relay {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPID[k.pid]
	if s == nil || subtle.ConstantTimeCompare(s.key.secret, k.secret) != 1 {
		return nil
	}
	return s
}

func (r *sessions) all() []*relay {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*relay, 0, len(r.byPID))
	for _, s := range r.byPID {
		out = append(out, s)
	}
	return out
}
