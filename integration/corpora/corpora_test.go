package corpora_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// fewPeople are enough for fates: of 100 rows the noise of suggested bounds leaves none in one of ten draws, of 400 hardly ever.
const fewPeople = 400

// A player asks dpproxy statements, and the protected database for the truth about them.
type player struct {
	ours, truth *pgx.Conn
	fates       map[string]int
	planning    []time.Duration // of each statement
	verdicts    []verdict
}

func newPlayer(t *testing.T) *player {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), ":people", strconv.Itoa(cmp.Or(*people, fewPeople)))
	}
	return playerOf(t, sitetest.New(t, read("schema.sql"), read("policy.yaml")))
}

func playerOf(t *testing.T, s *sitetest.Site) *player {
	t.Helper()
	p := &player{fates: map[string]int{}}
	p.ours = sitetest.Dial(t, s.Run(t).URL("ana"))
	p.truth = sitetest.Dial(t, s.Data.URL(s.Database, pgtemp.Superuser))
	for _, set := range []string{"dp.epsilon = 0.5", "dp.columns = errors", "TimeZone = 'UTC'"} {
		sitetest.Exec(t, p.ours, "SET "+set)
	}
	sitetest.Exec(t, p.truth, "SET TimeZone = 'UTC'")
	sitetest.Exec(t, p.truth, "SET statement_timeout = '1min'")
	return p
}

// TestCorpora holds the fate of each statement. No suggestion is refused.
func TestCorpora(t *testing.T) {
	p := newPlayer(t)
	files, err := os.ReadDir("testdata/fates")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		datadriven.RunTest(t, "testdata/fates/"+f.Name(), func(t *testing.T, d *datadriven.TestData) string { return p.play(t, d) })
	}
	for _, fate := range []string{answered, mended, refused, misled} {
		t.Logf("%s: %d", fate, p.fates[fate])
	}
	slices.Sort(p.planning)
	if n := len(p.planning); n > 0 {
		t.Logf("%d statements, planned in %v (median), %v (99 of 100)", n, p.planning[n/2], p.planning[n*99/100])
	}
	p.tell(t)
}

// Fates of a statement.
const (
	answered = "answered"
	mended   = "refused, with a statement that is answered"
	refused  = "refused"
	misled   = "refused, with a statement that is refused"
)

// play returns the fate of a statement.
func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	title := strings.Join(append([]string{d.Cmd}, keysOf(d)...), " ")
	start := time.Now()
	told, err := p.explain(t, d.Input)
	p.planning = append(p.planning, time.Since(start))
	if err == nil {
		p.fates[answered]++
		p.compare(t, title, d.Input)
		return told
	}
	_, err = p.ours.PgConn().Exec(t.Context(), d.Input).ReadAll()
	refusal, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		t.Fatalf("%s\nis refused by EXPLAIN alone: %v", d.Input, err)
	}
	hint, try, found := strings.Cut(refusal.Hint, "Try: ")
	text := fmt.Sprintf("refused, %s: %s\n", refusal.Code, refusal.Message)
	if hint = strings.TrimSpace(hint); hint != "" {
		text += "hint: " + hint + "\n"
	}
	if !found {
		p.fates[refused]++
		return text
	}
	text += "try: " + strings.TrimSuffix(try, ".") + "\n"
	after, err := p.follow(t, title, strings.TrimSuffix(try, "."))
	if err != nil {
		t.Errorf("%s\nis suggested and refused: %v", try, err)
		p.fates[misled]++
		return text + "which is refused: " + err.Error() + "\n"
	}
	p.fates[mended]++
	return text + "which is " + after
}

// keysOf are the words behind the name of a tool.
func keysOf(d *datadriven.TestData) (keys []string) {
	for _, a := range d.CmdArgs {
		keys = append(keys, a.Key)
	}
	return keys
}

// follow asks a suggestion: several statements, perhaps, of which the last is the question.
func (p *player) follow(t *testing.T, title, try string) (told string, err error) {
	t.Helper()
	parts := strings.Split(try, "; ")
	last := len(parts) - 1
	for _, sql := range parts[:last] {
		if _, err := p.ours.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			return "", err
		}
		p.copy(t, sql)
	}
	if told, err = p.explain(t, parts[last]); err == nil {
		p.compare(t, "Try of "+title, parts[last])
	}
	return told, err
}

var groups = regexp.MustCompile(`group by .*: (?:(\d+ public groups)|private)`)

// explain says which groups an answer would have.
func (p *player) explain(t *testing.T, sql string) (told string, err error) {
	t.Helper()
	explained := sql
	if !strings.HasPrefix(strings.ToUpper(sql), "EXPLAIN") {
		explained = "EXPLAIN " + sql
	}
	rows, err := p.ours.Query(t.Context(), explained, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return "", err
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", err
	}
	var parts []string
	plan := strings.Join(lines, "\n")
	for _, m := range groups.FindAllStringSubmatch(plan, -1) {
		parts = append(parts, cmp.Or(m[1], "private groups"))
	}
	if strings.Contains(plan, "cost: nothing") {
		parts = append(parts, "for nothing")
	}
	return strings.TrimSuffix("answered: "+strings.Join(parts, ", "), ": ") + "\n", nil
}
