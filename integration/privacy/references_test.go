package privacy_test

import (
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/internal/await"
	"dpproxy/internal/pgtemp"
	"dpproxy/internal/sitetest"
)

// In the hotel a meal and a bill are of a guest, and refer to a stay; an order, which has no guest of its own, is of a bill, and
// refers to a meal. Of every tenth row the reference leads to another guest's.
const (
	hotelSchema = `
CREATE TABLE guests (id int PRIMARY KEY, city text NOT NULL);
CREATE TABLE houses (id int PRIMARY KEY, country text NOT NULL, head_id int NOT NULL REFERENCES guests);
CREATE TABLE rooms (house_id int REFERENCES houses, number int, floor int NOT NULL, code text, PRIMARY KEY (house_id, number));
CREATE TABLE stays (id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guests, nights int NOT NULL,
  house_id int NOT NULL REFERENCES houses, room int, FOREIGN KEY (house_id, room) REFERENCES rooms);
CREATE TABLE meals (id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guests, stay_id int REFERENCES stays, price int NOT NULL);
CREATE TABLE bills (id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guests, stay_id int NOT NULL REFERENCES stays, total int NOT NULL);
CREATE TABLE orders (id int PRIMARY KEY, bill_id int NOT NULL REFERENCES bills, meal_id int NOT NULL, amount int NOT NULL);
INSERT INTO guests SELECT g, 'c' || g % 4 FROM generate_series(1, 3000) g;
INSERT INTO houses SELECT g, (ARRAY['fr', 'it'])[g % 2 + 1], g FROM generate_series(1, 8) g;
INSERT INTO rooms SELECT (g - 1) % 8 + 1, g, g % 6, 'r' || g FROM generate_series(1, 80) g;
INSERT INTO stays SELECT g, (g + 1) / 2, g % 5 + 1, g % 8 + 1, CASE WHEN g % 9 > 0 THEN g % 40 + 1 END FROM generate_series(1, 6000) g;
INSERT INTO meals SELECT g, (g + 1) / 2, CASE WHEN g % 7 = 0 THEN NULL WHEN g % 10 = 0 THEN g % 6000 + 1 ELSE g END, g % 30
  FROM generate_series(1, 6000) g;
INSERT INTO bills SELECT g, (g + 1) / 2, CASE WHEN g % 10 = 0 THEN g % 6000 + 1 ELSE g END, g % 90 FROM generate_series(1, 6000) g;
INSERT INTO orders SELECT g, g, CASE WHEN g % 10 = 0 THEN g % 6000 + 1 ELSE g END, g % 9 FROM generate_series(1, 6000) g;
CREATE TABLE towns (id int PRIMARY KEY, house_id int NOT NULL REFERENCES houses);
INSERT INTO towns SELECT g, g FROM generate_series(1, 6) g;
CREATE VIEW homes AS SELECT id AS house, country FROM houses WHERE country <> 'de';
CREATE VIEW kept AS SELECT id AS house, country FROM houses;
CREATE VIEW eaten AS SELECT stay_id AS during, price FROM meals;
CREATE VIEW spent AS SELECT stay_id AS during, count(*) AS n FROM bills GROUP BY stay_id;
ANALYZE;`
	hotelPolicy = `
privacy_unit: {name: guest, budget: {epsilon: 9000, delta: 0.0001}}
tables:
  guests: {unit: id, columns: {city: {values: [c0, c1, c2, c3]}}}
  houses: {reference: true, not_protected: [head_id]}
  rooms: {reference: true, columns: {floor: {bounds: [0, 5]}, code: hidden}}
  stays: {unit: guest_id, max_rows_per_group: 2, max_groups_contributed: 2, columns: {nights: {bounds: [1, 5]}}}
  meals: {unit: guest_id, max_rows_per_group: 2, max_groups_contributed: 2, 
    columns: {price: {bounds: [0, 30]}, guest_id: {bounds: [1, 10]}}}
  bills: {unit: guest_id, max_rows_per_group: 2, max_groups_contributed: 2, same_unit: [stay_id], columns: {total: {bounds: [0, 90]}}}
  orders:
    unit: {via: bill_id, to: bills.id}
    max_rows_per_group: 2
    max_groups_contributed: 2
    refers: {meal_id: meals}
    columns: {amount: {bounds: [0, 9]}}
  towns: {public: true}
  homes: {view: true, definition: shown}
  kept: {view: true}
  eaten: {view: true}
  spent: {view: true}
analysts:
  ana: {password: "VERIFIER", tables: [houses, rooms, homes, kept, guests, stays, meals, bills, orders, eaten, spent]}
limits: {reply_grid: 0}
defaults: {epsilon: 5, max_epsilon: 1000}
`
)

