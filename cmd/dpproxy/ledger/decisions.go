package ledger

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"dpproxy/accountant"
	"dpproxy/accountant/history"
)

// A dpproxy that runs has its ledger to itself, and takes decisions about it over a socket in the ledger's folder: a
// line of JSON each, and one in reply.

const (
	// decisionsName is the name of the socket.
	decisionsName = "decisions.sock"
	// decisionTime bounds the wait for a decision, and for the reply to it.
	decisionTime = 10 * time.Second
	maxDecision  = 1 << 16 // bytes
)

// decisionRequest asks for a decision.
type decisionRequest struct {
	// Entry is the decision as a first entry of a ledger.
	Entry string `json:"entry"`
}

// decisionReply says whether the decision is durable.
type decisionReply struct {
	Refused string `json:"refused,omitempty"`
	// UnknownScope says that it is about a budget that there is not.
	UnknownScope bool `json:"unknown_scope,omitempty"`
}

// refusedError is the refusal of a dpproxy that runs.
type refusedError decisionReply

// Error implements error.
func (e refusedError) Error() string { return "the running dpproxy refuses: " + e.Refused }

// Is reports whether the ledger's error was another one.
func (e refusedError) Is(target error) bool {
	return e.UnknownScope && target == accountant.ErrUnknownScope
}

// throughFolder calls f with the name of the socket by an open folder: the names of sockets are short.
func throughFolder(dir string, f func(name string) error) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = folder.Close() }()
	return f(fmt.Sprintf("/proc/self/fd/%d/%s", folder.Fd(), decisionsName))
}

// ServeDecisions has decisions about the embedded ledger taken until stop is called. The ledger's lock is held, so that
// a socket which is there is left over.
func (s *Books) ServeDecisions(ctx context.Context, take taker) (stop func(), err error) {
	if s.Shared() {
		return func() {}, nil
	}
	dir := s.Policy.Ledger.Dir
	path := filepath.Join(dir, decisionsName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var listener *net.UnixListener
	if err := throughFolder(dir, func(name string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		return err
	}); err != nil {
		return nil, fmt.Errorf("decisions about the ledger: %w", err)
	}
	listener.SetUnlinkOnClose(false) // by a name that is no more
	stop = func() {
		_ = os.Remove(path)
		_ = listener.Close()
	}
	if err := os.Chmod(path, 0o600); err != nil {
		stop()
		return nil, err
	}
	go take.all(ctx, listener)
	return stop, nil
}

// A taker makes a decision durable, as a dpproxy that runs takes it.
type taker func(ctx context.Context, decision history.Entry) error

// all takes decisions until the listener is closed.
func (take taker) all(ctx context.Context, listener *net.UnixListener) {
	for {
		conn, err := listener.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(decisionTime))
			reply := decisionReply{}
			if err := take.one(context.WithoutCancel(ctx), conn); err != nil {
				reply = decisionReply{err.Error(), errors.Is(err, accountant.ErrUnknownScope)}
			}
			_ = json.NewEncoder(conn).Encode(reply)
		}()
	}
}

// one reads a decision and takes it.
func (take taker) one(ctx context.Context, conn *net.UnixConn) error {
	var request decisionRequest
	if err := json.NewDecoder(io.LimitReader(conn, maxDecision)).Decode(&request); err != nil {
		return errors.New("the decision is unreadable")
	}
	if err := checkPeer(conn); err != nil { // behind the request, so that the reply is read
		return err
	}
	record, err := history.Decode([]byte(request.Entry), 1, history.Hash{})
	if err != nil {
		return fmt.Errorf("the decision is unreadable: %w", err)
	}
	if !taken(record.Entry) {
		return errors.New("a running dpproxy does not take this decision: stop it first")
	}
	return take(ctx, record.Entry)
}

// taken reports whether a dpproxy that runs takes a decision.
func taken(e history.Entry) bool {
	return is[history.RaiseEntry](e) || is[history.LowerEntry](e) || is[history.FreezeEntry](e) || is[history.ClearEntry](e) ||
		is[history.RenameEntry](e) || is[history.RetireEntry](e)
}

// checkPeer refuses all accounts but dpproxy's own and root's, also where the socket's mode was changed.
func checkPeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return admitPeer(int(peer.Uid), os.Geteuid())
}

func admitPeer(peer, own int) error {
	if peer != own && peer != 0 {
		return fmt.Errorf("the account %d may not decide about this ledger: that takes the one that dpproxy runs as, or root", peer)
	}
	return nil
}

// A runningLedger is the ledger of a dpproxy that runs.
type runningLedger struct{ dir string }

var _ decider = runningLedger{}

// errNotRunning says that no dpproxy takes decisions.
var errNotRunning = errors.New("no dpproxy takes decisions about this ledger")

// running reports whether a dpproxy takes decisions.
func (l runningLedger) running(ctx context.Context) bool {
	conn, err := l.dial(ctx)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

func (l runningLedger) dial(ctx context.Context) (conn net.Conn, err error) {
	err = throughFolder(l.dir, func(name string) (err error) {
		conn, err = (&net.Dialer{Timeout: decisionTime}).DialContext(ctx, "unix", name)
		return err
	})
	return conn, err
}

// Decide has a decision made. After an error that is no refusal it may or may not count.
func (l runningLedger) Decide(ctx context.Context, decision history.Entry) error {
	body, err := history.Prepare("", decision)
	if err != nil {
		return err
	}
	conn, err := l.dial(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRunning, err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * decisionTime)); err != nil {
		return err
	}
	request := decisionRequest{Entry: string(body.Line(1, history.Hash{}, time.Time{}))}
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fmt.Errorf("the running dpproxy does not take the decision: %w", err)
	}
	var reply decisionReply
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&reply); err != nil {
		return fmt.Errorf("the running dpproxy has not confirmed the decision, which may or may not count: "+
			"dpproxy ledger export shows the last entries: %w", err)
	}
	if reply.Refused != "" {
		return refusedError(reply)
	}
	return nil
}

// Close implements decider.
func (runningLedger) Close() error { return nil }

// openEmbeddedDecider returns the ledger of the dpproxy that runs, and opens its files where none does. One that is
// about to start or to end holds the files, and takes no decisions yet, or no more.
func (s *Books) openEmbeddedDecider(ctx context.Context, log *slog.Logger) (decider, error) {
	deadline := time.Now().Add(decisionTime)
	for {
		if l := (runningLedger{s.Policy.Ledger.Dir}); l.running(ctx) {
			return l, nil
		}
		l, err := s.openEmbedded(ctx, log, false)
		if err == nil {
			return l, nil
		}
		if !isLocked(err) || time.Now().After(deadline) || ctx.Err() != nil {
			return nil, s.advise(err)
		}
		<-time.NewTimer(100 * time.Millisecond).C
	}
}
