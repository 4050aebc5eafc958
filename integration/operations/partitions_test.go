package operations_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// shopSchema has parcels, partitioned by the month, with a key of two columns to which their items refer: 60 customers
// of two regions have 74 parcels of 30 items each, so that a region has 66,600 items.
const shopSchema = `CREATE TABLE cust (id int PRIMARY KEY, region text NOT NULL);
CREATE TABLE p (id int, at date NOT NULL, cust_id int NOT NULL REFERENCES cust, n int NOT NULL, PRIMARY KEY (id, at))
  PARTITION BY RANGE (at);
CREATE TABLE p_1 PARTITION OF p FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE p_2 PARTITION OF p FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE c (pid int NOT NULL, at date NOT NULL, qty int NOT NULL);
CREATE TABLE q (day date NOT NULL, cust_id int NOT NULL) PARTITION BY RANGE (day);
CREATE TABLE q_1 PARTITION OF q FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
ALTER TABLE q_1 ADD FOREIGN KEY (cust_id) REFERENCES cust;
INSERT INTO cust SELECT g, (ARRAY['north','south'])[g % 2 + 1] FROM generate_series(1, 60) g;
INSERT INTO p SELECT g, date '2024-01-01' + g % 60, g % 60 + 1, 30 FROM generate_series(1, 4440) g;
INSERT INTO c SELECT p.id, p.at, 1 + g % 3 FROM p, generate_series(1, 30) g;
ALTER TABLE c ADD FOREIGN KEY (pid, at) REFERENCES p (id, at); -- checked at once, not row by row
INSERT INTO q SELECT '2024-01-07', id FROM cust; ANALYZE;`

const shopPolicy = `
privacy_unit: {name: customer, budget: {epsilon: 9000}}
sync: automatic
tables:
  cust: {unit: id, columns: {region: {values: [north, south]}}}
  p:
    unit: cust_id
    max_rows_per_group: auto
    columns: {n: {bounds: [0, 100]}}
  c:
    unit: {via: [pid, at], to: p}
    max_rows_per_group: auto
    columns: {qty: {bounds: [0, 3]}}
  q: {unit: cust_id, max_rows_per_group: auto}
analysts:
  ana: {password: "VERIFIER", tables: [cust, p, c, q]}
`

// statedError finds what a notice says of the error of a column.
var statedError = regexp.MustCompile(`moves .* by at most ([0-9.,]+)`)

// noticing opens a session of ana that keeps the notices of the last statement.
func noticing(t *testing.T, url string) (conn *pgx.Conn, notices *strings.Builder) {
	t.Helper()
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	notices = &strings.Builder{}
	cfg.RuntimeParams["dp.notice"] = "full"
	cfg.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices.WriteString(n.Message + "\n" + n.Detail + "\n") }
	conn, err = pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn, notices
}

// wholeShop asks along both keys.
const wholeShop = "SELECT sum(c.qty) FROM c JOIN p ON p.id = c.pid AND p.at = c.at JOIN cust ON cust.id = p.cust_id WHERE region = 'north'"

// shopQuestions are questions of an analyst, each with one of the administrator that has the true answer.
var shopQuestions = [][2]string{
	{wholeShop, wholeShop},
	{"SELECT sum(c.qty) FROM cust JOIN p ON cust.id = p.cust_id JOIN c ON p.id = c.pid AND p.at = c.at WHERE region = 'north'", wholeShop},
	{"SELECT sum(c.qty) FROM c LEFT JOIN p ON p.id = c.pid AND p.at = c.at WHERE p.n > 7", "SELECT sum(qty) FROM c"},
	{
		"SELECT sum(k) FROM p LEFT JOIN (SELECT pid, at, count(*) AS k FROM c GROUP BY pid, at) t ON t.pid = p.id AND t.at = p.at",
		"SELECT count(*) FROM c",
	},
	{"SELECT count(*) FROM p a JOIN p b ON a.id = b.id AND a.at = b.at", "SELECT count(*) FROM p"},
	{
		"SELECT avg(n) FROM (SELECT p.id, p.at, count(*) AS n FROM p JOIN c ON p.id = c.pid AND p.at = c.at GROUP BY p.id, p.at) t",
		"SELECT 30",
	},
	{
		"SELECT count(*) FROM p WHERE n > (SELECT avg(qty) FROM c WHERE c.pid = p.id AND c.at = p.at)", "SELECT count(*) FROM p",
	},
}

