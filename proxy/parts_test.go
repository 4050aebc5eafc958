package proxy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/proxy"
)

// TestParts asks for numbers that were answered as parts of other statements. A statement pays for the numbers that are new. The others are
// shown as they were drawn, if they were drawn as precisely as the statement asks for, or more.
func TestParts(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	ana.set(t, "dp.mechanism = gaussian")
	const all = dp.PicoPerUnit / 200 // of dp.epsilon = 0.1
	shown := map[string]string{}     // the latest number, by what it is
	for _, c := range []struct {
		sql     string
		of      []string // what the columns are
		price   int64
		anew    []string // what is drawn
		epsilon float64
	}{
		{"SELECT count(*) FROM patients", []string{"n"}, all, []string{"n"}, 0.1},
		{"SELECT count(*), sum(birth_year) FROM patients", []string{"n", "s"}, all / 2, []string{"s"}, 0.1},
		{"SELECT sum(birth_year) AS b, count(1) AS a FROM patients", []string{"s", "n"}, 0, nil, 0.1},
		{"SELECT sum(birth_year) FROM patients", []string{"s"}, all, []string{"s"}, 0.1}, // it was half as precise
		{"SELECT sum(birth_year), count(*) FROM patients", []string{"s", "n"}, 0, nil, 0.1},
		{"SELECT count(*) FROM patients", []string{"n"}, 0, nil, 0.05},
		{"SELECT count(*) FROM patients", []string{"n"}, all * 4, []string{"n"}, 0.2},
		{
			"SELECT count(*), sum(birth_year), count(*) FILTER (WHERE birth_year > 1970) FROM patients",
			[]string{"n", "s", "f"},
			all / 3,
			[]string{"f"},
			0.1,
		},
		// Half is more than a third.
		{"SELECT count(*) FILTER (WHERE 1971 <= birth_year), count(*) FROM patients", []string{"", "n"}, all / 2, nil, 0.1},
		{"SELECT count(*) FROM patients WHERE birth_year > 1970", []string{"w"}, all, []string{"w"}, 0.1},
		{"SELECT sum(birth_year), count(*) FROM patients WHERE birth_year >= 1971", []string{"", "w"}, all / 2, nil, 0.1},
		{"SELECT count(*) FROM visits", []string{"v"}, all, []string{"v"}, 0.1},
		{"SELECT sum(cost), count(*) FROM visits", []string{"c", "v"}, all / 2, []string{"c"}, 0.1},
		{"SELECT count(*), sum(cost), avg(cost) FROM visits", []string{"v", "", ""}, all / 2, nil, 0.1},
		{"SELECT count(*), sum(cost), avg(cost) FROM visits", []string{"v", "", ""}, 0, nil, 0.1},
	} {
		ana.set(t, fmt.Sprintf("dp.epsilon = %v", c.epsilon))
		before := w.spent(t, "unit", "patient")
		values := ana.row(t, c.sql)
		if price := w.spent(t, "unit", "patient") - before; price > c.price || price < c.price*98/100 {
			t.Errorf("%s, dp.epsilon = %v: costs %d, want %d", c.sql, c.epsilon, price, c.price)
		}
		for i, of := range c.of {
			number := values[i]
			if of != "" && shown[of] != "" && !slices.Contains(c.anew, of) && shown[of] != number {
				t.Errorf("%s: %s is %s, and was %s", c.sql, of, number, shown[of])
			}
			if of != "" {
				shown[of] = number
			}
		}
	}
}

