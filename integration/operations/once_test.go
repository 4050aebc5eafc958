package operations_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/await"
	"dpproxy/internal/redistemp"
	"dpproxy/internal/sitetest"
)

// askers are clients of two dpproxies who ask one question at a time.
type askers struct {
	*sitetest.Pair

	t       *testing.T
	numbers []string
	mu      sync.Mutex
	all     sync.WaitGroup
}

// ask has a client ask, who is told a number.
func (a *askers) ask(conn *pgx.Conn, sql string) {
	a.all.Go(func() {
		var number string
		if err := conn.QueryRow(context.WithoutCancel(a.t.Context()), sql).Scan(&number); err != nil {
			a.t.Errorf("%s: %v", sql, err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.numbers = append(a.numbers, number)
	})
}

// told waits until all are told a number: the same.
func (a *askers) told(n int) {
	a.t.Helper()
	a.all.Wait()
	if len(a.numbers) != n || strings.Count(strings.Join(a.numbers, " ")+" ", a.numbers[0]+" ") != n {
		a.t.Errorf("%d clients are told %v", n, a.numbers)
	}
	a.numbers = nil
}

// charges counts those that Redis has.
func (a *askers) charges() (n int) {
	a.t.Helper()
	var verified struct{ Charges int }
	a.First.JSON(a.t, &verified, "ledger", "verify", a.First.Policy)
	return verified.Charges
}

// claims are the keys of the reads under way.
func (a *askers) claims() []string {
	keys, err := a.Redis.Client.Keys(a.t.Context(), "dp:clinic:answer:*:claim").Result()
	if err != nil {
		a.t.Error(err)
	}
	return keys
}

// TestTwoProxiesAskOnce holds that clients of two proxies that share a ledger pay one question once, and are told one number: also
// where the one that reads is killed, or has lost its claim.
func TestTwoProxiesAskOnce(t *testing.T) {
	s := sitetest.New(t, sitetest.ClinicSchema, sitetest.ClinicPolicy+"\nanswers: {remember: true}\n").Gated(t)
	a := &askers{t: t, Pair: &sitetest.Pair{T: t, Redis: redistemp.Start(t, redistemp.Durable...)}}
	a.First, a.Next = s.OnRedis(t, a.Redis, ""), s.OnRedis(t, a.Redis, "")
	a.First.InitAgain(t)
	a.Run()
	defer a.Stop()

	let := s.StopReads()
	a.ask(a.Conns[0], "SELECT count(*) FROM patients")
	s.AwaitReads(t, 1)
	for i := range 19 {
		a.ask(sitetest.Dial(t, a.Running[i%2].URL("ana")), "SELECT count(*) FROM patients")
	}
	await.That(t, "it is claimed", func() bool { return len(a.claims()) == 1 })
	let()
	a.told(20)
	if n := a.charges(); n != 1 {
		t.Errorf("20 clients of two proxies have paid %d times", n)
	}
	if left := a.claims(); len(left) > 0 {
		t.Errorf("claims are left: %v", left)
	}

	// A claim that is lost while its holder reads: both read and pay, and one number is told and remembered.
	let = s.StopReads()
	const other = "SELECT count(*) FROM patients WHERE birth_year > 1950"
	a.ask(a.Conns[0], other)
	s.AwaitReads(t, 1)
	if err := a.Redis.Client.Del(t.Context(), a.claims()...).Err(); err != nil {
		t.Fatal(err)
	}
	a.ask(a.Conns[1], other)
	s.AwaitReads(t, 2)
	let()
	a.told(2)
	if n := a.charges(); n != 3 {
		t.Errorf("a claim was lost, and two reads have paid %d times", n-1)
	}

	// A proxy that is killed: its claim ends by itself, and who waits goes on.
	let = s.StopReads()
	defer let()
	const third = "SELECT count(*) FROM patients WHERE birth_year > 1960"
	lost := sitetest.InBackground(t, a.Conns[0], third)
	s.AwaitReads(t, 1)
	a.ask(a.Conns[1], third)
	await.That(t, "the other proxy knows of it", func() bool { return len(a.claims()) == 1 })
	a.Running[0].Kill()
	if err := <-lost; err == nil {
		t.Error("a proxy that was killed has answered")
	}
	s.AwaitReads(t, 0)
	await.That(t, "the other proxy reads", func() bool { return s.WaitingReads() == 1 })
	let()
	a.told(1)
}