// shopGrowth are changes of partitions that are taken over.
var shopGrowth = []string{
	"CREATE TABLE p_3 PARTITION OF p FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')",
	"CREATE TABLE p_4 (LIKE p INCLUDING ALL); ALTER TABLE p ATTACH PARTITION p_4 FOR VALUES FROM ('2024-04-01') TO ('2024-05-01')",
	"ALTER TABLE p DETACH PARTITION p_3",
	"CREATE TABLE q_2 (LIKE q); ALTER TABLE q_2 ADD FOREIGN KEY (cust_id) REFERENCES cust; " +
		"ALTER TABLE q ATTACH PARTITION q_2 FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
}

// shopLosses are changes that take a proof away, with what is told of each, and what a command then refuses.
var shopLosses = []struct{ change, undo, table, told, command, refused string }{
	{
		"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'p_1_pkey'::regclass",
		"UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'p_1_pkey'::regclass", "p",
		"the key (id, at) is gone, or is not valid any more", "check", "has no unique index over NOT NULL columns",
	},
	{
		"ALTER TABLE p_1 DISABLE TRIGGER ALL", "ALTER TABLE p_1 ENABLE TRIGGER ALL", "p",
		"the foreign key (cust_id) to public.cust does not hold any more", "", "",
	},
	{
		"ALTER TABLE p ALTER cust_id DROP NOT NULL", "ALTER TABLE p ALTER cust_id SET NOT NULL", "p",
		"column cust_id may be NULL by now", "", "",
	},
	{
		"CREATE TABLE q_3 PARTITION OF q FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')", "DROP TABLE q_3", "q",
		"the foreign key (cust_id) to public.cust does not hold any more", "", "",
	},
	{
		"CREATE FOREIGN DATA WRAPPER w; CREATE SERVER elsewhere FOREIGN DATA WRAPPER w; " +
			"CREATE FOREIGN TABLE q_3 PARTITION OF q FOR VALUES FROM ('2024-03-01') TO ('2024-04-01') SERVER elsewhere",
		"DROP SERVER elsewhere CASCADE; DROP FOREIGN DATA WRAPPER w", "q", "its partitions", "sync",
		"its partition public.q_3 is a foreign table",
	},
}

// TestKeysOfPartitions asks along the keys of a partitioned table as of any other, in whatever order, while partitions come
// and go; what a partition takes away is refused until it is back, and costs nothing.
func TestKeysOfPartitions(t *testing.T) {
	t.Parallel()
	s := sitetest.New(t, shopSchema, shopPolicy)
	super := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	r := s.Run(t)
	ana, notices := noticing(t, r.URL("ana"))
	sitetest.Exec(t, ana, "SET dp.epsilon = 20")
	run := func(sql string) {
		if _, err := super.PgConn().Exec(t.Context(), sql).ReadAll(); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(sql, exact string) {
		t.Helper()
		notices.Reset()
		var truth, got float64
		if err := super.QueryRow(t.Context(), exact).Scan(&truth); err != nil {
			t.Fatal(err)
		}
		if err := ana.QueryRow(t.Context(), sql).Scan(&got); err != nil {
			t.Errorf("%s: %v", sql, err)
			return
		}
		found := statedError.FindStringSubmatch(notices.String())
		if found == nil {
			t.Errorf("%s: no error is stated: %s", sql, notices)
			return
		}
		stated, _ := strconv.ParseFloat(strings.ReplaceAll(strings.TrimRight(found[1], "."), ",", ""), 64)
		t.Logf("%s: %.1f ± %v for %.1f", sql, got, stated, truth)
		if math.Abs(got-truth) > 4*stated || math.Abs(got-truth) > 0.2*truth {
			t.Errorf("%s: %v ± %v for %v\n%s", sql, got, stated, truth, notices)
		}
	}
	for _, c := range shopQuestions {
		ask(c[0], c[1])
	}
	for n, change := range shopGrowth {
		run(change)
		for _, sql := range []string{
			"SELECT count(*) FROM c WHERE qty < %d", "SELECT count(*) FROM p WHERE n > %d", "SELECT count(*) FROM q WHERE cust_id > %d",
		} {
			awaitAnswer(t, ana, fmt.Sprintf(sql, 4+n))
		}
	}
	for _, c := range shopLosses {
		run(c.change)
		before, sql := sitetest.Spent(t, ana), "SELECT count(*) FROM "+c.table
		var last error
		await.That(t, c.told, func() bool {
			_, last = ana.Exec(t.Context(), sql)
			return last != nil && strings.Contains(last.Error(), c.told)
		})
		sitetest.Fails(t, last, "PB013", "")
		if sitetest.Spent(t, ana) != before {
			t.Errorf("%s: a refusal was charged for", c.change)
		}
		if c.refused != "" {
			s.Refuses(t, c.refused, c.command, s.Policy)
		}
		run(c.undo)
		awaitAnswer(t, ana, sql)
	}
}
