package proxy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/accountant"
	"dpproxy/pgerr"
)

// newerSyntax are statements of versions after the one whose syntax dpproxy reads, or that mean
// something in it alone, from the version of the mirror on that takes them.
var newerSyntax = []struct {
	from int
	sql  string
}{
	{16, "SELECT count(*) FROM (SELECT 1 FROM patients)"},
	{16, "SELECT count(*) FROM patients WHERE birth_year < 1_900"},
	{16, "SELECT any_value(sex) FROM patients"},
	{16, "SELECT json_arrayagg(sex) FROM patients"},
	{16, "SELECT json_objectagg(sex VALUE 1) FROM patients"},
	{17, "SELECT j.a FROM patients p, JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) j"},
	{17, "SELECT count(*) FROM patients p, JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) j"},
	{17, "SELECT JSON_VALUE(sex, '$') FROM patients"},
	{17, "SELECT count(*) FROM patients WHERE JSON_EXISTS(jsonb '{}', '$' PASSING sex AS x)"},
	{17, "SELECT count(*) FROM patients WHERE (now() AT LOCAL) > '2020-01-01'"},
	{17, "SELECT json_scalar(sex) FROM patients"},
	{
		17,
		"WITH m AS (MERGE INTO pg_temp.mine USING patients p ON mine.id = p.id WHEN NOT MATCHED BY SOURCE THEN DELETE " +
			"RETURNING p.sex) SELECT * FROM m",
	},
	{
		17,
		"MERGE INTO pg_temp.mine USING patients p ON mine.id = p.id WHEN NOT MATCHED BY SOURCE THEN DELETE RETURNING merge_action(), p.sex",
	},
	{15, "MERGE INTO pg_temp.mine USING patients p ON mine.id = p.id WHEN NOT MATCHED THEN INSERT VALUES (p.id)"},
	{18, "UPDATE pg_temp.mine SET id = p.id FROM patients p RETURNING old.id, new.id"},
	{18, "INSERT INTO pg_temp.mine SELECT id FROM patients RETURNING WITH (OLD AS o, NEW AS n) n.id"},
	{19, "SELECT sex, count(*) FROM patients GROUP BY ALL"},
	{18, "COPY patients TO STDOUT (FORMAT json)"},
	{17, "EXPLAIN (MEMORY, SERIALIZE TEXT, ANALYZE) SELECT sex FROM patients"},
}

// Whatever the mirror reads and dpproxy does not ends in an error, or is an answer with a price;
// rows never come.
func TestNewerSyntax(t *testing.T) {
	w := newWorld(t)
	version, err := w.mirror.Version()
	if err != nil {
		t.Fatal(err)
	}
	ana := connect(t, w.url("ana"))
	must(t, ana, "CREATE TEMP TABLE mine (id int)")
	for _, c := range newerSyntax {
		for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
			before := w.spent(t, accountant.UnitScope, "patient")
			rows, err := ana.Query(t.Context(), c.sql, mode)
			n := 0
			if err == nil {
				for rows.Next() {
					n++
				}
				err = rows.Err()
			}
			paid := w.spent(t, accountant.UnitScope, "patient") > before
			if err == nil && !paid || err != nil && (paid || n > 0) || n > 1 {
				t.Errorf("%v: %s: %d rows, paid %t, %v", mode, c.sql, n, paid, err)
			}
			if version < c.from && err == nil {
				t.Errorf("%v: %s: no error on Postgres %d", mode, c.sql, version)
			}
		}
	}
	// A statement that reads no protected table is the mirror's affair.
	if version >= 17 {
		must(t, ana, "SELECT a FROM JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) j, hospitals; "+
			"SELECT JSON_VALUE('{\"patients\":1}', '$.patients')")
	}
	// A statement that only the mirror can read says so.
	if version >= 17 {
		_, err := ana.Exec(t.Context(), "SELECT j.a FROM patients p, JSON_TABLE('[1]', '$[*]' COLUMNS (a int PATH '$')) j")
		refused, ok := errors.AsType[*pgconn.PgError](err)
		if !ok || refused.Code != pgerr.Backstop.String() || !strings.Contains(refused.Hint, "in the syntax of Postgres 16") {
			t.Errorf("%v", err)
		}
	}
}
