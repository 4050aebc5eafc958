package proxy

import (
	"net"
	"testing"
	"time"
)

// TestQuiet tells a connection on which nothing has come from one that has ended, has
// something to say, or cannot be looked at.
func TestQuiet(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	pair := func() (near, far net.Conn) {
		near, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		far, err = listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { near.Close(); far.Close() })
		return near, far
	}
	// loud waits for what is on its way.
	loud := func(c net.Conn) bool {
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
			if !quiet(c) {
				return true
			}
		}
		return false
	}
	near, far := pair()
	for range 2 {
		if !quiet(near) {
			t.Error("an idle connection is not quiet")
		}
	}
	far.Write([]byte("E"))
	if !loud(near) {
		t.Error("a message was not noticed")
	}
	near.Read(make([]byte, 1))
	if !quiet(near) {
		t.Error("a connection whose message was read is not quiet")
	}
	far.Close()
	if !loud(near) {
		t.Error("an end was not noticed")
	}
	near, far = pair()
	far.(*net.TCPConn).SetLinger(0)
	far.Close()
	if !loud(near) {
		t.Error("a reset was not noticed")
	}
	near, _ = pair()
	near.Close()
	if quiet(near) {
		t.Error("a closed connection is quiet")
	}
	if one, _ := net.Pipe(); quiet(one) {
		t.Error("a connection that is no socket is quiet")
	}
}

// TestQuietBesideRead looks at a connection while somebody reads from it, as pgconn can do
// behind a slow write. It does not wait for that read.
func TestQuietBesideRead(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	go near.Read(make([]byte, 1))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 10_000 { // before and after the other has begun
			quiet(near)
		}
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Error("it waits for the other read")
	}
}
