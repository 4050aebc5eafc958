package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	headerBytes = 5 // type and length
	readBuffer  = 16 << 10
	// loginMessageBytes bounds a message of a client that has not logged in.
	loginMessageBytes = 64 << 10
)

var (
	errTooLong = errors.New("wire: the message is longer than the limit")
	errLength  = errors.New("wire: the message has an impossible length")
)

// A reader cuts a byte stream into messages. It allocates nothing on the word
// of a length: memory grows with the bytes that really arrive.
type reader struct {
	r     *bufio.Reader
	limit int // on the length field; 0 is none
	taken int // bytes of the buffer that the last take lent out
	large bytes.Buffer
}

func newReader(r io.Reader, limit int) *reader {
	return &reader{r: bufio.NewReaderSize(r, readBuffer), limit: limit}
}

// release gives back the bytes that the last take lent out.
func (r *reader) release() {
	if r.taken > 0 {
		_, _ = r.r.Discard(r.taken) // it is in the buffer, since it was lent out
		r.taken = 0
	}
	if r.large.Cap() > 1<<20 {
		r.large = bytes.Buffer{}
	}
}

// head waits for the next message and returns its type and its size, header
// included. One of take, copyTo and skip must follow.
func (r *reader) head() (typ byte, size int, err error) {
	r.release()
	h, err := r.r.Peek(headerBytes)
	if err != nil {
		return 0, 0, err
	}
	n := binary.BigEndian.Uint32(h[1:])
	if n < 4 || n > 1<<30 {
		return 0, 0, errLength
	}
	if r.limit > 0 && int(n) > r.limit {
		return 0, 0, errTooLong
	}
	return h[0], int(n) + 1, nil
}

// take returns a whole message. It is valid until the next head or release.
func (r *reader) take(size int) ([]byte, error) {
	if size <= r.r.Size() {
		b, err := r.r.Peek(size)
		if err == nil {
			r.taken = size
		}
		return b, err
	}
	r.large.Reset()
	_, err := io.CopyN(&r.large, r.r, int64(size))
	return r.large.Bytes(), err
}

func (r *reader) copyTo(w *bufio.Writer, size int) error {
	if size > r.r.Buffered() {
		_, err := io.CopyN(w, r.r, int64(size))
		return err
	}
	b, err := r.r.Peek(size)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err = r.r.Discard(size)
	return err
}

func (r *reader) skip(size int) error {
	_, err := r.r.Discard(size)
	return err
}

// ready reports whether the next message is in memory already, so that reading
// it cannot block.
func (r *reader) ready() bool {
	have := r.r.Buffered() - r.taken
	if have < headerBytes {
		return false
	}
	b, _ := r.r.Peek(r.taken + headerBytes)
	n := binary.BigEndian.Uint32(b[r.taken+1:])
	return uint64(have) >= uint64(n)+1
}

// A peer is one of the two ends of a session.
type peer struct {
	conn net.Conn
	in   *reader
	mu   sync.Mutex // guards out: whole messages only
	out  *bufio.Writer
}

func newPeer(conn net.Conn, limit int) *peer {
	return &peer{conn: conn, in: newReader(conn, limit), out: bufio.NewWriterSize(conn, readBuffer)}
}

func (p *peer) write(messages []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(messages)
	return err
}

func (p *peer) flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out.Buffered() == 0 {
		return nil
	}
	return p.out.Flush()
}

// copyFrom passes a message on without looking at it.
func (p *peer) copyFrom(in *reader, size int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return in.copyTo(p.out, size)
}

// lingerTime bounds the wait for a client to read its last message.
const lingerTime = time.Second

// turnedTime is the same for one that makes room for others: there can be many of these.
const turnedTime = lingerTime / 10

// closeWrite says that nothing more comes. A connection that is closed while
// the peer still sends is reset, and the peer may not read its last message.
func closeWrite(c net.Conn) {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		_ = w.CloseWrite() // it fails where the peer has gone
	}
}

// discard reads until the peer is silent, for any reason.
func discard(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func remote(c net.Conn) string {
	if a := c.RemoteAddr(); a != nil {
		return a.String()
	}
	return ""
}

// encode appends a message that is known to fit the protocol's limits.
func encode(dst []byte, m pgproto3.Message) []byte {
	out, err := m.Encode(dst)
	if err != nil {
		return dst
	}
	return out
}

// cstring cuts a zero-terminated string off b.
func cstring(b []byte) (s string, rest []byte, ok bool) {
	before, after, ok := bytes.Cut(b, []byte{0})
	if !ok {
		return "", b, false
	}
	return string(before), after, true
}
