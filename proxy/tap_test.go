package proxy_test

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A tap is between dpproxy and a database. It notes dpproxy's messages, and can hold
// cancel requests back.
type tap struct {
	// edit changes the start-up parameters of a session.
	edit func(map[string]string)
	// before is called with the text of a statement before it is sent.
	before func(sql string)

	mu    sync.Mutex
	texts []string // of Parse and Query
	sent  int      // writes
	hold  bool
	held  []*tapped // cancel requests
}

// put makes the connections of a pool go through the tap.
func (p *tap) put(cfg *pgxpool.Config) {
	cfg.ConnConfig.DialFunc = p.dial
}

func (p *tap) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return &tapped{Conn: conn, tap: p}, err
}

// writes counts the writes of dpproxy, a flush for one.
func (p *tap) writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

// statements returns the texts of statements that were sent.
func (p *tap) statements() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.texts...)
}

// holdCancels keeps the cancel requests to come until deliver.
func (p *tap) holdCancels() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = true
}

// deliver sends the cancel requests that are held, waits until the server has dealt with
// them, and returns how many they were.
func (p *tap) deliver() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hold = false
	for _, c := range p.held {
		_, _ = c.Conn.Write(c.request)
		_ = c.SetDeadline(time.Time{})
		_, _ = c.Read(make([]byte, 1)) // it ends when the server closes
		c.Conn.Close()
	}
	return len(p.held)
}

// canceling returns how many cancel requests are held.
func (p *tap) canceling() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.held)
}

type tapped struct {
	net.Conn
	tap     *tap
	started bool
	request []byte // of a cancel that is held
}

// Write takes one or more whole messages: pgx flushes whole ones.
func (c *tapped) Write(b []byte) (int, error) {
	n := len(b)
	if !c.started {
		c.started = true
		if binary.BigEndian.Uint32(b[4:]) == 80877102 && c.tap.keep(c, b) {
			return n, nil
		}
		b = c.tap.start(b)
	} else {
		c.tap.note(b)
	}
	if _, err := c.Conn.Write(b); err != nil {
		return 0, err
	}
	return n, nil
}

// Close leaves a held cancel request open.
func (c *tapped) Close() error {
	if c.request != nil {
		return nil
	}
	return c.Conn.Close()
}

func (p *tap) keep(c *tapped, request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hold {
		c.request = append([]byte(nil), request...)
		p.held = append(p.held, c)
	}
	return p.hold
}

func (p *tap) start(b []byte) []byte {
	var m pgproto3.StartupMessage
	if p.edit == nil || m.Decode(b[4:]) != nil {
		return b
	}
	p.edit(m.Parameters)
	out, err := m.Encode(nil)
	if err != nil {
		return b
	}
	return out
}

func (p *tap) note(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent++
	for len(b) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(b[1:]))
		if b[0] == 'P' || b[0] == 'Q' {
			text := string(b[5:size])
			p.texts = append(p.texts, text)
			if p.before != nil {
				p.before(text)
			}
		}
		b = b[size:]
	}
}