// TestPartsOfSeveralBlocks asks for one number in several places of a statement: it is one number, drawn once with the most that one of
// them gives it, whatever was drawn of it before, and it is known from then on.
func TestPartsOfSeveralBlocks(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {}, large(t))
	ana := w.client(t, "ana")
	const all = dp.PicoPerUnit / 200 // of dp.epsilon = 0.1
	for i, c := range []struct {
		before, sql string
		price       int64
		same        [][]int // columns that are one number
		after       []string
	}{
		{
			"", "SELECT (SELECT count(*) FROM patients), n, s FROM (SELECT count(*) AS n, sum(birth_year) AS s FROM patients) t",
			all * 2 / 3,
			[][]int{{0, 1}},
			[]string{"SELECT count(*) FROM patients", "SELECT sum(birth_year) FROM patients"},
		},
		{
			"", "SELECT n, s, (SELECT count(*) FROM patients) FROM (SELECT count(*) AS n, sum(birth_year) AS s FROM patients) t",
			all * 2 / 3,
			[][]int{{0, 2}},
			nil,
		},
		{ // what was drawn before is enough for one of them
			"SELECT count(*), sum(birth_year) FROM patients", "SELECT n, (SELECT dp.weight(count(*), 9) FROM patients), f FROM " +
				"(SELECT count(*) AS n, count(*) FILTER (WHERE sex = 'f') AS f FROM patients) t",
			all * 10 / 11,
			[][]int{{0, 1}},
			nil,
		},
		{ // the one that is first has least
			"", "SELECT n, m, f FROM (SELECT count(*) AS n, count(*) FILTER (WHERE sex = 'f') AS f FROM patients) t, " +
				"(SELECT dp.weight(count(*), 9) AS m FROM patients) s",
			all * 10 / 11,
			[][]int{{0, 1}},
			nil,
		},
		{ // three blocks, of which the second has no number of its own
			"", "SELECT a, b, (SELECT count(*) FROM visits), s, (SELECT sum(cost) FROM visits) FROM " +
				"(SELECT sum(cost) AS a, count(*) AS b FROM visits) x, (SELECT sum(cost) AS s, count(*) AS c, avg(cost) FROM visits) y",
			all / 2,
			[][]int{{0, 3, 4}, {1, 2}},
			nil,
		},
	} {
		ana.set(t, "dp.mechanism = gaussian", "dp.epsilon = 0.1")
		own := func(sql string) string { // a question of the case alone
			return strings.ReplaceAll(sql, "FROM patients", fmt.Sprintf("FROM patients WHERE id <> -%d", i+1))
		}
		c.sql = own(c.sql)
		if c.before != "" {
			must(t, ana.Conn, own(c.before))
		}
		before := w.spent(t, "unit", "patient")
		first := ana.row(t, c.sql)
		if price := w.spent(t, "unit", "patient") - before; price > c.price || price < c.price*97/100 {
			t.Errorf("%s: costs %d, want %d", c.sql, price, c.price)
		}
		for _, columns := range c.same {
			for _, at := range columns {
				if first[at] != first[columns[0]] {
					t.Errorf("%s: %v are one number: %v", c.sql, columns, first)
				}
			}
		}
		spent := w.spent(t, "unit", "patient")
		if again := ana.row(t, c.sql); !slices.Equal(again, first) {
			t.Errorf("%s: %v, then %v", c.sql, first, again)
		}
		ana.set(t, "dp.epsilon = 0.04")
		for _, sql := range c.after {
			must(t, ana.Conn, own(sql))
		}
		if now := w.spent(t, "unit", "patient"); now != spent {
			t.Errorf("%s: what is known costs %d", c.sql, now-spent)
		}
	}
}

// row returns the only row of an answer.
func (c *client) row(t *testing.T, sql string) (cells []string) {
	t.Helper()
	rows, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	defer rows.Close()
	if !rows.Next() {
		t.Fatalf("%s: %v", sql, rows.Err())
	}
	values, err := rows.Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range values {
		cells = append(cells, fmt.Sprint(v))
	}
	return cells
}

// ownBudgets has two analysts with budgets of their own.
func ownBudgets(t *testing.T) *world {
	t.Helper()
	limits := []accountant.Limit{large(t)}
	for _, name := range []string{"ana", "bob"} {
		limits = append(limits, accountant.Limit{Scope: accountant.Scope{Kind: accountant.AnalystScope, Name: name}, Loss: large(t).Loss})
	}
	w := accurate(t, func(cfg *proxy.Config) {
		for _, name := range []string{"ana", "bob"} {
			cfg.Analysts[name] = proxy.Analyst{Tables: cfg.Analysts["ana"].Tables, Budget: true}
		}
	}, limits...)
	exec(t, w.mirror, "GRANT SELECT ON patients, visits TO bob")
	return w
}

