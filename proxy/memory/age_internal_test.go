package memory

import (
	"testing"

	"dpproxy/answers"
)

// TestAsOf holds that the age of several releases is that of the oldest, and that one without a time has none.
func TestAsOf(t *testing.T) {
	of := func(times ...int64) *Recalled {
		b := &block{}
		for _, at := range times {
			b.pieces = append(b.pieces, &piece{found: &answers.Release{At: at}})
		}
		return &Recalled{blocks: []*block{b, nil}}
	}
	if got := of(30, 20, 40).AsOf().Unix(); got != 20 {
		t.Errorf("it is %d", got)
	}
	for _, r := range []*Recalled{of(30, 0), of(0, 30), of()} {
		if got := r.AsOf(); !got.IsZero() {
			t.Errorf("it is %v", got)
		}
	}
}
