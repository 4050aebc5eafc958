package truth_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// replaySchema has tables of people with one row each, in groups of known sizes: near-equal days, months, diagnoses whose sizes fall as a
// power of their rank, small groups, groups of two keys, and equal groups. And a table of visits: most people have a few of them, one in
// forty has forty, so that limits leave rows out.
const replaySchema = `
CREATE FUNCTION groups(n int, size text) RETURNS SETOF int LANGUAGE plpgsql AS $$
DECLARE g int; c int; BEGIN
FOR g IN 0 .. n - 1 LOOP EXECUTE 'SELECT ' || size INTO c USING g; FOR i IN 1 .. c LOOP RETURN NEXT g; END LOOP; END LOOP; END $$;
CREATE TABLE days AS SELECT row_number() OVER ()::int AS id, date '2024-01-01' + g AS day FROM groups(112, '150 + $1 * 7 % 23') g;
CREATE TABLE months AS SELECT row_number() OVER ()::int AS id, (date '2024-01-01' + make_interval(months => g))::date AS day,
	(row_number() OVER () * 37 % 100)::int AS x FROM groups(12, '400 + 40 * $1') g;
CREATE TABLE diagnoses AS SELECT row_number() OVER ()::int AS id, chr(65 + g) AS name, (row_number() OVER () * 37 % 100)::int AS x
	FROM groups(26, '(2500 / ($1 + 1) ^ 1.3)::int') g;
CREATE TABLE small AS SELECT row_number() OVER ()::int AS id, chr(65 + g) AS name, (row_number() OVER () * 37 % 100)::int AS x
	FROM groups(26, '$1 * 11 % 29') g;
CREATE TABLE crossed AS SELECT row_number() OVER ()::int AS id, g / 2 + 1 AS k, CASE g % 2 WHEN 0 THEN 'f' ELSE 'm' END AS sex,
	(row_number() OVER () * 37 % 100)::int AS x FROM groups(12, '200 + 37 * $1') g;
CREATE TABLE equals AS SELECT row_number() OVER ()::int AS id, g AS k FROM groups(300, '100') g;
CREATE TABLE visits AS SELECT row_number() OVER ()::int AS id, p AS person, (p * 7 + i) % 12 + 1 AS k, (p * 37 + i * 11) % 100 AS x
	FROM generate_series(0, 3999) p, generate_series(1, 1 + 40 / (1 + p % 40)) i;
ALTER TABLE days ADD PRIMARY KEY (id), ALTER day SET NOT NULL;
ALTER TABLE months ADD PRIMARY KEY (id), ALTER day SET NOT NULL, ALTER x SET NOT NULL;
ALTER TABLE diagnoses ADD PRIMARY KEY (id), ALTER name SET NOT NULL, ALTER x SET NOT NULL;
ALTER TABLE small ADD PRIMARY KEY (id), ALTER name SET NOT NULL, ALTER x SET NOT NULL;
ALTER TABLE crossed ADD PRIMARY KEY (id), ALTER k SET NOT NULL, ALTER sex SET NOT NULL, ALTER x SET NOT NULL;
ALTER TABLE equals ADD PRIMARY KEY (id), ALTER k SET NOT NULL;
ALTER TABLE visits ADD PRIMARY KEY (id), ALTER person SET NOT NULL, ALTER k SET NOT NULL, ALTER x SET NOT NULL;`

