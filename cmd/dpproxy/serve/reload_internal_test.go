package serve

import (
	"slices"
	"testing"

	"dpproxy/config"
)

// TestChangedLogins holds that sessions end whose proof is another one, be it by the authorities alone.
func TestChangedLogins(t *testing.T) {
	p := &config.Policy{Analysts: []config.Analyst{{Name: "ana", Certificates: []string{"ana.example"}}, {Name: "bob", Verifier: "v"}}}
	if all := changedLogins(p, p, true); len(all) > 0 {
		t.Errorf("nothing has changed, and %v are disconnected", all)
	}
	if all := changedLogins(p, p, false); !slices.Equal(all, []string{"ana"}) {
		t.Errorf("other authorities sign, and %v are disconnected", all)
	}
	without := &config.Policy{Analysts: p.Analysts[1:]}
	if all := changedLogins(p, without, true); !slices.Equal(all, []string{"ana"}) {
		t.Errorf("ana is gone, and %v are disconnected", all)
	}
}
