package faulttest_test

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A cutter is the network between proxies and a Redis: it passes bytes both ways
// until it is told to fail.
type cutter struct {
	listener net.Listener

	mu     sync.Mutex
	target string // the socket of Redis
	refuse bool
	lossy  bool          // replies vanish
	late   time.Duration // by which replies are late
	turn   int           // of faults; an older one's end changes nothing
	conns  map[net.Conn]bool
	done   chan struct{}
}

func newCutter(t *testing.T, target string) *cutter {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{listener: listener, target: target, conns: map[net.Conn]bool{}, done: make(chan struct{})}
	go c.accept()
	t.Cleanup(func() {
		listener.Close()
		c.reset()
		close(c.done)
	})
	return c
}

func (c *cutter) addr() string { return c.listener.Addr().String() }

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		refuse, target := c.refuse, c.target
		c.mu.Unlock()
		if refuse {
			client.Close()
			continue
		}
		server, err := net.Dial("unix", target)
		if err != nil {
			client.Close()
			continue
		}
		go c.relay(client, server)
	}
}

// relay passes bytes until either end closes.
func (c *cutter) relay(client, server net.Conn) {
	if !c.keep(client, server) {
		return
	}
	go func() {
		_, _ = io.Copy(server, client)
		c.drop(client, server)
	}()
	c.replies(client, server)
	c.drop(client, server)
}

// replies passes the replies of Redis. Once some of it has vanished, so does all
// that follows on the connection, because no network loses bytes in the middle.
func (c *cutter) replies(client, server net.Conn) {
	buffer, gone := make([]byte, 64<<10), false
	for {
		n, err := server.Read(buffer)
		if err != nil {
			return
		}
		c.mu.Lock()
		late := c.late
		gone = gone || c.lossy
		c.mu.Unlock()
		if late > 0 {
			select {
			case <-time.After(late):
			case <-c.done:
			}
		}
		if gone {
			continue
		}
		if _, err := client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// keep remembers two ends, unless the network was cut meanwhile.
func (c *cutter) keep(ends ...net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range ends {
		if c.refuse {
			end.Close()
			continue
		}
		c.conns[end] = true
	}
	return !c.refuse
}

func (c *cutter) drop(ends ...net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range ends {
		end.Close()
		delete(c.conns, end)
	}
}

// reset ends every connection with a TCP reset.
func (c *cutter) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for end := range c.conns {
		if tcp, ok := end.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		end.Close()
	}
	clear(c.conns)
}

// cut ends every connection and refuses new ones until the network is healed.
func (c *cutter) cut() {
	c.set(func() { c.refuse = true })
	c.reset()
}

// swallow lets requests through and loses the replies.
func (c *cutter) swallow() { c.set(func() { c.lossy = true }) }

// slow delays replies.
func (c *cutter) slow(late time.Duration) { c.set(func() { c.late = late }) }

// heal ends a cut, a swallow and a slow network.
func (c *cutter) heal() { c.set(func() {}) }

// retarget leads new connections to another Redis.
func (c *cutter) retarget(socket string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.target = socket
}

func (c *cutter) set(fault func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse, c.lossy, c.late = false, false, 0
	fault()
	c.turn++
}

// healAfter heals the network after a time, unless another fault came first.
func (c *cutter) healAfter(d time.Duration) {
	c.mu.Lock()
	turn := c.turn
	c.mu.Unlock()
	time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.turn == turn {
			c.refuse, c.lossy, c.late = false, false, 0
		}
	})
}

func (c *cutter) port() string {
	_, port, _ := net.SplitHostPort(c.addr())
	return port
}
