package marks_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"dpproxy/parser/marks"
)

// block is a released relation of four keys and three cells, as the statements of testdata read them.
const block = "(SELECT g1 AS k, g2 AS name, g3 AS day, g4 AS sex, a1 AS c, a2 AS s, a3 AS a FROM dp_b0)"

var place = regexp.MustCompile(`\{[A-Z][0-9]*\}`)

func marksOf(t *testing.T, sql string, rows marks.Mark) marks.Result {
	t.Helper()
	of := marks.Block{Name: "dp_b0", Rows: rows}
	for _, name := range strings.Fields("g1 g2 g3 g4 a1 a2 a3") {
		c := marks.Column{Name: name}
		if name[0] == 'a' {
			c.Mark = marks.Cell
		}
		of.Columns = append(of.Columns, c)
	}
	r, ok := marks.Of(place.ReplaceAllString(sql, block), []marks.Block{of})
	if !ok {
		t.Errorf("%s: not known", sql)
	}
	return r
}

// TestLabels finds the columns without noise of statements whose labels were set by hand.
func TestLabels(t *testing.T) {
	text, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(part, "\n")
		sql, want := lines[1], strings.TrimSpace(strings.TrimPrefix(lines[2], "labels:"))
		var labels []string
		for _, c := range marksOf(t, sql, marks.Label).Columns {
			if c.Mark == marks.Label {
				labels = append(labels, c.Name)
			}
		}
		n++
		if got := strings.Join(labels, ","); got != want {
			t.Errorf("%s\n%s\nlabels %q, want %q", lines[0], sql, got, want)
		}
	}
	if n < 61 {
		t.Errorf("%d statements", n)
	}
}

