package faulttest_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"dpproxy/accountant/history"
	"dpproxy/accountant/logledger"
	"dpproxy/accountant/redisledger"
)

// forced lets a server load an append-only file that is torn.
var forced = []string{"--aof-load-truncated", "yes"}

// oneWrite is the ledger's own script.
func oneWrite(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../redisledger/append.lua")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manyWrites is the same script with several write commands, of which one counts.
func manyWrites(t *testing.T) string {
	t.Helper()
	const one = "redis.call('HSET', k, unpack(out))"
	const many = "redis.call('HINCRBY', k, 'seq', n) for i = 3, #out, 2 do redis.call('HSET', k, out[i], out[i + 1]) end"
	source := oneWrite(t)
	if !strings.Contains(source, one) {
		t.Fatal("the ledger's script has another write command than expected")
	}
	return strings.Replace(source, one, many, 1)
}

// A scripted ledger appends charges with a script of the test's choice.
type scripted struct {
	t      *testing.T
	client *redis.Client
	script *redis.Script
	run    string
}

const scriptedKey = "dp:shared"

// create makes a ledger and begins a run.
func (s *scripted) create() {
	s.t.Helper()
	id := strings.Repeat("ab", 16)
	head, err := logledger.Genesis(id)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.client.HSet(s.t.Context(), scriptedKey, "id", id, "seq", 0, "head", hex.EncodeToString(head[:])).Err(); err != nil {
		s.t.Fatal(err)
	}
	s.append(history.BeginEntry{Boot: s.run}, history.LimitsEntry(limits()))
}

// append appends entries in one call.
func (s *scripted) append(entries ...history.Entry) {
	s.t.Helper()
	ctx := s.t.Context()
	is, err := s.client.HMGet(ctx, scriptedKey, "id", "seq", "head").Result()
	if err != nil {
		s.t.Fatal(err)
	}
	var seq uint64
	var head history.Hash
	_, err1 := fmt.Sscan(fmt.Sprint(is[1]), &seq)
	_, err2 := hex.Decode(head[:], []byte(fmt.Sprint(is[2])))
	if err := errors.Join(err1, err2); err != nil {
		s.t.Fatal(err)
	}
	args := []any{is[0], seq, is[2], "", 100, 0}
	for _, e := range entries {
		run := s.run
		if _, begins := e.(history.BeginEntry); begins {
			run = ""
		}
		seq++
		body, err := history.Prepare(run, e)
		if err != nil {
			s.t.Fatal(err)
		}
		line := body.Line(seq, head, time.Time{})
		head = history.Record{Line: line}.Hash()
		args = append(args, line)
	}
	args[3] = hex.EncodeToString(head[:])
	reply, err := s.script.Eval(ctx, s.client, []string{scriptedKey}, args...).StringSlice()
	if err != nil || reply[0] != "OK" {
		s.t.Fatalf("append: %v, %v", reply, err)
	}
}

// charges appends charges, some of them in one call.
func (s *scripted) charges(name string, calls int) {
	s.t.Helper()
	for call := range calls {
		var entries []history.Entry
		for n := range 1 + call%3 {
			entries = append(entries, history.ChargeEntry(charge(fmt.Sprint(name, call, ".", n), [budgets]int64{1})))
		}
		s.append(entries...)
	}
}

// offsets returns where an append-only file is cut, anywhere in its second half.
func offsets(t *testing.T, aof string) []int64 {
	t.Helper()
	info, err := os.Stat(incremental(t, aof))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(*firstSeed, 1))
	var all []int64
	for range *cuts {
		all = append(all, info.Size()/2+rng.Int64N(info.Size()/2))
	}
	return all
}

// tear puts a cut copy of an append-only file in the place of a server's.
func (s *redisServer) tear(aof string, at int64) {
	s.t.Helper()
	s.restoreAOF(aof)
	if err := os.Truncate(incremental(s.t, s.aof()), at); err != nil {
		s.t.Fatal(err)
	}
}

// torn is the outcome of appending behind torn files.
type torn struct{ cuts, refused, inconsistent int }

