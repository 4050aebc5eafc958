package proxy_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/answers"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// asked is a question with its answer, from a dpproxy of the answers' format 2.
type asked struct {
	World    string   `json:"world"`
	User     string   `json:"user"`
	Settings []string `json:"settings"` // that the session set before it
	SQL      string   `json:"sql"`
	Rows     []string `json:"rows"`
	Written  []string `json:"written"` // the keys under which it was remembered, in order
}

// askedBefore reads the questions of one world, and writes its files to a folder.
func askedBefore(t *testing.T, world, dir string) (questions []asked) {
	t.Helper()
	text, err := os.ReadFile("testdata/format2.json")
	if err != nil {
		t.Fatal(err)
	}
	var old struct {
		Asked []asked                    `json:"asked"`
		Files map[string]json.RawMessage `json:"files"`
	}
	if err := json.Unmarshal(text, &old); err != nil {
		t.Fatal(err)
	}
	for name, content := range old.Files {
		if filepath.Dir(name) == world {
			if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return slices.DeleteFunc(old.Asked, func(a asked) bool { return a.World != world })
}

// renamed is a store that keeps answers under other keys than it is asked for: a key depends on
// the SQL of the read. It notes the keys that it has written.
type renamed struct {
	answers.Store

	names   map[answers.Key]answers.Key
	written []answers.Key
}

func (s *renamed) name(key answers.Key) answers.Key {
	if to, ok := s.names[key]; ok {
		return to
	}
	return key
}

func (s *renamed) Get(ctx context.Context, key answers.Key) (*answers.Release, error) {
	return s.Store.Get(ctx, s.name(key))
}

func (s *renamed) Put(ctx context.Context, key answers.Key, a answers.Release) (*answers.Release, error) {
	s.written = append(s.written, key)
	return s.Store.Put(ctx, s.name(key), a)
}

func (s *renamed) Claim(ctx context.Context, keys []answers.Key) (answers.Claim, error) {
	var named []answers.Key
	for _, key := range keys {
		named = append(named, s.name(key))
	}
	return s.Store.Claim(ctx, named)
}

func (s *renamed) Pay(ctx context.Context, key answers.Key, a *answers.Release, analyst string) error {
	return s.Store.Pay(ctx, s.name(key), a, analyst)
}

// remembering is a world over a folder of answers, in which two analysts have budgets of their
// own.
func remembering(t *testing.T, name, dir string, names map[answers.Key]answers.Key) (*world, *renamed) {
	t.Helper()
	files, err := answers.OpenFiles(dir, 1000)
	if err != nil {
		t.Fatal(err)
	}
	store := &renamed{Store: files, names: names}
	unit := large(t)
	if name == "pure" {
		unit = limit(t, accountant.UnitScope, "patient", dp.PureDP, 100_000)
	}
	own := func(name string) accountant.Limit {
		return accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: name}, Loss: unit.Loss}
	}
	w := accurate(t, func(cfg *proxy.Config) {
		for _, name := range []string{"ana", "bob"} {
			cfg.Analysts[name] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: true}
		}
		cfg.Answers.Store = store
	}, unit, own("ana"), own("bob"))
	exec(t, w.mirror, "GRANT SELECT ON patients, visits, labs TO bob")
	return w, store
}

// rows asks for rows, as texts and in their order.
func (c *client) rows(t *testing.T, sql string) []string {
	t.Helper()
	rows, err := c.Query(t.Context(), "SELECT CAST(t AS text) FROM ("+sql+") AS t ORDER BY 1")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return out
}

// TestAnswersOfFormat2 holds that answers remembered in format 2 are given again, and that
// nobody pays twice for one. An answer of rows that were chosen is none to a question whose units are
// bounded by a norm: that is asked and paid anew.
func TestAnswersOfFormat2(t *testing.T) {
	for _, name := range []string{"zcdp", "pure"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			questions := askedBefore(t, name, dir)
			w, _ := remembering(t, name, dir, keysNow(t, name, questions))
			clients := map[string]*client{"ana": w.client(t, "ana"), "bob": w.client(t, "bob")}
			for i, q := range questions {
				clients[q.User].set(t, q.Settings...)
				if refined(q, questions[i+1:]) {
					continue
				}
				before := w.spentBy(t, q.User)
				got := clients[q.User].rows(t, q.SQL)
				unit, own := w.spentBy(t, q.User)[0]-before[0], w.spentBy(t, q.User)[1]-before[1]
				if strings.Contains(q.SQL, "visits") {
					if unit == 0 || own != unit || slices.Equal(got, q.Rows) {
						t.Errorf("%s: %v, was %v by rows that were chosen; unit %d, %s %d", q.SQL, got, q.Rows, unit, q.User, own)
					}
					continue
				}
				if !slices.Equal(got, q.Rows) {
					t.Errorf("%s: %v, was %v", q.SQL, got, q.Rows)
				}
				if unit != 0 || own != 0 {
					t.Fatalf("%s: the unit pays %d and %s %d", q.SQL, unit, q.User, own)
				}
			}
			refineOld(t, w, name, clients["bob"])
		})
	}
}

// spentBy returns what the unit's budget and an analyst's own have spent.
func (w *world) spentBy(t *testing.T, analyst string) [2]int64 {
	t.Helper()
	return [2]int64{w.spent(t, accountant.UnitScope, "patient"), w.spent(t, accountant.AnalystScope, analyst)}
}

// refined reports whether a question was asked more precisely later.
func refined(q asked, later []asked) bool {
	return slices.ContainsFunc(later, func(l asked) bool { return l.SQL == q.SQL && len(l.Settings) > 0 && len(q.Settings) > 0 })
}

// refineOld goes on from remembered answers: independent measurements alone can be refined. Bob
// pays for the measurements that are new to them.
func refineOld(t *testing.T, w *world, name string, bob *client) {
	t.Helper()
	bob.set(t, "dp.relative_error = 0.02")
	bob.notice = ""
	before := w.spentBy(t, "bob")
	bob.number(t, "SELECT count(*) FROM patients")
	after := w.spentBy(t, "bob")
	unit, own := after[0]-before[0], after[1]-before[1]
	if refines := name == "zcdp"; unit <= 0 || refines != (own > unit) || !refines && own != unit {
		t.Errorf("the unit pays %d and bob %d: %s", unit, own, bob.notice)
	}
}

// keysNow asks the questions of a world that remembers nothing, and returns the old key of each
// that is written.
func keysNow(t *testing.T, name string, questions []asked) map[answers.Key]answers.Key {
	t.Helper()
	w, store := remembering(t, name, t.TempDir(), nil)
	clients := map[string]*client{"ana": w.client(t, "ana"), "bob": w.client(t, "bob")}
	names := map[answers.Key]answers.Key{}
	for _, q := range questions {
		store.written = nil
		clients[q.User].set(t, q.Settings...)
		clients[q.User].rows(t, q.SQL)
		if len(store.written) != len(q.Written) {
			t.Fatalf("%s: %d answers, were %d", q.SQL, len(store.written), len(q.Written))
		}
		for i, key := range store.written {
			old, err := hex.DecodeString(q.Written[i])
			if err != nil {
				t.Fatal(err)
			}
			names[key] = answers.Key(old)
		}
	}
	return names
}