// TestMarks has the marks of columns and rows of queries of all forms: - label, c cell, n noisy, m most, l least, x mixed, ? unknown.
func TestMarks(t *testing.T) {
	for _, c := range []struct{ sql, columns, rows string }{
		{"SELECT k, c FROM {B} b", "-c", "-"},
		{"SELECT k FROM {B} b WHERE c > 5", "-", "n"},
		{"SELECT count(*) FROM {B} b WHERE c > 5", "n", "-"},
		{"SELECT count(*) FROM {B} b", "-", "-"},
		{"SELECT k, count(*) FROM {B} b GROUP BY k HAVING sum(c) > 5", "--", "n"},
		{"SELECT k, count(*) OVER () FROM {B} b GROUP BY k HAVING sum(c) > 5", "-n", "n"},
		{"SELECT c > 5 AS high, count(*) FROM {B} b GROUP BY 1", "nn", "n"},
		{"SELECT k, c > 5, count(*) FROM {B} b GROUP BY k, c > 5", "-nn", "n"},
		{"SELECT k FROM {B} b ORDER BY c LIMIT 3", "-", "n"},
		{"SELECT k FROM {B} b ORDER BY k LIMIT 3", "-", "-"},
		{"SELECT k FROM {B} b LIMIT (SELECT max(c) FROM {B} z)", "-", "x"},
		{"SELECT DISTINCT k FROM {B} b", "-", "-"},
		{"SELECT DISTINCT c FROM {B} b", "c", "n"},
		{"SELECT DISTINCT ON (k) k, sex FROM {B} b ORDER BY k, c", "--", "n"},
		{"SELECT k FROM {B} b UNION SELECT c FROM {B} z", "c", "n"},
		{"SELECT k FROM {B} b UNION ALL SELECT c FROM {B} z", "c", "-"},
		{"SELECT a.k, b.c FROM {B} a JOIN {B} b USING (k)", "-c", "-"},
		{"SELECT k FROM {B} a JOIN {B} b USING (k, c)", "-", "n"},
		{"SELECT * FROM (SELECT k, c FROM {B} x) a JOIN (SELECT k, s FROM {B} y) b USING (k)", "-cc", "-"},
		{"SELECT b.k FROM {B} a JOIN {B} b ON a.c < b.c", "-", "n"},
		{"SELECT o.x FROM public.other o, {B} b", "-", "-"},
		{"SELECT x, b.c FROM other o, {B} b", "-c", "-"},
		{"SELECT b FROM {B} b", "n", "-"},
		{"SELECT (SELECT max(c) FROM {B} z WHERE z.k = b.k) FROM {B} b", "m", "-"},
		{"SELECT (SELECT max(k) FROM {B} z WHERE z.c > b.c) FROM {B} b", "m", "-"},
		{"SELECT k IN (SELECT k FROM {B} z WHERE c > 3) FROM {B} b", "n", "-"},
		{"SELECT EXISTS (SELECT 1 FROM {B} z) FROM {B} b", "-", "-"},
		{"SELECT k, rank() OVER w FROM {B} b WINDOW w AS (ORDER BY c)", "-n", "-"},
		{"SELECT k, rank() OVER (w) FROM {B} b WINDOW w AS (v), v AS (PARTITION BY c)", "-n", "-"},
		{"SELECT k, rank() OVER (ORDER BY day) FROM {B} b", "--", "-"},
		{"SELECT n FROM {B} b, LATERAL (SELECT c AS n) l", "c", "-"},
		{"SELECT n FROM {B} b, generate_series(1, c) n", "n", "n"},
		{"SELECT n FROM {B} b, generate_series(1, k) n", "-", "-"},
		{"WITH q(x, y) AS (SELECT k, c FROM {B} b) SELECT y, x FROM q", "c-", "-"},
		{"WITH q AS (SELECT k, c FROM {B} b), r AS (SELECT sum(c) AS t FROM q) SELECT k, c / t FROM q, r", "-n", "-"},
		{"WITH RECURSIVE r(i, v) AS (SELECT 1, 1 UNION ALL SELECT i + 1, (v * c)::int FROM r, {B} b) SELECT * FROM r", "-n", "-"},
		{"WITH RECURSIVE r(i, v, w) AS (SELECT 1, 1, 1 UNION ALL SELECT i + 1, w, (v * c)::int FROM r, {B} b) SELECT * FROM r", "-nn", "-"},
		{"WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r, {B} b WHERE i < c) SELECT i FROM r", "-", "n"},
		{"SELECT k, random() FROM {B} b", "-?", "-"},
		{"SELECT * FROM (VALUES (1, 2), (3, 4)) v(x, y), {B} b", "------ccc", "-"},
		{"SELECT x.k FROM ({B} b JOIN other o ON true) AS x", "-", "-"},
		{"SELECT max(v) FROM (SELECT CASE WHEN c > 5 THEN k END AS v FROM {B} b) q", "m", "-"},
		{"SELECT min(c)::numeric, max(c) - min(c), round(max(c), 1), max(k), sum(c) FROM {B} b", "lmm-n", "-"},
		{"SELECT max(c) + max(s), max(c) + min(c), max(c) - max(s), min(c) - max(c), max(c) + sum(c) FROM {B} b", "mxxlm", "-"},
		{"SELECT max(c) * 2, 2 * max(c), max(c) * -2, -1.5 * min(c), -max(c), +max(c), - -max(c) FROM {B} b", "mmlmlmm", "-"},
		{"SELECT max(c) / 7, max(c) / -0.5, 7 / max(c), max(c) / sum(c), max(c) * sum(c), max(c) * 0, max(c) / max(k) FROM {B} b",
			"mlxxxxx", "-"},
		{"SELECT coalesce(max(c), 0), coalesce(max(c), min(s)), trunc(min(c), 1), round(max(c), sum(c)), round(sum(c)) FROM {B} b",
			"mxlxn", "-"},
		{"SELECT abs(max(c)), max(c) % 5, max(c) > 5, nullif(max(c), 0), greatest(max(c), 3), c + 1, c * s, c / 2 FROM {B} b",
			"xxxxxnnn", "-"},
		{"SELECT k, max(c) OVER (), c - max(c) OVER () FROM {B} b", "-ml", "-"},
		{"SELECT sum(v) FROM (SELECT k, max(c) AS v FROM {B} b GROUP BY k) q", "x", "-"},
		{"SELECT v FROM (SELECT k, max(c) AS v FROM {B} b GROUP BY k) q WHERE v > 3", "m", "x"},
	} {
		r := marksOf(t, c.sql, marks.Label)
		var columns strings.Builder
		for _, of := range r.Columns {
			columns.WriteByte("-cnmlx?"[of.Mark])
		}
		if rows := string("-cnmlx?"[r.Rows]); columns.String() != c.columns || rows != c.rows {
			t.Errorf("%s\n%s %s, want %s %s", c.sql, &columns, rows, c.columns, c.rows)
		}
	}
}
