package planner_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
)

const charges = `DROP TABLE IF EXISTS charges, codes, terms;
CREATE TABLE codes (id bigint PRIMARY KEY, name text NOT NULL, class int, place text NOT NULL, rate numeric NOT NULL);
CREATE TABLE terms (id int PRIMARY KEY, name text NOT NULL, class int NOT NULL);
CREATE TABLE charges (patient_id int NOT NULL, code int, kind bigint NOT NULL, place varchar(10) NOT NULL, term int NOT NULL,
  rate numeric(10,2) NOT NULL, badge text UNIQUE, visit int, former int);
INSERT INTO codes SELECT g, 'n' || g / 2, CASE WHEN g % 5 > 0 THEN g % 5 END, 'p' || g % 4, g FROM generate_series(0, 38) g;
INSERT INTO codes VALUES (9000000000, 'wide', 9, 'p9', 1);
INSERT INTO terms SELECT g, 't' || g, g % 7 FROM generate_series(1, 10050) g;
INSERT INTO charges SELECT g, CASE WHEN g % 7 > 0 THEN g % 40 - 1 END, g % 20, 'p' || g % 5, g % 30, g % 8 FROM generate_series(1, 2000) g`

// ledger has charges, whose codes are public, and a public list of them that is too long for public groups.
func ledger(t *testing.T, conn *pgconn.PgConn) *policy.Model {
	t.Helper()
	column := plannertest.Column
	s, p := clinicSchema(), clinicPolicy()
	s.Tables[name("charges")] = &catalog.Table{Name: name("charges"), Kind: 'r', Columns: []catalog.Column{
		column("patient_id", plannertest.Int4, true), column("code", plannertest.Int4, false), column("kind", plannertest.Bigint, true),
		column("place", plannertest.Varchar10, true), column("term", plannertest.Int4, true), column("rate", plannertest.Numeric10, true),
		column("badge", plannertest.Text, false), column("visit", plannertest.Int4, false), column("former", plannertest.Int4, false),
	}, Keys: []catalog.Key{{Name: "badge", Columns: []string{"badge"}}}}
	s.Tables[name("codes")] = &catalog.Table{Name: name("codes"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
		column("id", plannertest.Bigint, true), column("name", plannertest.Text, true), column("class", plannertest.Int4, false),
		column("place", plannertest.Text, true), column("rate", plannertest.Numeric, true),
	}}
	s.Tables[name("terms")] = &catalog.Table{Name: name("terms"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
		column("id", plannertest.Int4, true), column("name", plannertest.Text, true), column("class", plannertest.Int4, true),
	}}
	s.PublicRows[name("codes")], s.PublicRows[name("terms")] = 40, 10_050
	p.Tables = append(p.Tables,
		policy.TablePolicy{Name: name("codes"), Public: true}, policy.TablePolicy{Name: name("terms"), Public: true},
		policy.TablePolicy{Name: name("charges"), UnitColumn: "patient_id", MaxRows: 20, Columns: map[string]policy.ColumnPolicy{
			"kind": plannertest.Bounds("3", "12"), "place": plannertest.Values("p1", "p2", "elsewhere"),
		}, Refers: []policy.ReferencePolicy{
			{From: []string{"visit"}, To: policy.ColumnName{Table: name("visits")}},
			{From: []string{"former"}, To: policy.ColumnName{Table: name("visits")}},
		}, SameUnit: []string{"visit"}})
	for _, c := range slices.Compact([]*pgconn.PgConn{conn, mirrorOf(t, conn)}) {
		runSQL(t, c, charges)
		t.Cleanup(func() { _ = c.Exec(context.Background(), "DROP TABLE charges, codes, terms").Close() })
	}
	return checkedBy(t, p, s)
}

