package sitetest

import (
	"crypto/rand"
	"errors"
	"math/big"
	"net"
	"testing"
	"time"
)

// FreePort returns a TCP port that was free a moment ago.
func FreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// IsTimeout reports whether a read or a write met its deadline.
func IsTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// Pause lets 20 ms and a random time below most pass, for a kill at a random point of the path.
func Pause(t *testing.T, most time.Duration) {
	t.Helper()
	n, err := rand.Int(rand.Reader, big.NewInt(int64(most)))
	if err != nil {
		t.Fatal(err)
	}
	timer := time.NewTimer(20*time.Millisecond + time.Duration(n.Int64()))
	<-timer.C
}
