package proxy_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/await"
	"dpproxy/proxy"
)

// A spoiler changes a row that the protected database sends, or another message.
type spoiler struct {
	mu    sync.Mutex
	kind  byte                    // the type of messages that count
	left  int                     // of these before the one that is changed; −1: none is
	spoil func(row []byte) []byte // the message
	then  func(*spoiled) error    // what the connection does behind it
	pace  chan struct{}           // a row comes when something is sent here, unless it is nil
}

func (s *spoiler) put(cfg *pgxpool.Config) {
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &spoiled{Conn: conn, by: s, messages: bufio.NewReader(conn), ended: make(chan struct{})}, err
	}
}

// at changes the row behind so many others, and has the connection do something behind it.
func (s *spoiler) at(rows int, spoil func([]byte) []byte, then func(*spoiled) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind, s.left, s.spoil, s.then = 'D', rows, spoil, then
}

// behindFirst is at, of rows behind the first exchange with reads.
func (s *spoiler) behindFirst(rows int, spoil func([]byte) []byte, then func(*spoiled) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind, s.left, s.then = 'Z', 0, nil
	s.spoil = func(ready []byte) []byte {
		s.kind, s.left, s.spoil, s.then = 'D', rows, spoil, then
		return ready
	}
}

// paced has rows come one by one.
func (s *spoiler) paced(by chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace = by
}

// pass returns what comes of a message, and what the connection does then.
func (s *spoiler) pass(m []byte) ([]byte, func(*spoiled) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m[0] != s.kind || s.left < 0 {
		return m, nil
	}
	if s.left--; s.left >= 0 {
		return m, nil
	}
	then := s.then
	return s.spoil(m), then
}

// wait waits for the turn of a message.
func (s *spoiler) wait(c *spoiled, m []byte) {
	s.mu.Lock()
	pace := s.pace
	s.mu.Unlock()
	if pace == nil || m[0] != 'D' {
		return
	}
	select {
	case <-pace:
	case <-c.ended:
	}
}

// spoiled is a connection to the protected database.
type spoiled struct {
	net.Conn
	by       *spoiler
	messages *bufio.Reader
	ready    []byte
	then     func(*spoiled) error

	once  sync.Once
	ended chan struct{} // closed when nobody waits any more
}

