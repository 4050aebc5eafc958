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
// crypto/rand. It is safe for concurrent use, and does not allocate once it has
// served as many draws at a time as there are.
//
// It never gives a weak word: crypto/rand ends the process when the operating
// system has no randomness to give.
func NewSource() Source { return new(systemSource) }

// A systemSource lends its words to one draw at a time, tape by tape, so that a
// draw takes its lock once, and draws do not wait for each other. It holds tapes
// behind functions: fmt would follow a pointer, and print the noise of draws to
// come.
//
// Its words are in the process's memory. A running machine whose copy is restored
// twice draws the same noise twice.
type systemSource struct {
	mu   sync.Mutex
	idle []func() *tape
}

var _ Source = (*systemSource)(nil)

// Uint64 implements Source.
func (s *systemSource) Uint64() uint64 {
	t := s.lend()
	defer s.take(t)
	return t.Uint64()
}

// lend returns a tape that nobody else has.
func (s *systemSource) lend() *tape {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		t := new(tape)
		t.self = func() *tape { return t }
		return t
	}
	t := s.idle[last]()
	s.idle = s.idle[:last]
	return t
}

// take takes a tape back.
func (s *systemSource) take(t *tape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, t.self)
}

// borrow returns a source for one draw: a tape of src if that is ours, else src.
// The draw must giveBack the source that it got.
func borrow(src Source) Source {
	if s, ok := src.(*systemSource); ok {
		return s.lend()
	}
	return src
}

// giveBack ends a draw that borrowed from src.
func giveBack(src, borrowed Source) {
	if s, ok := src.(*systemSource); ok {
		s.take(borrowed.(*tape))
	}
}

// A tape buffers words, because a system call for each would cost more than all
// the arithmetic of a draw. It is not safe for concurrent use.
type tape struct {
	self   func() *tape
	left   int // bytes at the end of the buffer that were not handed out
	buffer [4096]byte
}

var _ Source = (*tape)(nil)

// Uint64 implements Source. A word that was handed out is wiped, so that the
// memory of the process does not hold the noise of past answers.
func (t *tape) Uint64() uint64 {
	if t.left == 0 {
		// Read returns no error: it ends the process instead.
		_, _ = rand.Read(t.buffer[:])
		t.left = len(t.buffer)
	}
	word := t.buffer[len(t.buffer)-t.left:][:8]
	t.left -= 8
	x := binary.LittleEndian.Uint64(word)
	binary.LittleEndian.PutUint64(word, 0)
	return x
}
