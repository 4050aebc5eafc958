package answers_test

import (
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"dpproxy/answers"
	"dpproxy/internal/redistemp"
)

var integers = cmp.Options{cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }), cmpopts.IgnoreUnexported(answers.Release{})}

func key(name string) answers.Key { return answers.KeyOf([]byte(name)) }

func answer(n int64, paid ...string) answers.Release {
	values := []*big.Int{big.NewInt(n), new(big.Int).Lsh(big.NewInt(-1), 100)}
	return answers.Release{Sets: []answers.GroupingSet{{Partitions: []answers.Partition{{Values: values}, {}}}}, Paid: paid}
}

// keyed is a release whose groups were released too, and which was refined.
func keyed(n int64, paid ...string) answers.Release {
	r := answer(n, paid...)
	groups := r.Sets[0].Partitions
	groups[0].Key, groups[1].Key = []*string{new("é <\u2028\"\\"), nil}, []*string{new(""), new("NULL")}
	groups[1].Measured = [][]answers.Measurement{{}, {{Variance: big.NewInt(7), Value: big.NewInt(-1)}}}
	clips := []answers.Clip{{Levels: []int{0}}, {Vector: 2, Levels: []int{4, 1}, Tail: []*big.Int{big.NewInt(-5), big.NewInt(0)}}}
	r.Sets = append(r.Sets, answers.GroupingSet{Level: 3, PaidPico: 5, Clips: clips, Partitions: []answers.Partition{}})
	r.Request, r.Payments = []byte{1, 2}, []answers.Payment{{Analyst: []byte{3}, Pico: []int64{4, 0}}}
	return r
}

func want(t *testing.T, s answers.Store, name string, a *answers.Release) {
	t.Helper()
	got, err := s.Get(t.Context(), key(name))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(a, got, integers); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put puts a release under a key that has none.
func put(t *testing.T, s answers.Store, name string, a answers.Release) {
	t.Helper()
	if earlier, err := s.Put(t.Context(), key(name), a); err != nil || earlier != nil {
		t.Fatal(earlier, err)
	}
}

// testStore tests the behaviour of every store. It keeps two answers.
func testStore(t *testing.T, s answers.Store) {
	want(t, s, "a", nil)
	a, b, c := answer(1, "ann"), answer(2), answer(3)
	must(t, s.Pay(t.Context(), key("a"), &a, "ann"))
	want(t, s, "a", nil)
	put(t, s, "a", a)
	earlier, err := s.Put(t.Context(), key("a"), answer(9, "eve"))
	must(t, err)
	if d := cmp.Diff(&a, earlier, integers); d != "" {
		t.Errorf("what was there first: %s", d)
	}
	want(t, s, "a", &a)
	must(t, s.Pay(t.Context(), key("a"), &b, "eve")) // for an answer that was forgotten
	want(t, s, "a", &a)
	must(t, s.Pay(t.Context(), key("a"), &a, "bob"))
	must(t, s.Pay(t.Context(), key("a"), &a, "bob"))
	a.Paid = []string{"ann", "bob"}
	want(t, s, "a", &a)
	put(t, s, "b", b)
	want(t, s, "a", &a) // so that b is the least recently used
	put(t, s, "c", c)
	want(t, s, "b", nil)
	want(t, s, "a", &a)
	got, err := s.Get(t.Context(), key("c"))
	if err != nil || got == nil || got.PaidBy("ann") {
		t.Errorf("c: %v, %v", got, err)
	}
	testKeyed(t, s)
}

// testKeyed holds that groups are part of an answer.
func testKeyed(t *testing.T, s answers.Store) {
	d := keyed(4, "ann")
	put(t, s, "d", d)
	want(t, s, "d", &d)
	plain := answer(4)
	must(t, s.Pay(t.Context(), key("d"), &plain, "eve")) // the same rows, of other groups
	want(t, s, "d", &d)
	must(t, s.Pay(t.Context(), key("d"), &d, "bob"))
	d.Paid = []string{"ann", "bob"}
	want(t, s, "d", &d)
	none := answers.Release{Sets: []answers.GroupingSet{{Partitions: []answers.Partition{}}}}
	put(t, s, "none", none) // no group was released, which is an answer
	want(t, s, "none", &none)
	short, odd, half := keyed(5), keyed(5), keyed(5)
	short.Sets[0].Partitions[0].Values[1], odd.Sets[0].Partitions[1].Key[0] = nil, new("\xff")
	half.Sets[0].Partitions[1].Measured[1][0].Variance = nil
	for what, bad := range map[string]answers.Release{
		"a value too few": short, "a key that is not UTF-8": odd, "a measurement of no variance": half,
	} {
		if _, err := s.Put(t.Context(), key(what), bad); err == nil {
			t.Errorf("%s was taken", what)
		}
		want(t, s, what, nil)
	}
	put(t, s, "a", answer(1, "ann", "bob"))
}

func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "answers")
	s, err := answers.OpenFiles(dir, 2)
	must(t, err)
	testStore(t, s)
	must(t, s.Close())
	again, err := answers.OpenFiles(dir, 2)
	must(t, err)
	kept := answer(1, "ann", "bob")
	want(t, again, "a", &kept)
	if _, err := answers.OpenFiles(dir, 0); err == nil {
		t.Error("a store that keeps nothing was opened")
	}
}