// ofGuest and ofBill compare the guests of the two rows.
const (
	ofGuest = "AND s.guest_id = m.guest_id"
	ofBill  = "AND m.guest_id = (SELECT guest_id FROM bills c WHERE c.id = o.bill_id)"
)

// byReference are statements that join rows along references, each with what they mean: the same with the units compared.
var byReference = [][2]string{
	{"SELECT count(*) FROM meals m JOIN stays s ON s.id = m.stay_id", ofGuest},
	{"SELECT sum(s.nights) FROM meals m, stays s WHERE m.stay_id = s.id AND m.price > 3", ofGuest},
	{"SELECT count(s.id) FROM meals m LEFT JOIN stays s ON s.id = m.stay_id", ofGuest},
	{"SELECT count(*) FROM meals m LEFT JOIN stays s ON s.id = m.stay_id %s WHERE s.id IS NULL", ofGuest},
	{"SELECT count(m.id) FROM stays s LEFT JOIN meals m ON m.stay_id = s.id AND m.price > 3", ofGuest},
	{"SELECT sum(b.total) FROM bills b JOIN stays s ON s.id = b.stay_id JOIN guests g ON g.id = s.guest_id", "AND " +
		"s.guest_id = b.guest_id"},
	{"SELECT count(*) FROM meals m WHERE EXISTS (SELECT 1 FROM stays s WHERE s.id = m.stay_id AND s.nights > 1 %s)", ofGuest},
	{"SELECT count(*) FROM bills m WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE s.id = m.stay_id %s)", ofGuest},
	{"SELECT count(*) FROM meals m WHERE m.stay_id IN (SELECT id FROM stays s WHERE nights > 1 %s)", ofGuest},
	{"SELECT count(*) FROM bills m WHERE m.stay_id NOT IN (SELECT id FROM stays s WHERE nights > 1 %s)", ofGuest},
	{"SELECT count(*) FROM bills m WHERE m.stay_id <> ALL (SELECT id FROM stays s WHERE nights > 1 %s)", ofGuest},
	{"SELECT count(*) FILTER (WHERE m.stay_id IN (SELECT id FROM stays s WHERE nights > 1 %s)) FROM bills m", ofGuest},
	{"SELECT count(*) FROM stays s WHERE (SELECT count(*) FROM meals m WHERE m.stay_id = s.id %s) > 0", ofGuest},
	{"SELECT count(*) FROM meals m WHERE coalesce((SELECT s.nights FROM stays s WHERE s.id = m.stay_id %s), 9) > 5", ofGuest},
	{"SELECT count(*) FROM bills m WHERE (SELECT s.nights FROM stays s WHERE s.id = m.stay_id %s) IS NULL", ofGuest},
	{"SELECT count(*) FROM stays s, LATERAL (SELECT max(price) AS p FROM meals m WHERE m.stay_id = s.id %s) x WHERE x.p >= 0", ofGuest},
	{"SELECT sum(o.amount) FROM orders o JOIN meals m ON m.id = o.meal_id", ofBill},
	{"SELECT count(m.id) FROM orders o LEFT JOIN meals m ON m.id = o.meal_id %s JOIN bills b ON b.id = o.bill_id", ofBill},
	{"SELECT count(*) FROM orders o JOIN meals m ON m.id = o.meal_id %s JOIN stays s ON s.id = m.stay_id AND s.guest_id " +
		"= m.guest_id", ofBill},
	{"SELECT avg(n) FROM (SELECT stay_id, count(*) AS n FROM bills GROUP BY stay_id %s) t", ", guest_id"},
}

