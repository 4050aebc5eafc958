package truth_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWithEnds shows the statements that become of a value in braces.
func TestWithEnds(t *testing.T) {
	for _, c := range []struct{ text, plain, ends, without string }{
		{
			"{count(*)}", "count(*)",
			"count(*), dp.lower(count(*)) AS value_low, dp.upper(count(*)) AS value_high",
			"count(*), NULL::float8 AS value_low, NULL::float8 AS value_high",
		},
		{
			"{avg(a || b) AS n}", "avg(a || b) AS n",
			"avg(a || b) AS n, dp.lower(avg(a || b)) AS n_low, dp.upper(avg(a || b)) AS n_high",
			"avg(a || b) AS n, NULL::float8 AS n_low, NULL::float8 AS n_high",
		},
		{"{t.n}", "t.n", "t.n, t.n_low AS n_low, t.n_high AS n_high", "t.n, t.n_low AS n_low, t.n_high AS n_high"},
		{
			"{-n AS m\n| -n_high | -n_low}", "-n AS m", "-n AS m, -n_high AS m_low, -n_low AS m_high",
			"-n AS m, NULL::float8 AS m_low, NULL::float8 AS m_high",
		},
		{"{rank() OVER () AS place | ?}", "rank() OVER () AS place", "rank() OVER () AS place", "rank() OVER () AS place"},
		{
			"{2 * a / b | 2 | a | b}", "2 * a / b",
			"2 * a / b, " +
				"CASE WHEN dp.lower(b) > 0 THEN 2 * least(dp.lower(a) / dp.lower(b), dp.lower(a) / dp.upper(b)) END AS value_low, " +
				"CASE WHEN dp.lower(b) > 0 THEN 2 * greatest(dp.upper(a) / dp.lower(b), dp.upper(a) / dp.upper(b)) END AS value_high",
			"2 * a / b, NULL::float8 AS value_low, NULL::float8 AS value_high",
		},
	} {
		got := []string{plain(c.text), withEnds(c.text), withoutEnds(c.text)}
		if diff := cmp.Diff([]string{c.plain, c.ends, c.without}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

// TestQuestions reads all questions: each has a name of its own.
func TestQuestions(t *testing.T) {
	for file, want := range map[string]int{"clinic": 4, "aggregates": 17, "statistics": 20, "study": 12, "analyst": 100} {
		seen := map[string]bool{}
		for _, q := range questionsAbout(t, file) {
			if seen[q.name] {
				t.Errorf("%s: two questions are called %s", file, q.name)
			}
			seen[q.name] = true
		}
		if len(seen) != want {
			t.Errorf("%s: %d questions, want %d", file, len(seen), want)
		}
	}
}

// TestVerdict shows which answers are within, and that those beside the truth are not.
func TestVerdict(t *testing.T) {
	q := question{asked: "SELECT g, {count(*) AS n}, {avg(x) AS a} FROM t GROUP BY g"}
	nan := number(nil)
	truth := reply{columns: []string{"n", "a"}, order: []string{"x", "y"}, rows: map[string][]cell{
		"x": {{10, nan, nan}, {5, nan, nan}}, "y": {{20, nan, nan}, {nan, nan, nan}},
	}}
	for _, c := range []struct {
		name string
		rows map[string][]cell
		want verdict
		is   string
	}{
		{
			"true",
			map[string][]cell{"x": {{11, 10, 12}, {5, 4, 6}}, "y": {{20, 19, 21}, {nan, nan, nan}}},
			verdict{within: 3, null: 1},
			inside,
		},
		{
			"too low",
			map[string][]cell{"x": {{9, 8, 9.5}, {5, 4, 6}}, "y": {{20, 19, 21}, {nan, nan, nan}}},
			verdict{within: 2, outside: 1, null: 1},
			outside,
		},
		{"an average of nothing", map[string][]cell{"y": {{20, 19, 21}, {7, 6, 8}}}, verdict{within: 1, outside: 1, missing: 1}, outside},
		{
			"an empty group",
			map[string][]cell{"z": {{1, -1, 3}, {nan, nan, nan}}},
			verdict{within: 1, null: 1, missing: 2, more: 1},
			inside,
		},
		{"no intervals", map[string][]cell{"x": {{10, nan, nan}, {5, 4, 6}}}, verdict{within: 1, unstated: 1, missing: 1}, outside},
		{"nothing", map[string][]cell{"x": {{nan, nan, nan}, {nan, nan, nan}}}, verdict{null: 2, missing: 1}, empty},
	} {
		answer := reply{rows: c.rows}
		for key := range c.rows {
			answer.order = append(answer.order, key)
		}
		var got verdict
		got.compare(q, answer, truth)
		is := got.outcome()
		got.worst, got.excess = "", 0
		if got != c.want || is != c.is {
			t.Errorf("%s: %+v is %s, want %+v, %s", c.name, got, is, c.want, c.is)
		}
	}
}