// replayPolicy declares all groups.
func replayPolicy() string {
	var names, months []string
	for i := range 26 {
		names = append(names, string(rune('A'+i)))
	}
	for i := range 12 {
		months = append(months, fmt.Sprintf("2024-%02d-01", i+1))
	}
	return fmt.Sprintf(`privacy_unit: {name: person, budget: {epsilon: 9000, delta: 1e-6}}
tables:
  days: {unit: id, columns: {day: {bounds: [2024-01-01, 2024-04-21]}}}
  months: {unit: id, columns: {day: {values: [%[2]s]}, x: {bounds: [0, 100]}}}
  diagnoses: {unit: id, columns: {name: {values: [%[1]s]}, x: {bounds: [0, 100]}}}
  small: {unit: id, columns: {name: {values: [%[1]s]}, x: {bounds: [0, 100]}}}
  crossed: {unit: id, columns: {k: {bounds: [1, 6]}, sex: {values: [f, m]}, x: {bounds: [0, 100]}}}
  equals: {unit: id, columns: {k: {bounds: [0, 299]}}}
  visits: {unit: person, max_rows: auto, columns: {k: {bounds: [1, 12]}, x: {bounds: [0, 100]}}}
analysts:
  ana: {password: VERIFIER, tables: [days, months, diagnoses, small, crossed, equals, visits]}
`, strings.Join(names, ", "), strings.Join(months, ", "))
}

// replayBlocks are the released relations of the statements.
var replayBlocks = strings.NewReplacer(
	"{T}", "(SELECT day, day - date '2024-01-01' AS k, c FROM (SELECT day, count(*) AS c FROM days GROUP BY day) z)",
	"{M}", "(SELECT day, extract(month FROM day)::int AS k, c, s FROM (SELECT day, count(*) AS c, sum(x) AS s FROM months GROUP BY day) z)",
	"{M2}", "(SELECT day, count(*) AS c FROM months WHERE x < 40 GROUP BY day)",
	"{D}", "(SELECT name, count(*) AS c, sum(x) AS s, avg(x) AS a FROM diagnoses GROUP BY name)",
	"{S}", "(SELECT name, count(*) AS c, sum(x) AS s FROM small GROUP BY name)",
	"{S1}", "(SELECT name, count(*) AS c FROM small GROUP BY name)",
	"{X}", "(SELECT k, sex, count(*) AS c, sum(x) AS s FROM crossed GROUP BY k, sex)",
	"{W}", "(SELECT k, count(*) AS c FROM equals GROUP BY k)",
	"{O}", "(SELECT count(*) AS c FROM months)",
	"{V}", "(SELECT k, count(*) AS c, sum(x) AS s FROM visits GROUP BY k)",
)

// A replayedQuestion has a value v, and columns that tell rows apart.
type replayedQuestion struct {
	name, sql, but string
	labels         []string
}

var replayedText = regexp.MustCompile(`(?ms)^-- ([^:\n]+):(?: ([a-z_, ]+?))??(?: ?but ([^\n]*))?\n([^-][^;]*);`)

func replayedQuestions(t *testing.T) (all []replayedQuestion) {
	t.Helper()
	text, err := os.ReadFile("testdata/replays.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range replayedText.FindAllStringSubmatch(string(text), -1) {
		q := replayedQuestion{name: m[1], sql: replayBlocks.Replace(m[4]), but: m[3]}
		if m[2] != "" {
			q.labels = strings.Split(m[2], ", ")
		}
		all = append(all, q)
	}
	return all
}

// replayedDraws are how often each question is asked by default, and the part of the intervals that must hold then.
const replayedDraws = 8

// TestReplayedErrors asks questions above released relations, with their intervals as columns, and counts how many of these have the truth
// in them.
func TestReplayedErrors(t *testing.T) {
	data := sitetest.StartServer(t, pgtemp.Options{})
	sitetest.Exec(t, sitetest.Dial(t, data.URL("postgres", pgtemp.Superuser)), replaySchema)
	s := serve(t, data, replayPolicy())
	questions, times := replayedQuestions(t), *draws
	if len(questions) < 100 {
		t.Errorf("%d questions", len(questions))
	}
	wanted := regexp.MustCompile(*only)
	questions = slices.DeleteFunc(questions, func(q replayedQuestion) bool {
		return times == 0 && !quick(q) || !wanted.MatchString(q.name)
	})
	if times == 0 {
		times = replayedDraws
	}
	lines := make([]string, len(questions))
	var wg sync.WaitGroup
	next := make(chan int)
	for _, ours := range s.ours {
		sitetest.Exec(t, ours.Conn, "SET dp.columns = intervals; SET dp.notice = off")
		wg.Go(func() {
			for i := range next {
				lines[i] = replayedQuestionAsked(t, questions[i], ours.Conn, s, times)
			}
		})
	}
	for i := range questions {
		next <- i
	}
	close(next)
	wg.Wait()
	t.Logf("question | cells | held %% | worst cell | width | of one end %% | without an end %%\n%s", strings.Join(lines, "\n"))
}

