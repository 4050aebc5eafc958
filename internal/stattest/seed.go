package stattest

import (
	crand "crypto/rand"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"testing"
)

// SeedVariable names the environment variable that repeats a run: 64 hexadecimal
// digits, as a failed test prints them.
const SeedVariable = "DPPROXY_SEED"

// Source returns a source of random words for a test. Its seed is new unless [SeedVariable] gives one. The seed is logged: go test prints
// it if the test fails.
func Source(t testing.TB) *rand.ChaCha8 {
	t.Helper()
	var seed [32]byte
	if text := os.Getenv(SeedVariable); text != "" {
		n, err := hex.Decode(seed[:], []byte(text))
		if err != nil || n != len(seed) {
			t.Fatalf("%s is not %d hexadecimal digits: %q", SeedVariable, 2*len(seed), text)
		}
	} else {
		_, _ = crand.Read(seed[:])
	}
	t.Logf("%s=%x", SeedVariable, seed)
	return rand.NewChaCha8(seed)
}
