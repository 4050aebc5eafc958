package planner_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// An expression that takes long, or much memory, on one row of the client's choice is refused, however
// short the statement is.
func TestEvalCost(t *testing.T) {
	cat := clinic(t)
	nested := func(levels int) string {
		sql := "SELECT patient_id, hospital_id AS c FROM visits"
		for range levels {
			sql = "SELECT patient_id, least(c, c) AS c FROM (" + sql + ") t"
		}
		return "SELECT count(c) FROM (" + sql + ") t"
	}
	wide := func(columns, length int) string {
		var list, names []string
		for i := range columns {
			list = append(list, fmt.Sprintf("CASE id WHEN 5 THEN repeat('x', %d) END AS c%d", length, i))
			names = append(names, fmt.Sprintf("c%d", i))
		}
		return "SELECT count(*) FROM (SELECT patient_id, cost, " + strings.Join(list, ", ") + " FROM visits) t " +
			"WHERE coalesce(" + strings.Join(names, ", ") + ") = 'y'"
	}
	slow := func(n int) string {
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf("lower(reverse(sex || repeat('y', 200000))) = '%d'", i)
		}
		return "SELECT count(*) FROM patients WHERE CASE id WHEN 1 THEN " + strings.Join(terms, " OR ") + " END"
	}
	list := func(elements int, element, oneOf, typ string) string {
		return fmt.Sprintf("SELECT count(*) FROM patients WHERE CASE id WHEN 1 THEN %s ALL (CAST((SELECT "+
			"array_agg(%s) FROM generate_series(1, %d) AS g) AS %s[])) END", oneOf, element, elements, typ)
	}
	queries := func(n int) string {
		terms := make([]string, n)
		for i := range terms {
			terms[i] = fmt.Sprintf("EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.id AND v.cost < %d)", i)
		}
		return "SELECT count(*) FROM patients p WHERE CASE id WHEN 1 THEN " + strings.Join(terms, " OR ") + " END"
	}
	terms := func(n int, term string) string {
		return "SELECT count(*) FROM patients WHERE CASE id WHEN 1 THEN " + strings.Repeat(term+" OR ", n) + "false END"
	}
	alike := "'%' || repeat('a', 240) || 'b%'"
	made := "strpos(CASE sex WHEN 'f' THEN repeat('a', 65536) ELSE '' END, 'b' || repeat('a', 200)) > 0"
	for sql, fits := range map[string]bool{
		terms(20, "sex LIKE '%zz%'"): true, terms(300, "sex LIKE '%zz%'"): false, terms(4, "sex LIKE '%_____z%'"): true,
		terms(4, "sex LIKE '%e' || repeat('_', 200) || 'z%'"): false, terms(20, "md5(sex) = ''"): true,
		terms(300, "md5(sex) = ''"): false, terms(20, "strpos(sex, 'zz') > 0"): true, terms(300, "strpos(sex, 'zz') > 0"): false,
		terms(60, "sex LIKE '%zz%'"): true, terms(300, "region LIKE '%zz%'"): true, terms(300, "md5(region) = ''"): true,
		terms(400, "sex = 'f'"): true, terms(400, "sex > 'f'"): true, terms(5, "sex > lower(sex)"): true,
		terms(100, "sex > sex"): false, terms(100, "sex = sex"): false, terms(100, "sex BETWEEN sex AND 'z'"): false,
		terms(100, "greatest(sex, lower(sex)) = 'x'"): false, terms(2, made): false,
		terms(100, "lower(left(sex, 10)) LIKE '%aaaa%'"): false, terms(20, "lower(left(sex, 10)) LIKE '%aaaa%'"): true,
		terms(3, "sex LIKE "+alike): true, terms(4, "sex LIKE "+alike): false, terms(3, "sex ILIKE "+alike): true,
		terms(4, "sex NOT ILIKE "+alike): false, terms(3, "strpos(sex, "+alike+") > 0"): true,
		terms(50, "strpos(sex, "+alike+") > 0"): false, terms(4, "position("+alike+" IN sex) > 0"): false,
		terms(50, "length(replace(sex, "+alike+", '')) = 1"): false, terms(50, "split_part(sex, "+alike+", 2) = 'x'"): false,
		terms(10, "lower(left(sex, 1000)) LIKE "+alike): true, terms(20, "sex LIKE '%special%requests%'"): true,
		terms(60, "sex LIKE 'a' || repeat('b', 200) || '%'"): true, terms(300, "sex || region LIKE '%zz%'"): false,
		terms(200, "weight * 1.5 > 2"): true, terms(9, "least(greatest(weight, 1), 9) * 1e140 + 1e-250 > 2"): true,
		nested(8): true, nested(17): false, nested(40): false,
		strings.Replace(nested(40), "count(c)", "c, count(*)", 1) + " GROUP BY c": false,
		wide(300, 10): true, wide(3, 100_000): true, wide(300, 100_000): false,
		slow(1): true, slow(50): false,
		queries(5): true, queries(9): false,
		list(1000, "g", "id >", "int"): true, list(100_000, "g", "id >", "int"): false,
		list(1000, "repeat('y', 100) || g", "sex >", "text"): true, list(50_000, "repeat('y', 100) || g", "sex >", "text"): false,
	} {
		err := specializeDefault(t, cat, sql)
		refusal, refused := errors.AsType[*pgerr.Error](err)
		if fits && err != nil || !fits && (!refused || refusal.Code != pgerr.StatementTooComplex) {
			t.Errorf("%.80s...: %v", sql, err)
		}
	}
}

func specializeDefault(t *testing.T, cat *policy.Model, sql string) error {
	t.Helper()
	q := analyzed(t, cat, sql)
	_, err := q.Specialize(nil, evaluate(t, connect(t), q, nil, nil), planner.Settings{
		EpsilonPico: 1e12, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05, Limits: policy.Limits{PublicFanout: 1000, Work: 1e6},
	})
	return err
}
