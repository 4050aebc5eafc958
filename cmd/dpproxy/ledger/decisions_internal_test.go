package ledger

import "testing"

// TestAdmitPeer holds that dpproxy's own account and root's alone decide.
func TestAdmitPeer(t *testing.T) {
	for _, c := range []struct {
		peer, own int
		may       bool
	}{{1000, 1000, true}, {0, 1000, true}, {0, 0, true}, {1001, 1000, false}, {1000, 0, false}, {65534, 0, false}} {
		if err := admitPeer(c.peer, c.own); (err == nil) != c.may {
			t.Errorf("the account %d decides about the ledger of %d: %v", c.peer, c.own, err)
		}
	}
}
