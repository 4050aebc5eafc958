package parser_test

import (
	"fmt"
	"strings"
	"testing"

	"dpproxy/parser"
	"dpproxy/parser/parsertest"
	"dpproxy/pgerr"
)

// TestGuard: chains that would overflow the C stack of the parser are refused
// before they reach it. Without the guard the test process itself dies.
func TestGuard(t *testing.T) {
	const links = 100_000
	chains := map[string]string{
		"plus":         "SELECT 1" + strings.Repeat("+1", links),
		"concat":       "SELECT ''" + strings.Repeat("||''", links/2),
		"and":          "SELECT true" + strings.Repeat(" AND t", links/3),
		"or":           "SELECT true" + strings.Repeat(" OR t", links/3),
		"cast":         "SELECT 1" + strings.Repeat("::t", links/2),
		"collate":      "SELECT ''" + strings.Repeat(` COLLATE c`, links/5),
		"at time zone": "SELECT t" + strings.Repeat(" AT TIME ZONE z", links/10),
		"is null":      "SELECT 1" + strings.Repeat(" IS NULL", links/5),
		"isnull":       "SELECT 1" + strings.Repeat(" ISNULL", links/5),
		"notnull":      "SELECT 1" + strings.Repeat(" NOTNULL", links/5),
		"union":        "SELECT" + strings.Repeat(" UNION SELECT", links/10),
		"except":       "SELECT" + strings.Repeat(" EXCEPT SELECT", links/10),
		"intersect":    "SELECT" + strings.Repeat(" INTERSECT SELECT", links/10),
		"join":         "SELECT FROM a" + strings.Repeat(" CROSS JOIN a", links/10),
		"like":         "SELECT a" + strings.Repeat(" LIKE a", links/5),
		"between":      "SELECT a" + strings.Repeat(" BETWEEN 1 AND 2", links/10),
		"in":           "SELECT a" + strings.Repeat(" IN (1)", links/5),
		"operator":     "SELECT a" + strings.Repeat(" OPERATOR(x.+) a", links/10),
		"compare":      "SELECT a" + strings.Repeat("<=a", links/2),
		"power":        "SELECT a" + strings.Repeat("^a", links),
		"comments":     "SELECT a" + strings.Repeat("/**/+a", links/4),
		"brackets":     "SELECT " + strings.Repeat("(", links) + "1" + strings.Repeat(")", links),
		"subscripts":   "SELECT " + strings.Repeat("a[", links/2) + "1" + strings.Repeat("]", links/2),
		"minus":        "SELECT " + strings.Repeat("- ", links) + "1",
		"prefix":       "SELECT " + strings.Repeat("@ ", links) + "1",
		"arrow":        "SELECT a" + strings.Repeat("->a", links/2),
		"joins":        "SELECT FROM a" + strings.Repeat(" NATURAL JOIN a", links/10),
		"elses":        "SELECT " + strings.Repeat("CASE WHEN t THEN 1 ELSE ", links/20) + "1" + strings.Repeat(" END", links/20),
		"not":          "SELECT " + strings.Repeat("NOT ", links/3) + "t",
		"case":         "SELECT " + strings.Repeat("CASE WHEN ", links/10) + "t" + strings.Repeat(" THEN 1 END", links/10),
		"long":         "SELECT '" + strings.Repeat("x", 256<<10) + "'",
	}
	for name, sql := range chains {
		_, err := parser.Parse(sql, parsertest.Clinic)
		if err == nil {
			t.Errorf("%s: not refused", name)
			continue
		}
		e := asError(t, err)
		if e.Code != pgerr.StatementTooComplex || e.Hint == "" || e.Position == 0 && name != "long" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// TestGuardPosition points at the first link too many.
func TestGuardPosition(t *testing.T) {
	_, err := parser.Parse("SELECT 1"+strings.Repeat("+1", 1001), parsertest.Clinic)
	if e := asError(t, err); e.Position != len("SELECT 1")+2*1000+1 {
		t.Errorf("position %d", e.Position)
	}
}

// TestGuardPasses: long lists are no chains.
func TestGuardPasses(t *testing.T) {
	for name, sql := range map[string]string{
		"IN list":    "SELECT count(*) FROM visits WHERE id IN (1" + strings.Repeat(", -1", 50_000) + ")",
		"targets":    "SELECT count(*)" + strings.Repeat(", count(*)", 1600) + " FROM visits",
		"chain":      "SELECT count(*) FROM visits WHERE id > 1" + strings.Repeat("+1", 990),
		"statements": "SELECT count(*) FROM visits WHERE id > 1" + strings.Repeat(";SELECT 1+1", 2000),
	} {
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := script.Statements[0]; s.Class != parser.Release {
			t.Errorf("%s: class %s %v", name, classes[s.Class], s.Refusal)
		}
	}
}

// TestLargeBlocks: where a WITH query is read often, or queries are nested deep, the trees are not made.
func TestLargeBlocks(t *testing.T) {
	for name, sql := range map[string]string{
		"doubling":   doubling(40),
		"references": references(300),
		"derived":    "SELECT count(*) FROM " + strings.Repeat("(SELECT * FROM ", 240) + "visits" + strings.Repeat(") t", 240),
		"semi-joins": "SELECT count(*) FROM visits WHERE " + strings.Repeat("id IN (SELECT id FROM visits WHERE ", 240) + "true" +
			strings.Repeat(")", 240),
	} {
		script, err := parser.Parse(sql, parsertest.Clinic)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		blocks := script.Statements[0].Blocks
		if len(blocks) == 0 {
			t.Errorf("%s: no block", name)
			continue
		}
		if e := blocks[len(blocks)-1].Err; e == nil || e.Code != pgerr.StatementTooComplex {
			t.Errorf("%s: %v", name, e)
		}
	}
}

// doubling is a chain of WITH queries, each of which reads the one before twice.
func doubling(n int) string {
	sql := "WITH c0 AS (SELECT * FROM visits)"
	for i := 1; i <= n; i++ {
		sql += fmt.Sprintf(", c%d AS (SELECT * FROM c%d a, c%d b)", i, i-1, i-1)
	}
	return sql + fmt.Sprintf(" SELECT count(*) FROM c%d", n)
}

// references reads one large WITH query many times.
func references(n int) string {
	return "WITH c AS (SELECT id FROM visits WHERE id IN (1" + strings.Repeat(", 1", 60_000) + ")) SELECT count(*) FROM c" +
		strings.Repeat(" UNION ALL SELECT count(*) FROM c", n)
}

// TestHostileSize: texts made to be slow to analyse are refused or answered
// within the limits on relations, columns and comparisons.
func TestHostileSize(t *testing.T) {
	for name, c := range map[string]struct {
		sql   string
		class parser.Class
	}{
		"relations": {
			"SELECT " + strings.Repeat("a,", 30_000) + "count(*) FROM visits" + strings.Repeat(",visits", 20_000),
			parser.Refused,
		},
		"targets": {"SELECT " + strings.Repeat("a,", 30_000) + "count(*) FROM visits", parser.Refused},
		"groups":  {"SELECT count(*) FROM visits GROUP BY 1" + strings.Repeat(",1", 30_000), parser.Refused},
		"stars": {
			strings.Repeat("SELECT *,* FROM (", 100) + "SELECT 1 AS x" + strings.Repeat(") t", 100) +
				" WHERE x < (SELECT count(*) FROM visits)",
			parser.Release,
		},
		"comparisons": {
			"SELECT f(" + strings.Repeat("a,", 60_000) + "a)" + strings.Repeat("+a", 900) + ", count(*) FROM visits GROUP BY a+a",
			parser.Refused,
		},
		"sets":     {"SELECT count(*) FROM visits GROUP BY CUBE (1" + strings.Repeat(",id", 30_000) + ")", parser.Refused},
		"rollup":   {"SELECT count(*) FROM visits GROUP BY ROLLUP (id" + strings.Repeat(",id", 30_000) + ")", parser.Refused},
		"products": {"SELECT count(*) FROM visits GROUP BY id" + strings.Repeat(",ROLLUP (id, id)", 1600), parser.Refused},
		"GROUPING": {
			"SELECT " + strings.Repeat("grouping(qty),", 1600) + "count(*) FROM visits GROUP BY ROLLUP (qty)",
			parser.Release,
		},
		"public groups": {
			"SELECT count(*) FROM visits, (SELECT 1 FROM hospitals GROUP BY id" + strings.Repeat(",id", 80_000) + ") h",
			parser.Release,
		},
		"views":       {"SELECT count(*) FROM by_region" + strings.Repeat(", by_region", 490), parser.Refused},
		"many views":  {"SELECT count(*) FROM dearest" + strings.Repeat(", dearest", 60), parser.Release},
		"sub-selects": {strings.Repeat("SELECT (", 200) + "SELECT count(*) FROM visits" + strings.Repeat(")", 200), parser.Release},
	} {
		script, err := parser.Parse(c.sql, parsertest.Clinic)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := script.Statements[0]; s.Class != c.class {
			t.Errorf("%s: class %s %v", name, classes[s.Class], s.Refusal)
		}
	}
}

// TestDoubledWith: each WITH query joins the one before it twice, so that ways to the first double. Unless each block is noted once,
// the test process itself dies.
func TestDoubledWith(t *testing.T) {
	for _, join := range []string{"x%d a, x%[1]d b", "x%d a FULL JOIN x%[1]d b USING (n)", "(x%d a CROSS JOIN x%[1]d b) AS a (n, m)"} {
		sql := "WITH x0 AS (SELECT count(*) AS n FROM visits)"
		const chain = 60
		for i := range chain {
			sql += fmt.Sprintf(", x%d AS (SELECT a.n FROM %s)", i+1, fmt.Sprintf(join, i))
		}
		script, err := parser.Parse(sql+fmt.Sprintf(" SELECT count(*) FROM x%d", chain), parsertest.Clinic)
		if err != nil || script.Statements[0].Class != parser.Release {
			t.Errorf("%s: %v", join, err)
		}
	}
}