// quick chooses a few questions of each kind.
func quick(q replayedQuestion) bool {
	return slices.Contains([]string{
		"share of the total", "maximum of equal groups", "rank", "the same release twice", "visits cut by limits, share",
		"small groups above zero, much noise",
	}, q.name)
}

var truths sync.Mutex

func replayedQuestionAsked(t *testing.T, q replayedQuestion, ours *pgx.Conn, s site, times int) string {
	truths.Lock()
	truth, err := replayedRows(t.Context(), s.truth, q)
	truths.Unlock()
	if err != nil {
		t.Errorf("%s: %v", q.name, err)
		return q.name
	}
	type count struct{ held, all int }
	cells, open, total := map[string]count{}, 0, count{}
	width, ends := 0.0, 0
	for range times {
		rows, err := replayedRows(t.Context(), ours, q)
		if err != nil {
			if strings.Contains(err.Error(), "22012") { // noise divides by zero
				continue
			}
			t.Errorf("%s: %v", q.name, err)
			return q.name
		}
		for key, row := range rows {
			want, ok := truth[key]
			switch {
			case !ok || math.IsNaN(row.v) || math.IsNaN(want.v):
				continue
			case math.IsInf(row.low, -1) && math.IsInf(row.high, 1):
				open++
				continue
			}
			if w := row.high - row.low; math.IsInf(w, 1) {
				ends++
			} else {
				width += w
			}
			c := cells[key]
			c.all, total.all = c.all+1, total.all+1
			if room := 1e-9 * (1 + math.Abs(want.v)); row.low-room <= want.v && want.v <= row.high+room {
				c.held, total.held = c.held+1, total.held+1
			}
			cells[key] = c
		}
	}
	worst := 100.0
	for _, c := range cells {
		if 2*c.all >= times {
			worst = min(worst, 100*float64(c.held)/float64(c.all))
		}
	}
	held := 100 * float64(total.held) / float64(max(total.all, 1))
	// 93 %, less five standard deviations of as many draws.
	if least := 93 - 500*math.Sqrt(0.07*0.93/float64(times)); q.but == "" && total.all > 0 && held < least {
		t.Errorf("%s: %.1f %% of the intervals hold", q.name, held)
	}
	part := func(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }
	return fmt.Sprintf("%s | %d | %.1f | %.1f | %.4g | %.1f | %.1f | %s", q.name, len(truth), held, worst,
		width/float64(max(total.all-ends, 1)), part(ends, total.all), part(open, open+total.all), q.but)
}

// A replayedRow has a value and its stated ends, which are infinite where none is stated.
type replayedRow struct{ v, low, high float64 }

// replayedRows asks for the rows, by their labels.
func replayedRows(ctx context.Context, conn *pgx.Conn, q replayedQuestion) (map[string]replayedRow, error) {
	results, err := conn.PgConn().Exec(ctx, q.sql).ReadAll()
	if err != nil {
		return nil, err
	}
	r := results[len(results)-1]
	out := map[string]replayedRow{}
	for _, cells := range r.Rows {
		var key []string
		row := replayedRow{math.NaN(), math.Inf(-1), math.Inf(1)}
		for i, f := range r.FieldDescriptions {
			x, err := strconv.ParseFloat(string(cells[i]), 64)
			switch {
			case slices.Contains(q.labels, f.Name):
				key = append(key, string(cells[i]))
			case f.Name == "v" && err == nil:
				row.v = x
			case f.Name == "v_lower" && err == nil:
				row.low = x
			case f.Name == "v_upper" && err == nil:
				row.high = x
			}
		}
		out[strings.Join(key, " ")] = row
	}
	return out, nil
}
