package bench_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

const accuracyDocument = "../../docs/accuracy.md"

var (
	psqlBlock = regexp.MustCompile("(?ms)^```psql\n(.*?)^```$")
	prompted  = regexp.MustCompile(`(?m)^demo=> .*(?:\ndemo-> .*)*$`)
	figure    = regexp.MustCompile(`-?[0-9]+(?:[.,:eE+-]*[0-9]+)*`)
	above     = regexp.MustCompile(`(About|Perhaps none|None) .*$`)
	unbounded = regexp.MustCompile(`/ \+ unknown\)|nothing bounds (?:what limits|how far)|to any value within its bounds`)
	spacing   = regexp.MustCompile(`[ ]+`)
	ruling    = regexp.MustCompile(`-[-+]*`)
)

// TestAccuracyDocument plays the conversations of docs/accuracy.md with psql, all in one session:
// replies are the ones that stand there, but for the figures. With -rewrite they are written down.
func TestAccuracyDocument(t *testing.T) {
	text, err := os.ReadFile(accuracyDocument)
	if err != nil {
		t.Fatal(err)
	}
	blocks := psqlBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("%s has %d conversations", accuracyDocument, len(blocks))
	}
	var script strings.Builder
	const end = "-- the block ends"
	for _, block := range blocks {
		for _, statement := range prompted.FindAllString(block[1], -1) {
			for line := range strings.Lines(statement) {
				script.WriteString(`\echo '` + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "'", "''") + "'\n")
			}
			script.WriteString(strings.NewReplacer("demo=> ", "", "demo-> ", "").Replace(statement) + "\n")
		}
		script.WriteString(`\echo '` + end + "'\n")
	}
	played := strings.Split(playBounded(t, script.String()), end+"\n")
	t.Logf("\n%s", strings.Join(played, "\n"))
	if sitetest.Rewriting() {
		rest := played
		out := psqlBlock.ReplaceAllStringFunc(string(text), func(string) string {
			block := "```psql\n" + strings.TrimRight(rest[0], "\n") + "\n```"
			rest = rest[1:]
			return block
		})
		if err := os.WriteFile(accuracyDocument, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for i, block := range blocks {
		if want, got := figureless(block[1]), figureless(played[i]); want != got {
			t.Errorf("%s says\n%s\npsql shows\n%s", accuracyDocument, block[1], played[i])
		}
	}
}

// playBounded plays a script before a demonstration in which each answer has an upper end: one of twenty has none, which
// the document does not show. Five demonstrations in a row without are no chance.
func playBounded(t *testing.T, script string) (played string) {
	t.Helper()
	for range 5 {
		played = converse(t, sitetest.StartDemo(t, "--small").Analyst, script)
		if !unbounded.MatchString(played) {
			break
		}
	}
	return played
}

// converse lets one psql run a script, and returns its output, in order.
func converse(t *testing.T, conninfo, script string) string {
	t.Helper()
	bin, err := pgtemp.Bin()
	if err != nil {
		t.Fatal(err)
	}
	// By lines, so that notices stand where they came.
	cmd := exec.CommandContext(t.Context(), "stdbuf", "-oL", filepath.Join(bin, "psql"), "--no-psqlrc", "--pset=pager=off", conninfo)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
	return string(out)
}

// atBounds is said of an interval that ends at a bound of values, as some do.
const atBounds = ", since values have bounds"

// figureless leaves out figures, how wide they make columns, whether an interval ends at a bound, and how it is said that some or none are
// above a limit.
func figureless(s string) string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(s, atBounds, "")) {
		line = figure.ReplaceAllString(above.ReplaceAllString(strings.TrimSpace(line), "Some are above it."), "N")
		if line = ruling.ReplaceAllString(spacing.ReplaceAllString(line, " "), "-"); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}
