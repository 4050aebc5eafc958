package local_test

import (
	"os"
	"strings"
	"testing"

	"dpproxy/internal/sitetest"
)

// TestPromise takes the promise back that values do not change, and makes it again. Values may have changed in between, though nobody
// asked then: what was lost before is added to what is lost after, and the same question is a new one.
func TestPromise(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
	promise := func(rule string) *sitetest.Running {
		text, err := os.ReadFile(s.Policy)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "values_change") {
				lines = append(lines, line)
			}
			if strings.Contains(line, "model: local") {
				lines = append(lines, strings.Replace(line, "model: local", "values_change: "+rule, 1))
			}
		}
		if err := os.WriteFile(s.Policy, []byte(strings.Join(lines, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		return s.Run(t)
	}
	const ask, lost = "SELECT loss_max::text FROM dp.survey('people', 'smoker', 1)", "SELECT max(loss)::text FROM local.people"
	for i, step := range []struct{ rule, ask, want string }{
		{"never", ask, "1"}, {"never", ask, "1"}, {"sum", lost, "1"}, {"never", ask, "2"},
	} {
		r := promise(step.rule)
		if got := sitetest.Rows(t, sitetest.Dial(t, r.URL("ana")), step.ask); !strings.Contains(got, step.want) {
			t.Errorf("at start %d %s is lost, want %s", i+1, got, step.want)
		}
		r.Stop()
	}
}