// tortureScript appends charges with a script, tears the file, forces Redis to load
// it, appends more, kills Redis, and starts it a second time.
func tortureScript(t *testing.T, source string) (result torn) {
	t.Helper()
	r := startRedis(t)
	script := redis.NewScript(source)
	first := &scripted{t: t, client: r.Client, script: script, run: "first"}
	first.create()
	first.charges("first", 30)
	r.Kill()
	aof := filepath.Join(t.TempDir(), "aof")
	r.saveAOF(aof)
	for n, at := range offsets(t, aof) {
		result.cuts++
		r.tear(aof, at)
		r.Start(t, forced...)
		second := &scripted{t: t, client: r.Client, script: script, run: fmt.Sprint("second", n)}
		second.append(history.BeginEntry{Boot: second.run})
		second.charges("second", 3)
		acked, err := r.Client.HGet(t.Context(), scriptedKey, "seq").Result()
		if err != nil {
			t.Fatal(err)
		}
		r.Kill()
		if r.TryStart(t, forced...) != nil {
			result.refused++
			continue
		}
		r.pretendDurable()
		a, err := auditLedger(t.Context(), r, redisledger.Options{URL: r.URL(""), Name: "shared"})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.all) > 0 || a.raw["seq"] != acked {
			result.inconsistent++
		}
		r.Kill()
	}
	return result
}

// TestTornAOF tears the append-only file of a ledger in many places. A Redis with
// the settings that the ledger requires does not load it. One that is forced to is
// refused; and if it were not, its loss would be found out, by the chain or by the
// journal of whoever had it acknowledged.
func TestTornAOF(t *testing.T) {
	t.Parallel()
	r := startRedis(t)
	o := redisledger.Options{
		URL: r.URL(""), Name: "shared", Dir: filepath.Join(t.TempDir(), "journal"), Patience: 2 * time.Second, CheckpointEvery: 20,
	}
	if err := redisledger.Init(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	l, err := redisledger.Open(t.Context(), limits(), o)
	if err != nil {
		t.Fatal(err)
	}
	chargeAll(t, l, "first", 40)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	aof := filepath.Join(t.TempDir(), "aof")
	r.saveAOF(aof)
	refused, found := 0, 0
	cuts := offsets(t, aof)
	for _, at := range cuts {
		r.tear(aof, at)
		if r.TryStart(t) == nil {
			r.Kill() // it was cut between two commands
		} else {
			refused++
		}
		r.tear(aof, at)
		r.Start(t, forced...)
		var bad *redisledger.DurabilityError
		if _, err := redisledger.Open(t.Context(), nil, o); !errors.As(err, &bad) {
			t.Errorf("a proxy on a Redis that loads torn files: %v", err)
		}
		r.pretendDurable()
		if diverged(t, o) && afterTear(t, r, o, at) {
			found++
		}
	}
	t.Logf("%d cuts: Redis refused to load %d files; forced to, it went on with a whole ledger, "+
		"and the journal found out what was lost %d times",
		len(cuts), refused, found)
	if found != len(cuts) {
		t.Errorf("acknowledged entries were gone %d times, and the journal found that out %d times", len(cuts), found)
	}
	if refused == 0 {
		t.Error("no file was refused")
	}
}

func chargeAll(t *testing.T, l *redisledger.Ledger, name string, n int) {
	t.Helper()
	for i := range n {
		if _, err := l.Charge(t.Context(), charge(fmt.Sprint(name, i), [budgets]int64{1})); err != nil {
			t.Fatal(err)
		}
	}
}

// afterTear goes on with a torn ledger: a proxy without a journal appends, Redis is
// killed and starts once more. The ledger must be whole. It says whether the proxy
// with the journal still refuses it.
func afterTear(t *testing.T, r *redisServer, o redisledger.Options, at int64) bool {
	t.Helper()
	newcomer := o
	newcomer.Dir = filepath.Join(t.TempDir(), "journal")
	l, err := redisledger.Open(t.Context(), nil, newcomer)
	if err != nil {
		t.Fatalf("cut at %d: a proxy without a journal: %v", at, err)
	}
	chargeAll(t, l, "second", 3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r.Kill()
	r.Start(t, forced...)
	r.pretendDurable()
	a, err := auditLedger(t.Context(), r, newcomer)
	if err != nil {
		t.Fatal(err)
	}
	a.journals(context.Background(), []string{newcomer.Dir})
	for _, found := range a.all {
		t.Errorf("cut at %d: %s", at, found)
	}
	for n := range 3 {
		if a.ops[fmt.Sprint("second", n)] == 0 {
			t.Errorf("cut at %d: an acknowledged charge is gone", at)
		}
	}
	defer r.Kill()
	return diverged(t, o)
}

// diverged says whether a proxy with a journal refuses Redis as it is now.
func diverged(t *testing.T, o redisledger.Options) bool {
	t.Helper()
	l, err := redisledger.Open(t.Context(), nil, o)
	if err == nil {
		_ = l.Close()
	}
	return errors.As(err, new(*redisledger.DivergedError))
}
