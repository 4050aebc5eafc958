package local_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpproxy/internal/sitetest"
)

var people = flag.Int("people", 300, "people of TestMany")

// TestMany asks many people through dpproxy, starts it again, and prints times, bytes and memory: make local.
func TestMany(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{
		Database: "clinic", Policy: policy,
		Schema: strings.NewReplacer("(1, 3000)", fmt.Sprintf("(2, %d)", *people), "VALUES (3001", "VALUES (1").Replace(schema) +
			"ANALYZE people;",
	})
	r := s.Run(t)
	for _, text := range []string{"smoker", "0.5*age + bmi", "district"} {
		began := time.Now()
		conn := sitetest.Dial(t, r.URL("ana"))
		sql := fmt.Sprintf("SELECT answered::text FROM dp.survey('people', '%s', 0.5)", text)
		if got := sitetest.Rows(t, conn, sql); got != fmt.Sprint(*people) {
			t.Errorf("%s answers", got)
		}
		t.Logf("%s: %.0f s, memory %s", text, time.Since(began).Seconds(), highest(t, r))
	}
	began := time.Now()
	conn := sitetest.Dial(t, r.URL("ana"))
	shares := sitetest.Rows(t, conn, "SELECT value || ' ' || share FROM dp.local_histogram('people', 'smoker')")
	t.Logf("shares in %.0f s: %q, memory %s", time.Since(began).Seconds(), shares, highest(t, r))
	files, err := filepath.Glob(filepath.Join(s.Dir, "ledger", "local", "public.people", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", filepath.Base(f), info.Size())
	}
	if steps := strings.Count(r.Log.String(), "a survey goes on"); steps < 3*(*people/1_000_000) {
		t.Errorf("the log tells of %d steps", steps)
	}
	r.Stop()
	began = time.Now()
	r = s.Run(t)
	t.Logf("started again in %.0f s, memory %s", time.Since(began).Seconds(), highest(t, r))
}

// highest is the most memory that dpproxy had resident.
func highest(t *testing.T, r *sitetest.Running) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
