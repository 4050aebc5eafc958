package frugal_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"dpproxy/internal/frugal"
)

// pair connects two sockets, of which the first is frugal.
func pair(t *testing.T, network, address string) (ours, theirs net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	theirs, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	ours = frugal.Direct(accepted)
	if ours == accepted {
		t.Fatal("the connection is as it was")
	}
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

// TestSocket holds that a socket does all that a connection does.
func TestSocket(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		t.Run(network, func(t *testing.T) {
			ours, theirs := pair(t, network, address)
			passesBothWays(t, ours, theirs)
			keepsDeadlines(t, ours)
			ends(t, ours, theirs)
		})
	}
}

// passesBothWays sends more than the kernel holds, each way.
func passesBothWays(t *testing.T, ours, theirs net.Conn) {
	t.Helper()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	for _, way := range [][2]net.Conn{{ours, theirs}, {theirs, ours}} {
		written := make(chan error, 1)
		go func() {
			n, err := way[0].Write(sent)
			if err == nil && n != len(sent) {
				err = io.ErrShortWrite
			}
			written <- err
		}()
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("what came is not what was sent: %v", err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
}

func keepsDeadlines(t *testing.T, ours net.Conn) {
	t.Helper()
	began := make(chan struct{})
	go func() {
		<-began
		ours.SetReadDeadline(time.Unix(1, 0))
	}()
	close(began)
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read whose deadline is over ends in %v", err)
	}
	ours.SetReadDeadline(time.Time{})
}

// ends closes the one direction, then the other, and then reads and writes.
func ends(t *testing.T, ours, theirs net.Conn) {
	t.Helper()
	if err := ours.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Error(err)
	}
	if n, err := theirs.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("the peer reads %d bytes and %v behind the end", n, err)
	}
	theirs.Close()
	if n, err := ours.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d bytes and %v behind the end", n, err)
	}
	if _, err := ours.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write that nobody reads ends in %v", err)
	}
	ours.Close()
	if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of a closed socket ends in %v", err)
	}
}

// TestReset holds that a connection that was cut ends in the errors of the net package.
func TestReset(t *testing.T) {
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")} {
		t.Run(network, func(t *testing.T) {
			ours, theirs := pair(t, network, address)
			if _, err := ours.Write([]byte("unread")); err != nil {
				t.Fatal(err)
			}
			if tcp, ok := theirs.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			theirs.Close()
			var broken *net.OpError
			if _, err := ours.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &broken) {
				t.Errorf("a read of a connection that was cut ends in %T: %[1]v", err)
			}
			if _, err := ours.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) || !errors.As(err, &broken) {
				t.Errorf("a write to a connection that was cut ends in %T: %[1]v", err)
			}
		})
	}
}

// TestDirectLeavesOthers holds that connections which are no sockets stay as they are.
func TestDirectLeavesOthers(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if frugal.Direct(a) != a {
		t.Error("a pipe was changed")
	}
}
