package pgtemp

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"unsafe"
)

// A Gate stands before a server and relays. It can stop executions of a named portal: a
// statement that is planned and bound, and has not read a row.
type Gate struct {
	server   *Server
	listener net.Listener

	mu      sync.Mutex
	clients map[net.Conn]bool
	change  sync.Cond
	shut    bool
	breaks  bool
	fails   string // the SQLSTATE of executions
	waiting int
	gone    bool
}

// Gate opens a gate before the server.
func (s *Server) Gate(ctx context.Context) (*Gate, error) {
	var plain net.ListenConfig
	plain.SetMultipathTCP(false) // whose sockets take no filter
	l, err := plain.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &Gate{server: s, listener: l, clients: map[net.Conn]bool{}}
	g.change.L = &g.mu
	go g.serve(ctx)
	return g, nil
}

// URL returns a connection string through the gate.
func (g *Gate) URL(database, role string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", role, g.listener.Addr(), database)
}

// Shut makes executions wait.
func (g *Gate) Shut() { g.set(true, false, "") }

// Break ends the sessions whose executions wait, and the sessions of executions to come.
func (g *Gate) Break() { g.set(true, true, "") }

// Fail has the server raise an error in the place of the executions that wait, and of those to come.
func (g *Gate) Fail(sqlstate string) { g.set(false, false, sqlstate) }

// Open lets executions pass.
func (g *Gate) Open() { g.set(false, false, "") }

// Vanish has the machine be gone without a word: the kernel drops all that comes, so that nothing is acknowledged or answered any
// more. Requests from before are to be answered already, or wait. New sessions are not taken before [Gate.Return].
func (g *Gate) Vanish() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	all := []syscall.Conn{g.listener.(*net.TCPListener)}
	for client := range g.clients {
		all = append(all, client.(*net.TCPConn))
	}
	for _, c := range all {
		if err := option(c, syscall.SO_ATTACH_FILTER); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
	}
	g.gone = true
	return nil
}

// Return has the machine be there again. Sessions from before do not come back.
func (g *Gate) Return() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.gone = false
	return option(g.listener.(*net.TCPListener), syscall.SO_DETACH_FILTER)
}

// Deafen has the kernel drop all that comes for a connection, as if its machine were gone.
func Deafen(conn *net.TCPConn) error { return option(conn, syscall.SO_ATTACH_FILTER) }

// option attaches to a socket a filter that lets nothing in, or detaches it.
func option(c syscall.Conn, option int) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	drop := syscall.SockFilter{Code: syscall.BPF_RET | syscall.BPF_K}
	program := syscall.SockFprog{Len: 1, Filter: &drop}
	var errno syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall6(syscall.SYS_SETSOCKOPT, fd, syscall.SOL_SOCKET, uintptr(option),
			uintptr(unsafe.Pointer(&program)), unsafe.Sizeof(program), 0)
	})
	if err == nil && errno != 0 {
		err = errno
	}
	return err
}

// Move has the gate stand before another server, for sessions to come.
func (g *Gate) Move(to *Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.server = to
}

func (g *Gate) isGone() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.gone
}

// address is the socket of the server.
func (g *Gate) address() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return filepath.Join(g.server.SocketDir, fmt.Sprintf(".s.PGSQL.%d", g.server.Port))
}

// Close ends the gate.
func (g *Gate) Close() {
	_ = g.listener.Close()
	g.Open()
}

// Waiting returns how many executions wait.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waiting
}

func (g *Gate) set(shut, breaks bool, fails string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut, g.breaks, g.fails = shut, breaks, fails
	g.change.Broadcast()
}

// pass waits until an execution may pass, and returns what is sent in its place. It reports false if its
// session is to end.
func (g *Gate) pass(execution []byte, gone *bool) ([]byte, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waiting++
	defer func() { g.waiting-- }()
	for g.shut && !g.breaks && !*gone {
		g.change.Wait()
	}
	if g.fails != "" {
		execution = raising(g.fails)
	}
	return execution, !g.breaks && !*gone
}

// raising are the messages of a statement that raises an error.
func raising(sqlstate string) []byte {
	message := func(kind byte, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)), body...)
	}
	parse := message('P', "\x00DO $$ BEGIN RAISE EXCEPTION 'failed' USING ERRCODE = '"+sqlstate+"'; END $$\x00\x00\x00")
	bind, execute := message('B', "\x00\x00\x00\x00\x00\x00\x00\x00"), message('E', "\x00\x00\x00\x00\x00")
	return slices.Concat(parse, bind, execute)
}

func (g *Gate) serve(ctx context.Context) {
	for {
		client, err := g.listener.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		g.clients[client] = true
		g.mu.Unlock()
		go g.relay(ctx, client)
	}
}

func (g *Gate) relay(ctx context.Context, client net.Conn) {
	defer func() {
		client.Close()
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.clients, client)
	}()
	server, err := new(net.Dialer).DialContext(ctx, "unix", g.address())
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(client, server)
		if !g.isGone() { // a machine that is gone does not say so
			client.Close()
		}
	}()
	messages, gone := make(chan []byte, 1000), false
	go func() {
		read(bufio.NewReader(client), messages)
		g.mu.Lock()
		defer g.mu.Unlock()
		gone = true
		g.change.Broadcast()
	}()
	for m := range messages {
		named := len(m) > 5 && m[0] == 'E' && m[5] != 0
		if named {
			var may bool
			if m, may = g.pass(m, &gone); !may {
				break
			}
		}
		if _, err := server.Write(m); err != nil {
			break
		}
	}
}

// read reads the messages of a session: the first has no type.
func read(r *bufio.Reader, messages chan<- []byte) {
	defer close(messages)
	for head := 4; ; head = 5 {
		m := make([]byte, head)
		if _, err := io.ReadFull(r, m); err != nil {
			return
		}
		size := int(binary.BigEndian.Uint32(m[head-4:])) - 4
		m = append(m, make([]byte, max(size, 0))...)
		if _, err := io.ReadFull(r, m[head:]); err != nil {
			return
		}
		messages <- m
	}
}
