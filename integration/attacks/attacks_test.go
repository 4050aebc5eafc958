package attacks_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// worlds are the databases that an attacker must not tell apart: all data, the data without
// Bob, and the data in which they earn another salary.
var worlds = []string{
	"",
	"DELETE FROM cust WHERE uid = 1001; DELETE FROM sales WHERE uid = 1001; DELETE FROM odd WHERE uid = 1001;",
	"UPDATE cust SET salary = 98765, score = 'NaN', bio = 'Bob \\' WHERE uid = 1001; " +
		"UPDATE odd SET a = 'b', b = NULL, day = NULL, at = NULL, ts = '2000-01-01', mood = NULL, code = NULL, z = 1, " +
		"f = 'Infinity', tag = NULL WHERE uid = 1001;",
}

// A shape is a statement, or several in one text, that a careless proxy answers.
type shape struct{ ID, SQL, Why, Required, Class string }

// mustRefuse reports whether the shape must be refused before data are read.
func (s shape) mustRefuse() bool {
	return strings.HasPrefix(s.Required, "reject") && !alternative.MatchString(s.Required) && released[s.ID] == ""
}

var (
	// alternative is found in a requirement that is met by a noisy answer as well.
	alternative = regexp.MustCompile(`^reject( or | / )`)
	// released are shapes that need no refusal: the values that they want to read are released
	// with noise, and charged, before they get them.
	released = map[string]string{
		"E15":  "the counts of the inner level are released; HAVING and sum run over released counts",
		"MA7":  "a boolean aggregate is decided by a noisy count",
		"MA8":  "a boolean aggregate is decided by a noisy count",
		"A10":  "statistics of pairs are computed from noisy sums of bounded products",
		"MC17": "statistics of pairs are computed from noisy sums of bounded products",
		"MC18": "statistics of pairs are computed from noisy sums of bounded products",
		"MC20": "statistics of pairs are computed from noisy sums of bounded products",
	}
)

// TestAttacks runs every shape of a file in all worlds, in the simple protocol, as
// one message, and in the extended one, statement by statement. All that an analyst can
// see, noise left out, must be the same in all worlds. DPPROXY_ATTACKS names another
// file of the same form.
func TestAttacks(t *testing.T) {
	t.Parallel()
	h := &hunt{attackers: startWorlds(t, readFile(t, "testdata/attacks.sql"), readFile(t, "testdata/attacks.yaml"), worlds)}
	if path := os.Getenv("DPPROXY_ATTACKS"); path != "" {
		h.shapes(t, path)
		return
	}
	for _, name := range []string{"attacks", "attacks-more"} {
		t.Run(name, func(t *testing.T) {
			got := h.shapes(t, "testdata/"+name+".json")
			if h.golden() {
				compareGolden(t, "testdata/"+name+".replies", got)
			}
		})
	}
	h.conversations(t, "testdata/attacks")
}

// A hunt runs attacks in all worlds.
type hunt struct{ attackers []*attacker }

// golden reports whether the mirror is of the version whose words the golden files have, and the
// database of one that takes their statements. Of another, the worlds are compared all the same.
func (h *hunt) golden() bool {
	a := h.attackers[0]
	return strings.HasPrefix(a.conn.ParameterStatus("server_version"), "15.") && a.data.InfiniteNumerics()
}