// TestReferences asks them, and compares answers with what they mean. The administrator and the analyst are told what is compared.
func TestReferences(t *testing.T) {
	s := sitetest.New(t, hotelSchema, hotelPolicy)
	plain := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	var notice *pgconn.Notice
	ana := sitetest.DialTold(t, s.Run(t).URL("ana"), func(n *pgconn.Notice) { notice = n })
	value := func(conn *pgx.Conn, sql string) float64 {
		t.Helper()
		var x float64
		if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeSimpleProtocol).Scan(&x); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		return x
	}
	for _, q := range byReference {
		asked, meant := strings.Replace(q[0], " %s", "", 1), strings.Replace(q[0], "%s", q[1], 1)
		if !strings.Contains(q[0], "%s") {
			meant = q[0] + " " + q[1]
		}
		got, want := value(ana, asked), value(plain, meant)
		if math.Abs(got-want) > 30+0.01*math.Abs(want) {
			t.Errorf("%s: %v, not %v", asked, got, want)
		}
		if without := value(plain, asked); math.Abs(want-without) < 60 && !strings.Contains(asked, "avg(") {
			t.Errorf("%s: %v with the units compared, and %v without, tell nothing", asked, want, without)
		}
	}
	value(ana, byReference[0][0])
	const told = "Meals and stays are joined by meals.stay_id only where both rows are of one guest"
	if notice == nil || !strings.Contains(notice.Detail, told) {
		t.Errorf("the notice says %v", notice)
	}
	value(ana, byReference[5][0])
	if notice == nil || strings.Contains(notice.Detail, "are joined by") {
		t.Errorf("the notice says %v", notice)
	}
	rows, err := ana.Query(t.Context(), "EXPLAIN "+byReference[5][0], pgx.QueryExecModeSimpleProtocol)
	lines, err2 := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || err2 != nil || !strings.Contains(strings.Join(lines, "\n"), "bills and stays are joined by bills.stay_id only") {
		t.Errorf("%v, %v: %s", err, err2, strings.Join(lines, "\n"))
	}
	for _, sql := range []string{ // no analyst sees which tables the views read
		"SELECT count(*) FROM eaten e JOIN stays s ON s.id = e.during",
		"SELECT count(*) FROM stays s WHERE s.id IN (SELECT during FROM eaten)",
		"SELECT avg(n) FROM spent", "SELECT avg(p.n) FROM spent p JOIN stays s ON s.id = p.during",
	} {
		value(ana, sql)
		rows, err := ana.Query(t.Context(), "EXPLAIN "+sql, pgx.QueryExecModeSimpleProtocol)
		lines, err2 := pgx.CollectRows(rows, pgx.RowTo[string])
		told := strings.Join(lines, "\n") + notice.Message + notice.Detail
		shown := slices.ContainsFunc([]string{"meals", "bills", "stay_id"}, func(name string) bool { return strings.Contains(told, name) })
		if err != nil || err2 != nil || shown {
			t.Errorf("%s: %v, %v: %s", sql, err, err2, told)
		}
	}
	lookUps(t, s, ana, value, func(sql string) float64 { return value(plain, sql) })
	out := s.Command(t, "check", s.Policy, "--online")
	if !strings.Contains(out, "references that are taken for ones to rows of the same guest: joins by them keep only pairs of one guest") ||
		!strings.Contains(out, ": public.meals (stay_id refers to stays), public.orders (") ||
		strings.Contains(out, "public.bills (stay_id refers") {
		t.Errorf("check says %s", out)
	}
	looksAtReferences(t, s, plain)
}