func runSQL(t *testing.T, conn *pgconn.PgConn, sql string) [][]string {
	t.Helper()
	results, err := conn.Exec(t.Context(), sql).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var rows [][]string
	for _, r := range results[len(results)-1].Rows {
		var row []string
		for _, cell := range r {
			text := "NULL"
			if cell != nil {
				text = string(cell)
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestJoinedGroups counts the public groups of keys that a join makes identical to public columns, and compares them with those that the
// server finds: all of them are listed, unless the policy does not declare their values.
func TestJoinedGroups(t *testing.T) {
	conn := connect(t)
	cat := ledger(t, conn)
	runSQL(t, conn, "SET statement_timeout = '1min'") // three lists of terms have 10^12 rows together
	t.Cleanup(func() { _ = conn.Exec(context.Background(), "RESET statement_timeout").Close() })
	const threeTerms = "SELECT patient_id, a.class AS a, b.class AS b, d.class AS d FROM charges c " +
		"JOIN terms a ON a.id = c.code JOIN terms b ON b.id = c.kind JOIN terms d ON d.id = c.term"
	const sixes = "(SELECT patient_id, 6.00 AS r FROM charges UNION ALL SELECT patient_id, 6::numeric FROM charges) x"
	const twoSpellings = "(SELECT patient_id, least(greatest(rate, 1), 3) AS r FROM charges " +
		"UNION ALL SELECT patient_id, 2::numeric FROM charges) x"
	for _, c := range []struct {
		keys, from, where string
		groups            int    // 0: private
		declared          string // what holds of rows with declared values
	}{
		{"c.code", "charges c JOIN codes o ON o.id = c.code", "", 39, ""},
		{"o.id", "charges c JOIN codes o ON o.id = c.code", "", 39, ""}, // a bigint that no integer equals is no group
		{"c.code, o.name", "charges c JOIN codes o ON o.id = c.code", "", 39, ""},
		{"o.name", "charges c JOIN codes o ON o.id = c.code", "", 20, ""},
		{"c.code, o.name", "charges c JOIN codes o ON o.id = c.code", "c.code IN (3, 4)", 2, ""},
		{"c.code, o.name", "charges c, codes o", "o.id = c.code AND c.code BETWEEN 3 AND 8", 6, ""},
		{"o.name", "charges c JOIN codes o ON o.id = c.code", "c.code = 3 OR c.code = 5 AND c.rate > 2", 2, ""},
		{"c.code", "charges c JOIN codes o ON o.place = c.place", "", 0, ""},
		{"c.place", "charges c JOIN codes o ON o.place = c.place", "", 2, "c.place IN ('p1', 'p2', 'elsewhere')"},
		{"o.id", "charges c JOIN codes o ON o.place = c.place", "", 20, "c.place IN ('p1', 'p2', 'elsewhere')"},
		{"o.name", "charges c JOIN codes o ON o.id = c.kind", "", 6, "c.kind BETWEEN 3 AND 12"},
		{"c.kind + 1, o.class", "charges c JOIN codes o ON o.id = c.kind", "", 10, "c.kind BETWEEN 3 AND 12"},
		{"10 / c.kind", "charges c JOIN codes o ON o.id = c.kind", "", 4, "c.kind BETWEEN 3 AND 12"},
		{"c.kind, c.code", "charges c JOIN codes o ON o.id = c.kind AND c.kind = c.code", "", 10, "c.kind BETWEEN 3 AND 12"},
		{"o.name, u.name", "charges c JOIN codes o ON o.id = c.code JOIN codes u ON u.id = c.code", "", 20, ""},
		{"o.rate", "charges c JOIN codes o ON o.rate = c.rate", "", 39, ""}, // 6 and 6.00 are equal and not identical
		{"c.code", "charges c LEFT JOIN codes o ON o.id = c.code", "", 0, ""},
		{"o.name", "charges c LEFT JOIN codes o ON o.id = c.code AND c.code < 5", "", 4, ""},
		{
			"o.name", "charges c LEFT JOIN codes o ON o.id = c.kind JOIN codes u ON u.id = c.kind AND u.place = o.place", "", 6,
			"c.kind BETWEEN 3 AND 12",
		},
		{"o.name, t.name", "charges c LEFT JOIN codes o ON o.id = c.code LEFT JOIN terms t ON t.id = o.class", "", 40, ""},
		{"o.class", "charges c JOIN codes o ON o.id = c.code", "c.code < 3", 3, ""},
		{"x.code, x.name", "(SELECT patient_id, code, name FROM charges JOIN codes ON codes.id = code WHERE code < 9) x", "", 9, ""},
		{"x.k", "(SELECT patient_id, code AS k FROM charges WHERE code < 9) x JOIN codes o ON o.id = x.k", "x.k > 1", 7, ""},
		{"x.a, x.b, x.d", "(" + threeTerms + " UNION ALL " + threeTerms + " AND d.class < 3) x", "", 343, ""},
		{"x.a, x.b, x.d", "(" + threeTerms + " AND a.class = b.class UNION ALL " + threeTerms + " AND d.class < 3) x", "x.b = 1", 25, ""},
		{"x.r::text", sixes, "x.r > 5", 2, ""},
		{"round(x.r, 1)", sixes, "", 1, ""},
		{"x.r::text", twoSpellings, "", 0, ""}, // 1.00 is a rate, and 1 a bound
		{"(x.r * 2 > 3)::text", twoSpellings, "", 2, ""},
		{"t.name", "charges c JOIN terms t ON t.id = c.term", "", 0, ""},
		{"c.term, t.name", "charges c JOIN terms t ON t.id = c.term", "c.term < 20", 19, ""},
		{"o.id, t.id", "charges c JOIN codes o ON o.id = c.code JOIN terms t ON t.id = c.term", "c.term <= 1000", 0, ""},
		{"o.id, t.id", "charges c JOIN codes o ON o.id = c.code JOIN terms t ON t.id = c.term", "c.term <= 10", 390, ""},
		// IN and EXISTS of public rows.
		{"o.name", "charges c JOIN codes o ON o.id = c.code", "o.id IN (SELECT id FROM terms WHERE class = 3)", 6, ""},
		{"o.name", "charges c JOIN codes o ON o.id = c.code", "c.code IN (SELECT id FROM terms WHERE class = 3)", 6, ""},
		{"o.id", "charges c JOIN codes o ON o.id = c.code", "o.class IN (SELECT class FROM terms WHERE id < 3)", 16, ""},
		{
			"o.id", "charges c JOIN codes o ON o.id = c.code",
			"EXISTS (SELECT FROM terms t WHERE t.id = o.id AND t.class = o.class AND t.id IN (SELECT u.id FROM terms u WHERE u.id < 4))",
			3, "",
		},
		{"o.name", "charges c LEFT JOIN codes o ON o.id = c.code", "o.id IN (SELECT id FROM terms WHERE class = 3)", 6, ""},
		{
			"x.name", "(SELECT c.patient_id, o.name, o.id AS i FROM charges c JOIN codes o ON o.id = c.code) x",
			"x.i IN (SELECT id FROM terms WHERE class = 3)", 6, "",
		},
		{"o.id", "charges c JOIN codes o ON o.id = c.code", "o.id NOT IN (SELECT id FROM terms WHERE class = 3)", 39, ""}, // no list
		{"o.id", "charges c JOIN codes o ON o.id = c.code", "o.id < 10 OR o.id IN (SELECT id FROM terms WHERE class = 3)", 39, ""},
		{"t.name", "charges c JOIN terms t ON t.id = c.term", "t.id IN (SELECT id FROM codes WHERE class = 3)", 8, ""},
	} {
		checkListed(t, cat, conn, c.keys, c.from, c.where, c.declared, c.groups)
	}
}

// checkListed counts the public groups of keys, 0 if they are private. All that the server finds under the conditions are listed. declared
// is what holds of rows with declared values.
func checkListed(t *testing.T, cat *policy.Model, conn *pgconn.PgConn, keys, from, where, declared string, groups int) {
	t.Helper()
	sql := "SELECT " + keys + ", count(*) FROM " + from
	if all := present(where); all != nil {
		sql += " WHERE " + strings.Join(all, " AND ")
	}
	listed := listedGroups(t, cat, conn, sql+" GROUP BY "+keys)
	if len(listed) != groups {
		t.Errorf("%s: %d groups, want %d: %.500s", sql, len(listed), groups, listed)
	}
	if groups == 0 {
		return
	}
	own := "SELECT DISTINCT " + keys + " FROM " + from + " WHERE " + strings.Join(present(where, declared), " AND ")
	for _, row := range runSQL(t, conn, strings.TrimSuffix(own, " WHERE ")) {
		if group := fmt.Sprint(row); !slices.Contains(listed, group) {
			t.Errorf("%s: the group %s is not listed in %.500s", sql, group, listed)
		}
	}
}

func present(list ...string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, "("+s+")")
		}
	}
	return out
}

// listedGroups returns the keys of the public groups of a statement; none if they are private.
func listedGroups(t *testing.T, cat *policy.Model, conn *pgconn.PgConn, sql string) (groups []string) {
	t.Helper()
	set := onlySet(t, cat, conn, sql)
	if set == nil || set.Private() {
		return nil
	}
	for i := range set.Size() {
		var row []string
		for _, k := range set.KeysOf(i) {
			text := "NULL"
			if k != nil {
				text = *k
			}
			row = append(row, text)
		}
		groups = append(groups, fmt.Sprint(row))
	}
	return groups
}

// TestKeysOfOneRow refuses groups by a unique column, whose values but NULL are each of one person.
func TestKeysOfOneRow(t *testing.T) {
	conn := connect(t)
	cat := ledger(t, conn)
	for _, tt := range []struct {
		sql, refusal string
	}{
		{"SELECT badge, count(*) FROM charges GROUP BY 1", `"badge" but NULL would be rows of one patient`},
		{"SELECT badge, kind, count(*) FROM charges GROUP BY 1, 2", `"badge" but NULL would be rows of one patient`},
		{"SELECT DISTINCT badge FROM charges", `"badge" but NULL would be rows of one patient`},
		{"SELECT visit, count(*) FROM charges GROUP BY 1", `"visit" but NULL would be rows of one patient`},
		{"SELECT avg(n) FROM (SELECT visit, count(*) AS n FROM charges GROUP BY 1) v", `"visit" but NULL would be rows of one patient`},
		{"SELECT former, count(*) FROM charges GROUP BY 1", ""}, // many can refer to one visit of another patient
		{"SELECT avg(n) FROM (SELECT patient_id, visit, count(*) AS n FROM charges GROUP BY 1, 2) v", ""},
		{"SELECT badge IS NULL, count(*) FROM charges GROUP BY 1", ""},
		{"SELECT left(badge, 1), count(*) FROM charges GROUP BY 1", ""},
	} {
		q := analyzed(t, cat, tt.sql)
		_, err := q.Specialize(nil, evaluate(t, conn, q, nil, nil), planner.Settings{
			EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05,
			Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
		})
		if tt.refusal == "" && err != nil || tt.refusal != "" && (err == nil || !strings.Contains(err.Error(), tt.refusal)) {
			t.Errorf("%s: %v", tt.sql, err)
		}
	}
}

// TestPublicChains compares the groups that public tables declare which are joined with LEFT JOIN before a protected one with those that
// the server finds: all of these, and no others.
func TestPublicChains(t *testing.T) {
	conn := connect(t)
	cat := ledger(t, conn)
	const two = "codes o LEFT JOIN codes u ON u.id = o.class"
	const three = two + " LEFT JOIN terms v ON v.id = u.class"
	for _, c := range []struct{ keys, from, where string }{
		{"o.name, u.name", two + " LEFT JOIN charges c ON c.code = u.id", ""},
		{"u.name", two + " LEFT JOIN charges c ON c.code = u.id", ""},
		{"o.name, u.name", two + " LEFT JOIN charges c ON c.code = o.id", ""}, // looked up after the charges
		{"o.name, u.name", two + " AND u.rate > 2 LEFT JOIN charges c ON c.code = u.id AND c.kind > 4", "o.id < 20"},
		{"o.name, v.name", three + " LEFT JOIN charges c ON c.code = v.id", ""},
		{"o.name, u.class, v.name", three + " LEFT JOIN charges c ON c.code = u.id", ""},
		{"o.name, v.class", three + " LEFT JOIN charges c ON c.code = o.id AND c.kind = v.id", ""},
		{"u.name, o.name", "charges c RIGHT JOIN (" + two + ") ON c.code = u.id", ""},
	} {
		where := strings.Join(append(present(c.where), "TRUE"), " AND ")
		listed := listedGroups(t, cat, conn, "SELECT "+c.keys+", count(c.kind) FROM "+c.from+" WHERE "+where+" GROUP BY "+c.keys)
		var there []string
		for _, row := range runSQL(t, conn, "SELECT DISTINCT "+c.keys+" FROM "+c.from+" WHERE "+where) {
			there = append(there, fmt.Sprint(row))
		}
		slices.Sort(listed)
		slices.Sort(there)
		if len(there) == 0 || !slices.Equal(listed, there) {
			t.Errorf("%s of %s: %d groups are listed, and there are %d", c.keys, c.from, len(listed), len(there))
		}
	}
}