func (c *spoiled) Read(b []byte) (int, error) {
	if len(c.ready) == 0 {
		if c.then != nil {
			return 0, c.then(c)
		}
		head := make([]byte, 5)
		if _, err := io.ReadFull(c.messages, head); err != nil {
			return 0, err
		}
		m := slices.Concat(head, make([]byte, binary.BigEndian.Uint32(head[1:])-4))
		if _, err := io.ReadFull(c.messages, m[5:]); err != nil {
			return 0, err
		}
		c.by.wait(c, m)
		c.ready, c.then = c.by.pass(m)
	}
	n := copy(b, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

func (c *spoiled) SetDeadline(at time.Time) error {
	if !at.IsZero() {
		c.once.Do(func() { close(c.ended) })
	}
	return c.Conn.SetDeadline(at)
}

// closes ends a connection, stays says nothing any more.
func closes(*spoiled) error { return io.EOF }

func stays(c *spoiled) error {
	<-c.ended
	return context.DeadlineExceeded
}

// whole is all of a message.
func whole(m []byte) []byte { return m }

// half is the first half of a message.
func half(m []byte) []byte { return m[:len(m)/2] }

// rowOf makes a row of values.
func rowOf(columns int, value []byte) []byte {
	m := binary.BigEndian.AppendUint16([]byte{'D', 0, 0, 0, 0}, uint16(columns))
	for range columns {
		m = append(binary.BigEndian.AppendUint32(m, uint32(len(value))), value...)
	}
	binary.BigEndian.PutUint32(m[1:], uint32(len(m)-1))
	return m
}

// anotherFormat gives a row a last value of three bytes.
func anotherFormat(m []byte) []byte {
	at := 7
	for range int(m[6]) - 1 {
		if n := int32(binary.BigEndian.Uint32(m[at:])); n > 0 {
			at += int(n)
		}
		at += 4
	}
	out := slices.Concat(m[:at], []byte{0, 0, 0, 3}, []byte("1.5"))
	binary.BigEndian.PutUint32(out[1:], uint32(len(out)-1))
	return out
}

// TestBrokenRows has the protected database send rows that are none, end in the middle of one, and say nothing more: the
// charge stays, and the error is the same however many rows came before.
func TestBrokenRows(t *testing.T) {
	s, clock := &spoiler{left: -1}, &fakeClock{now: time.Unix(1000, 0)}
	w := newWorldOver(t, s.put, func(cfg *proxy.Config) {
		cfg.Defaults.EpsilonPico, cfg.Grid = dp.PicoPerUnit, clock.grid(time.Second)
	}, limit(t, accountant.UnitScope, "patient", dp.ZCDP, 9_000_000))
	timesOut := func(c *spoiled) error {
		clock.pass(12 * time.Second)
		return stays(c)
	}
	for _, sql := range []string{
		"SELECT diagnosis, sum(cost) FROM visits GROUP BY diagnosis",
		"SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY cost) FROM visits",
		"SELECT sum(cost) FROM visits",
	} {
		one := w.price(t, func() { must(t, connect(t, w.url("ana")), sql) })
		for name, c := range map[string]struct {
			spoil func([]byte) []byte
			then  func(*spoiled) error
			code  string
		}{
			"a row of fewer columns":        {func([]byte) []byte { return rowOf(1, []byte{0, 0, 0, 1}) }, nil, "PB009"},
			"a row of more columns":         {func([]byte) []byte { return rowOf(99, nil) }, nil, "PB009"},
			"a number of another format":    {anotherFormat, nil, "PB009"},
			"a value that is longer":        {func(m []byte) []byte { return append(slices.Clone(m[:7]), 0, 0, 99, 99) }, closes, "PB017"},
			"an end in the middle of a row": {half, closes, "PB017"},
			"nothing behind half of a row":  {half, timesOut, "57014"},
			"nothing behind a row":          {whole, timesOut, "57014"},
			"an end behind a row":           {whole, closes, "PB017"},
		} {
			var texts []string
			for _, rows := range []int{4, 900} {
				ana := connect(t, w.url("ana"))
				if c.code == "57014" {
					must(t, ana, "SET statement_timeout = '10s'")
				}
				var err error
				cost := w.price(t, func() { err = w.spoiledRead(t, ana, s, sql, func() { s.at(rows, c.spoil, c.then) }) })
				if code(err) != c.code {
					t.Errorf("%s, %s behind %d rows: %v, want %s", sql, name, rows, err, c.code)
				}
				if cost != one {
					t.Errorf("%s, %s behind %d rows costs %d, want %d", sql, name, rows, cost, one)
				}
				texts = append(texts, fmt.Sprint(err))
				if err := w.ledger.ClearIncidents(t.Context(), "", "a test"); err != nil {
					t.Fatal(err)
				}
				if c.code == "PB017" { // it is prepaid
					must(t, connect(t, w.url("ana")), sql)
				}
			}
			if texts[0] != texts[1] {
				t.Errorf("%s, %s: %q and %q", sql, name, texts[0], texts[1])
			}
		}
	}
}

// spoiledRead asks a statement, and has something done when it is charged and before its rows come.
func (w *world) spoiledRead(t *testing.T, ana *pgx.Conn, s *spoiler, sql string, spoil func()) error {
	t.Helper()
	w.gate.Shut()
	answered := make(chan error, 1)
	go func() {
		_, err := ana.Exec(t.Context(), sql)
		answered <- err
	}()
	await.That(t, "the read waits", func() bool { return w.gate.Waiting() == 1 })
	spoil()
	w.gate.Open()
	defer s.at(-1, nil, nil)
	return <-answered
}