// finding are queries that find the rows about which check says yes.
var finding = regexp.MustCompile(`: (SELECT f\.\* FROM .*)`)

// findsRows has the queries that check prints find rows, so many.
func findsRows(t *testing.T, s *sitetest.Site, plain *pgx.Conn, want int) {
	t.Helper()
	found := 0
	for _, m := range finding.FindAllStringSubmatch(s.Command(t, "check", s.Policy, "--data"), -1) {
		rows, err := plain.Query(t.Context(), m[1])
		if err != nil {
			t.Fatal(err)
		}
		all, err := pgx.CollectRows(rows, pgx.RowToMap)
		if found++; err != nil || len(all) == 0 {
			t.Errorf("%s finds %d rows: %v", m[1], len(all), err)
		}
	}
	if found != want {
		t.Errorf("%d queries find rows, want %d", found, want)
	}
}

// looksAtReferences has the administrator look whether references stay with one guest: yes or no is said, and nothing else of the rows.
func looksAtReferences(t *testing.T, s *sitetest.Site, plain *pgx.Conn) {
	t.Helper()
	says := func(want ...string) {
		t.Helper()
		_, out, found := strings.Cut(s.Command(t, "check", s.Policy, "--data"), "for you alone and not to be published:\n")
		for _, line := range want {
			found = found && strings.Contains(out, line)
		}
		if !found || strings.Count(out, " refers to ") != len(want) {
			t.Errorf("want %s, got\n%s", want, out)
		}
	}
	const proof = "; FOREIGN KEY (\"stay_id\", \"guest_id\") REFERENCES \"public\".\"stays\" (\"id\", \"guest_id\")"
	const ofOther, ofNone = "; rows that lead to one of another guest: ", "; rows that lead to none: "
	const lacksIndex, would = ", with a unique index there,", " would prove that both are of one guest\n"
	const noMatch = ", which have no match in joins by it"
	const yes = "yes" + noMatch + "; nobody's protection rests on it"
	bills, orders := "public.bills: stay_id refers to public.stays", "public.orders: meal_id refers to public.meals"
	meals := "public.meals: stay_id refers to public.stays" + ofOther
	says(meals+yes+"\n", bills+ofOther+yes+"; the policy says same_unit: [stay_id], and it does not hold", orders+ofOther+yes+ofNone+"no\n")
	findsRows(t, s, plain, 3)
	sitetest.Exec(t, plain, "UPDATE bills SET stay_id = id; CREATE UNIQUE INDEX ON stays (guest_id, id); "+
		"UPDATE orders SET meal_id = id - 3")
	says(meals+yes+"\n", bills+ofOther+"no"+proof+would,
		orders+ofOther+yes+ofNone+"yes"+noMatch+"; the policy says refers: {meal_id: public.meals}, and it does not hold\n")
	sitetest.Exec(t, plain, "UPDATE meals SET stay_id = NULL; DROP INDEX stays_guest_id_id_idx")
	says(meals+"no"+proof+lacksIndex+would, bills+ofOther+"no"+proof+lacksIndex+would, orders)

	tx, err := plain.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(t.Context())
	if _, err := tx.Exec(t.Context(), "REINDEX INDEX stays_pkey"); err != nil { // whoever reads stays waits
		t.Fatal(err)
	}
	if out := s.Command(t, "check", s.Policy, "--data", "--patience", "50ms"); !strings.Contains(out, "not known after 50ms (--patience)") {
		t.Errorf("who waits is told\n%s", out)
	}
	command := exec.CommandContext(t.Context(), sitetest.Program(t), "check", s.Policy, "--data")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT EXISTS%' AND state = 'active'"
	look := sitetest.Dial(t, s.Data.URL("postgres", pgtemp.Superuser))
	looking := func() (n int) {
		if err := look.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	await.That(t, "it looks", func() bool { return looking() == 1 })
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil {
		t.Error("an interrupted check ends well")
	}
	await.That(t, "the statement has ended", func() bool { return looking() == 0 })
}