// TestPartsOfOwnBudgets has analysts with budgets of their own ask one question with several budgets. They pay the price that they ask for,
// and are shown no draw that costs more.
func TestPartsOfOwnBudgets(t *testing.T) {
	w := ownBudgets(t)
	sessions := map[string]*client{"ana": w.client(t, "ana"), "bob": w.client(t, "bob")}
	const all = dp.PicoPerUnit / 200 // of dp.epsilon = 0.1
	for i, c := range []struct {
		who         string
		epsilon     float64
		unit, their int64
	}{
		{"bob", 0.2, 4 * all, 4 * all},
		{"bob", 0.1, 0, 0},
		{"ana", 0.1, all, all}, // the draw of bob would cost four times as much
		{"ana", 0.1, 0, 0},
		{"bob", 0.1, 0, 0},
		{"ana", 0.2, 0, 4 * all},
		{"ana", 0.1, 0, 0},
		{"bob", 0.4, 16 * all, 16 * all},
		{"ana", 0.2, 0, 0}, // the draw that they have paid for
	} {
		unit, their := w.spent(t, accountant.UnitScope, "patient"), w.spent(t, accountant.AnalystScope, c.who)
		sessions[c.who].set(t, fmt.Sprintf("dp.epsilon = %v", c.epsilon), "dp.mechanism = gaussian")
		must(t, sessions[c.who].Conn, "SELECT count(*) FROM patients")
		unit, their = w.spent(t, accountant.UnitScope, "patient")-unit, w.spent(t, accountant.AnalystScope, c.who)-their
		for _, price := range [][2]int64{{unit, c.unit}, {their, c.their}} {
			if price[0] > price[1] || price[0] < price[1]*85/100 {
				t.Errorf("%d: %s with dp.epsilon = %v: the unit pays %d, want %d, and they %d, want %d",
					i, c.who, c.epsilon, unit, c.unit, their, c.their)
				break
			}
		}
	}
}

// TestOwedOnce has an analyst with a budget of their own recall what another one has drawn: a number that stands in two blocks is owed
// once.
func TestOwedOnce(t *testing.T) {
	w := ownBudgets(t)
	const sql = "SELECT n, s, m, f FROM (SELECT count(*) AS n, sum(birth_year) AS s FROM patients) t, " +
		"(SELECT count(*) AS m, count(*) FILTER (WHERE sex = 'f') AS f FROM patients) u"
	var paid []int64
	for _, name := range []string{"bob", "ana"} {
		c := w.client(t, name)
		c.set(t, "dp.epsilon = 0.1", "dp.mechanism = gaussian")
		must(t, c.Conn, sql)
		paid = append(paid, w.spent(t, accountant.AnalystScope, name))
	}
	if paid[0] == 0 || paid[0] != paid[1] {
		t.Errorf("who draws the numbers pays %d, and who recalls them %d", paid[0], paid[1])
	}
}

// TestExplainNamesWhatIsRemembered holds that EXPLAIN says which values of a statement are free, and which are new.
func TestExplainNamesWhatIsRemembered(t *testing.T) {
	w := ownBudgets(t)
	ana, bob := w.client(t, "ana"), w.client(t, "bob")
	for _, c := range []*client{ana, bob} {
		c.set(t, "dp.mechanism = gaussian", "dp.epsilon = 0.1")
	}
	const free, others, alone, anew = "remembered, and so free: ", "drawn once, with another block: ",
		"remembered, and paid for by the analyst's own budget alone: ", "new: "
	for _, c := range []struct {
		before    string
		as        *client
		sql       string
		want, not []string
	}{
		{"", ana, "SELECT count(*), sum(birth_year) FROM patients", nil, []string{free, anew, "; new"}},
		{
			"SELECT count(*) FROM patients", ana, "SELECT sum(birth_year), count(1), avg(birth_year) AS a FROM patients",
			[]string{free + "count(...)", anew + "sum(birth_year), avg(birth_year)", "; remembered, and so free", "; new"},
			[]string{"cost: nothing"},
		},
		{"", bob, "SELECT count(*) FROM patients", []string{alone + "count(*)"}, []string{free, anew}},
		{
			"SELECT count(*), sum(birth_year) FROM patients", ana, "SELECT sum(birth_year), count(*) FROM patients",
			[]string{free + "sum(birth_year), count(*)", "cost: nothing, the same was answered before"}, []string{anew},
		},
		{
			"", ana, "SELECT (SELECT count(*) FROM visits), n, s FROM (SELECT count(*) AS n, sum(cost) AS s FROM visits) t",
			[]string{others + "count(*)", anew + "sum(cost)"}, []string{free},
		},
		{
			"SELECT sex, count(*) FROM patients GROUP BY ROLLUP (1)", ana,
			"SELECT count(*), sex FROM patients GROUP BY ROLLUP (2)",
			[]string{free + "all of it"}, []string{anew},
		},
		{
			"", bob, "SELECT sex, count(*) FROM patients GROUP BY ROLLUP (1)", []string{alone + "all of it"}, []string{anew, free},
		},
	} {
		if c.before != "" {
			must(t, ana.Conn, c.before)
		}
		said := explained(t, c.as.Conn, c.sql)
		for _, want := range c.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: EXPLAIN does not say %q:\n%s", c.sql, want, said)
			}
		}
		for _, not := range c.not {
			if strings.Contains(said, not) {
				t.Errorf("%s: EXPLAIN says %q:\n%s", c.sql, not, said)
			}
		}
	}
}
