package mechanisms

import (
	"crypto/rand"
	"encoding/binary"
	"sync"
)

// A Source gives independent, uniformly distributed 64-bit words. It has the
// method set of math/rand/v2.Source, so that a test can give a seeded one.
type Source interface{ Uint64() uint64 }

// NewSource returns a Source fed by the operating system's generator through
// crypto/rand. It is safe for concurrent use and does not allocate; one source
// for each statement avoids waiting for its lock.
//
// It never gives a weak word: crypto/rand ends the process when the operating
// system has no randomness to give.
func NewSource() Source { return new(systemSource) }

// A systemSource buffers words, because a system call for each would cost more
// than all the arithmetic of a draw.
type systemSource struct {
	mu     sync.Mutex
	unread []byte
	buffer [1024]byte
}

var _ Source = (*systemSource)(nil)

// Uint64 implements Source. A word that was handed out is wiped, so that the
// memory of the process does not hold the noise of past answers.
func (s *systemSource) Uint64() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unread) == 0 {
		// Read returns no error: it ends the process instead.
		_, _ = rand.Read(s.buffer[:])
		s.unread = s.buffer[:]
	}
	word := s.unread[:8]
	s.unread = s.unread[8:]
	x := binary.LittleEndian.Uint64(word)
	clear(word)
	return x
}
