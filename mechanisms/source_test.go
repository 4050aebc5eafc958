package mechanisms_test

import (
	crand "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"dpproxy/mechanisms"
)

// TestSourceIsConcurrent draws from one source in many goroutines: no word may
// be handed out twice (by chance with probability 2⁻³¹), nor one that was wiped.
func TestSourceIsConcurrent(t *testing.T) {
	const workers, words = 8, 10_000
	src := mechanisms.NewSource()
	drawn := make([][words]uint64, workers)
	var wg sync.WaitGroup
	for w := range drawn {
		wg.Go(func() {
			for i := range drawn[w] {
				drawn[w][i] = src.Uint64()
			}
		})
	}
	wg.Wait()
	seen := map[uint64]bool{0: true}
	for w := range drawn {
		for _, x := range drawn[w] {
			if seen[x] {
				t.Fatalf("word %#x came twice, or is zero", x)
			}
			seen[x] = true
		}
	}
}

func TestSourceWipesItsWords(t *testing.T) {
	src := mechanisms.NewSource()
	for range 100 {
		src.Uint64()
	}
	if n := mechanisms.Unwiped(src); n != 0 {
		t.Errorf("%d words of past noise are still in memory", n)
	}
}

func TestMechanismsAreConcurrent(t *testing.T) {
	src := mechanisms.NewSource()
	var wg sync.WaitGroup
	for _, m := range []mechanisms.Mechanism{laplace(t, 10, 3), gaussian(t, 25), gaussian(t, 1<<60)} {
		for range 4 {
			wg.Go(func() {
				z := new(big.Int)
				for range 500 {
					m.Sample(z, src)
				}
				_, _, _ = m.Event(), m.Quantile(0.05), m.String()
			})
		}
	}
	wg.Wait()
}

// TestNoRandomnessIsFatal runs itself with a generator that fails, and expects
// the process to end without a word having been drawn.
func TestNoRandomnessIsFatal(t *testing.T) {
	const marker = "DPPROXY_TEST_NO_RANDOMNESS"
	if os.Getenv(marker) != "" {
		crand.Reader = iotest.ErrReader(errors.New("no randomness"))
		defer func() { _ = recover() }() // which must not help
		mechanisms.NewSource().Uint64()
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestNoRandomnessIsFatal$")
	cmd.Env = append(os.Environ(), marker+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "fatal error") {
		t.Errorf("the process went on: %v\n%s", err, out)
	}
}

func TestSamplingDoesNotAllocate(t *testing.T) {
	src, z := mechanisms.NewSource(), new(big.Int)
	for _, m := range []mechanisms.Mechanism{
		laplace(t, 1, 1), laplace(t, 10, 3), laplace(t, 1<<40, 1), gaussian(t, 1), gaussian(t, 1<<20),
	} {
		if n := testing.AllocsPerRun(2000, func() { m.Sample(z, src) }); n != 0 {
			t.Errorf("%v: %v allocations a draw", m, n)
		}
	}
}

func BenchmarkSample(b *testing.B) {
	for _, m := range []mechanisms.Mechanism{
		laplace(b, 10, 1), laplace(b, 10, 3), laplace(b, 1<<10, 1), laplace(b, 1<<13, 1), laplace(b, 1<<60, 1),
		gaussian(b, 1), gaussian(b, 25), gaussian(b, 1<<20), gaussian(b, 1<<26), gaussian(b, 1<<40), gaussian(b, 1<<62),
	} {
		b.Run(strings.ReplaceAll(m.String(), " ", "/"), func(b *testing.B) {
			b.ReportAllocs()
			src, z := mechanisms.NewSource(), new(big.Int)
			for b.Loop() {
				m.Sample(z, src)
			}
		})
	}
}

// BenchmarkRelease releases three aggregates of 10,000 partitions each.
func BenchmarkRelease(b *testing.B) {
	const partitions = 10_000
	src := mechanisms.NewSource()
	exact := make([]mechanisms.Private, partitions)
	for i := range exact {
		exact[i] = mechanisms.Protect(big.NewInt(int64(i)))
	}
	for name, aggregates := range map[string][]mechanisms.Mechanism{
		"laplace":  {laplace(b, 10, 1), laplace(b, 1<<10, 1), laplace(b, 1<<13, 1)},
		"gaussian": {gaussian(b, 100), gaussian(b, 1<<20), gaussian(b, 1<<26)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for _, m := range aggregates {
					for _, v := range exact {
						mechanisms.Release(m, src, v)
					}
				}
			}
		})
	}
}

func BenchmarkSource(b *testing.B) {
	b.ReportAllocs()
	src := mechanisms.NewSource()
	for b.Loop() {
		src.Uint64()
	}
}

func BenchmarkQuantile(b *testing.B) {
	for _, m := range []mechanisms.Mechanism{laplace(b, 10, 1), gaussian(b, 25), gaussian(b, 1<<16), gaussian(b, 1<<40)} {
		b.Run(strings.ReplaceAll(m.String(), " ", "/"), func(b *testing.B) {
			for b.Loop() {
				m.Quantile(0.05)
			}
		})
	}
}

// TestSourceDoesNotPrint prints a source that holds words for draws to come.
func TestSourceDoesNotPrint(t *testing.T) {
	src := mechanisms.NewSource()
	src.Uint64()
	holder := struct{ Source, private mechanisms.Source }{src, src}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%t", "%p", "%T"} {
		if text := fmt.Sprintf(verb, src) + fmt.Sprintf(verb, holder); len(text) > 500 {
			t.Errorf("%s prints %d bytes: %.80s", verb, len(text), text)
		}
	}
	if text, err := json.Marshal(holder); len(text) > 500 {
		t.Errorf("as JSON: %d bytes (%v)", len(text), err)
	}
}
