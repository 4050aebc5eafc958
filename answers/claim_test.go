package answers_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"dpproxy/answers"
	"dpproxy/internal/await"
	"dpproxy/internal/redistemp"
)

// held returns the claim of another process that is in the way.
func held(t *testing.T, s answers.Store, names ...string) *answers.HeldError {
	t.Helper()
	_, err := claim(t, s, names...)
	other, ok := errors.AsType[*answers.HeldError](err)
	if !ok {
		t.Fatalf("%v is claimed: %v", names, err)
	}
	return other
}

func claim(t *testing.T, s answers.Store, names ...string) (answers.Claim, error) {
	t.Helper()
	var keys []answers.Key
	for _, name := range names {
		keys = append(keys, key(name))
	}
	return s.Claim(t.Context(), keys)
}

// claimed claims keys that are free.
func claimed(t *testing.T, s answers.Store, names ...string) answers.Claim {
	t.Helper()
	c, err := claim(t, s, names...)
	if err != nil {
		t.Fatalf("%v: %v", names, err)
	}
	return c
}

// waited waits for a claim in the background.
func waited(t *testing.T, other *answers.HeldError) <-chan string {
	t.Helper()
	words := make(chan string, 1)
	go func() {
		word, err := other.Wait(t.Context())
		if err != nil {
			word = err.Error()
		}
		words <- word
	}()
	return words
}

// TestClaims holds that one of two processes has a claim on a key, on all keys or none, until the claim ends. Other processes then get its
// last word.
func TestClaims(t *testing.T) {
	r := redistemp.Start(t, "--save", "")
	var stores [2]*answers.Redis
	for i := range stores {
		s, err := answers.NewRedis(r.Client, "clinic", 10, time.Now)
		must(t, err)
		stores[i] = s
	}
	one, two := stores[0], stores[1]
	ab := claimed(t, one, "a", "b")
	other := held(t, two, "c", "b")
	if other.Key != key("b") {
		t.Error("another key is said to be claimed")
	}
	c := claimed(t, two, "c") // was not claimed together with b
	word := waited(t, other)
	ab.End(t.Context(), "failed")
	if got := <-word; got != "failed" {
		t.Errorf("who waited is told %q", got)
	}
	again := claimed(t, two, "a", "b") // a process that did not wait learns nothing of it
	word = waited(t, held(t, one, "a"))
	again.End(t.Context(), "")
	if got := <-word; got != "" {
		t.Errorf("who waited is told %q", got)
	}
	put(t, one, "c", answer(1))
	c.End(t.Context(), "")
	if _, err := claim(t, two, "d", "c"); !errors.Is(err, answers.ErrReleased) {
		t.Errorf("a key with a release: %v", err)
	}
	claimed(t, two, "d").End(t.Context(), "")
	names, err := r.Client.Keys(t.Context(), "*:claim").Result()
	if err != nil || len(names) > 0 {
		t.Errorf("claims are left: %v, %v", names, err)
	}
}

// TestLostClaims holds that a claim that its holder does not renew ends by itself, and that its holder does not end another holder's claim.
func TestLostClaims(t *testing.T) {
	r := redistemp.Start(t, "--save", "")
	s, err := answers.NewRedis(r.Client, "clinic", 10, time.Now)
	must(t, err)
	first := claimed(t, s, "a")
	name := "dp:clinic:answer:" + key("a").String() + ":claim"
	if ttl, err := r.Client.PTTL(t.Context(), name).Result(); err != nil || ttl <= 0 || ttl > 10*time.Second {
		t.Errorf("it lasts %v, %v", ttl, err)
	}
	word := waited(t, held(t, s, "a"))
	must(t, r.Client.PExpire(t.Context(), name, time.Millisecond).Err()) // as if its process had hung
	if got := <-word; got != "" {
		t.Errorf("who waited is told %q", got)
	}
	second := claimed(t, s, "a")
	first.End(t.Context(), "failed")
	word = waited(t, held(t, s, "a"))
	second.End(t.Context(), "too long")
	if got := <-word; got != "too long" {
		t.Errorf("who waited is told %q", got)
	}
	third := claimed(t, s, "b")
	must(t, r.Client.PExpire(t.Context(), "dp:clinic:answer:"+key("b").String()+":claim", 3*time.Second).Err())
	await.That(t, "it is renewed", func() bool {
		ttl, err := r.Client.PTTL(t.Context(), "dp:clinic:answer:"+key("b").String()+":claim").Result()
		return err == nil && ttl > 4*time.Second
	})
	ctx, cancel := context.WithCancel(t.Context())
	other := held(t, s, "b")
	cancel()
	if _, err := other.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("who is cancelled is told %v", err)
	}
	third.End(t.Context(), "")
}