// startWorlds makes databases of one schema, each with another change to its rows.
func startWorlds(t *testing.T, schema, policy string, worlds []string) []*attacker {
	t.Helper()
	attackers := make([]*attacker, len(worlds))
	for i, change := range worlds {
		data, err := pgtemp.Start(t.Context(), pgtemp.Options{Settings: []string{"shared_preload_libraries=pg_stat_statements"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(data.Stop)
		s := sitetest.Make(t, sitetest.Options{Data: data, Schema: schema + change, Policy: policy})
		// Dead rows that a deletion leaves behind must not tell by their time.
		sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser)), "VACUUM ANALYZE")
		attackers[i] = newAttacker(t, s)
	}
	return attackers
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compareGolden compares the fates of the shapes with those that somebody read and
// accepted; the flag -rewrite accepts anew.
func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if sitetest.Rewriting() {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(strings.Split(readFile(t, path), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-rewrite accepts):\n%s", path, diff)
	}
}

// shapes runs a file's shapes and returns the fate of each.
func (h *hunt) shapes(t *testing.T, path string) string {
	t.Helper()
	var file struct{ Shapes []shape }
	if err := json.Unmarshal([]byte(readFile(t, path)), &file); err != nil || len(file.Shapes) == 0 {
		t.Fatalf("%s: %d shapes, %v", path, len(file.Shapes), err)
	}
	var out strings.Builder
	count := map[fate]int{}
	differing := 0
	for _, s := range file.Shapes {
		v := h.try(t, s)
		count[v.fate]++
		if len(v.breaches) > 0 {
			differing++
			t.Errorf("%s: %s\n%s", s.ID, s.SQL, strings.Join(v.breaches, "\n"))
		}
		fmt.Fprintf(&out, "%s %s: %s\n%s\n", s.ID, v.fate, s.SQL, v.text)
	}
	t.Logf("%s: shapes %d, refused %d, charged %d, free %d, differing: %d",
		path, len(file.Shapes), count[refused], count[charged], count[free], differing)
	return out.String()
}

// A fate is the outcome of a shape.
type fate string

const (
	refused fate = "refused"
	charged fate = "charged"
	free    fate = "free" // answered, the same in all worlds to the last digit
)

// A finding about a shape.
type finding struct {
	fate     fate
	text     string // of the replies, but for parts that noise changes
	breaches []string
}

// ways are the ways to send a shape.
var ways = map[string]func(*attacker, *testing.T, string) reply{
	"simple":   (*attacker).simple,
	"extended": (*attacker).extended,
}

const (
	firstSamples = 2
	// allSamples are taken of a shape whose replies differ: a reply that one world always gives and
	// another never lies 5.3 standard deviations apart.
	allSamples = 14
)

// try runs a shape in all worlds, and more often if its replies differ, to tell noise
// from data.
func (h *hunt) try(t *testing.T, s shape) (v finding) {
	t.Helper()
	v.fate = free
	seen := ""
	for _, way := range []string{"simple", "extended"} {
		samples := make([][]reply, len(h.attackers))
		h.sample(t, samples, s.SQL, way, firstSamples)
		if len(compare(samples)) > 0 {
			h.sample(t, samples, s.SQL, way, allSamples-firstSamples)
		}
		for range 2 {
			if timely(samples) {
				break
			}
			h.sample(t, samples, s.SQL, way, allSamples)
		}
		for _, b := range compare(samples) {
			v.breaches = append(v.breaches, way+": "+b)
		}
		for _, r := range samples[0] {
			v.fate = r.worse(v.fate)
			if s.mustRefuse() && (r.err == "" || r.charge != "" || r.reads > 0) {
				v.breaches = append(v.breaches, fmt.Sprintf("%s: must be refused before data are read: %+v", way, r))
			}
			if failedRead.MatchString(r.err) {
				v.breaches = append(v.breaches, way+": a read failed: "+r.err)
			}
		}
		if text := samples[0][0].outline(); text != seen {
			v.text += fmt.Sprintf("  %s: %s\n", way, text)
			seen = text
		}
	}
	return v
}

// sample runs a shape a number of times in every world.
func (h *hunt) sample(t *testing.T, samples [][]reply, sql, way string, times int) {
	t.Helper()
	var all sync.WaitGroup
	for i, a := range h.attackers {
		all.Go(func() {
			for range times {
				samples[i] = append(samples[i], a.attack(t, sql, ways[way]))
			}
		})
	}
	all.Wait()
}
