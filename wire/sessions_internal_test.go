package wire

import (
	"runtime"
	"testing"
	"weak"
)

// The sender of a notification is known for a while after their session has ended; the session's
// buffers are not kept for that.
func TestEndedSessionsAreForgotten(t *testing.T) {
	all := newSessions()
	const process = 42
	gone := func() weak.Pointer[relay] {
		s := &relay{session: &Session{login: Login{User: "ana"}}, client: newPeer(nil, 0)}
		all.add(s, protocol32, process)
		all.remove(s)
		return weak.Make(s)
	}()
	runtime.GC()
	if gone.Value() != nil {
		t.Error("a session that has ended is kept")
	}
	if who, known := all.senders.find(process); !known || who.user != "ana" {
		t.Errorf("sender %+v, known %v", who, known)
	}
}