// TestDamagedFiles changes each byte of a file: it is whole, or it is no release.
func TestDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	kept := keyed(1, "ann")
	s, err := answers.OpenFiles(dir, 2)
	must(t, err)
	put(t, s, "a", kept)
	name := filepath.Join(dir, key("a").String()+".answer")
	whole, err := os.ReadFile(name)
	must(t, err)
	for i := range whole {
		for _, change := range []byte{1, 128} {
			damaged := append([]byte(nil), whole...)
			damaged[i] ^= change
			must(t, os.WriteFile(name, damaged, 0o600))
			s, err := answers.OpenFiles(dir, 2)
			must(t, err)
			got, err := s.Get(t.Context(), key("a"))
			if d := cmp.Diff(&kept, got, integers); got != nil && d != "" {
				t.Fatalf("byte %d changed: %s", i, d)
			}
			if (err == nil) != (got != nil) {
				t.Fatalf("byte %d changed: %v, %v", i, got, err)
			}
		}
	}
}

// TestIncomplete refuses releases that would not be read back as they are.
func TestIncomplete(t *testing.T) {
	f, err := answers.OpenFiles(t.TempDir(), 2)
	must(t, err)
	for name, set := range map[string]answers.GroupingSet{
		"no value":           {Partitions: []answers.Partition{{Values: []*big.Int{nil}}}},
		"no measurement":     {Partitions: []answers.Partition{{Measured: [][]answers.Measurement{{{Value: big.NewInt(1)}}}}}},
		"no number of units": {Clips: []answers.Clip{{Levels: []int{1}, Tail: []*big.Int{nil}}}},
		"a key of no text":   {Partitions: []answers.Partition{{Key: []*string{new("\xff")}}}},
	} {
		if _, err := f.Put(t.Context(), key(name), answers.Release{Sets: []answers.GroupingSet{set}}); err == nil {
			t.Errorf("%s: is kept", name)
		}
	}
}

func TestKeys(t *testing.T) {
	seen := map[answers.Key]bool{}
	for _, parts := range [][][]byte{
		{}, {nil}, {nil, nil}, {[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte("1:a")}, {[]byte("a"), nil, []byte("b")},
	} {
		k := answers.KeyOf(parts...)
		if seen[k] {
			t.Errorf("%q has the key of another", parts)
		}
		seen[k] = true
	}
}

func TestRedis(t *testing.T) {
	client, ctx := redistemp.Start(t, "--save", "").Client, t.Context()
	clock := time.Unix(0, 0)
	now := func() time.Time { clock = clock.Add(time.Second); return clock }
	s, err := answers.NewRedis(client, "clinic", 2, now)
	must(t, err)
	testStore(t, s)
	names, err := client.Keys(ctx, "*").Result()
	must(t, err)
	if len(names) != 4 { // two answers, the payers of one answer, and the list of all
		t.Errorf("keys %v", names)
	}
	for _, damaged := range []string{
		`[["1"]]`, `{"format":1,"rows":[["1"]]}`, `{"rows":[["1"]]}`, `{"format":2,"rows":[[1]]}`, `{"format":2,"rows":[["x"]]}`,
		`{"format":2,"rows":[["1"]],"keys":[["a"],["b"]]}`, `{"format":2,"rows":[["1"]],"keys":[]}`,
		`{"version":2,"sets":[]}`, `{"version":3,"sets":[{"partitions":[{"values":[null]}]}]}`,
		`{"version":3,"sets":[{"partitions":[{"values":["1"]}]}]}`, `{"version":3,"sets":[{"partitions":[{"measured":[[{"value":1}]]}]}]}`,
	} {
		must(t, client.Set(ctx, "dp:clinic:answer:"+key("a").String(), damaged, 0).Err())
		if got, err := s.Get(ctx, key("a")); got != nil || err == nil {
			t.Errorf("the damaged answer %s: %v, %v", damaged, got, err)
		}
		want(t, s, "a", nil)
	}
	must(t, s.Close())
}
