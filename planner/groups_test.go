package planner_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"dpproxy/catalog"
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/planner/plannertest"
	"dpproxy/planner/policy"
	"dpproxy/planner/work"
)

// shop has orders of three years, in times and instants, numbers of each kind, texts and an enum.
func shop(t *testing.T) *policy.Model {
	t.Helper()
	column, bounds := plannertest.Column, plannertest.Bounds
	s := clinicSchema()
	s.TimeZones["asia/tokyo"], s.TimeZones["europe/vienna"] = true, true
	s.Tables[name("orders")] = &catalog.Table{
		Name: name("orders"), Kind: 'r', Keys: plannertest.Primary(), Columns: []catalog.Column{
			column("id", plannertest.Int4, true), column("patient_id", plannertest.Int4, true), column("age", plannertest.Int4, true),
			column("ordered_at", plannertest.Builtin("timestamp", "timestamp without time zone", 1114, -1), true),
			column("placed", plannertest.Builtin("timestamptz", "timestamp with time zone", 1184, -1), true),
			column("done", plannertest.Builtin("timestamp", "timestamp without time zone", 1114, -1), true),
			column("total", plannertest.Builtin("numeric", "numeric(12,2)", 1700, (12<<16|2)+4), true),
			column("discount", plannertest.Float8, true), column("qty", plannertest.Int4, true), column("status", plannertest.Text, true),
			column("since", plannertest.Date, true), column("until", plannertest.Date, true), column("shop", plannertest.Int4, true),
			column("padded", plannertest.Builtin("bpchar", "character(5)", 1042, 9), true), column("day", plannertest.Date, true),
		},
		Foreign: []catalog.ForeignKey{plannertest.References("patient_id", "patients")},
	}
	p := clinicPolicy()
	p.Tables = append(p.Tables, policy.TablePolicy{
		Name: name("orders"), UnitColumn: "patient_id", MaxRows: 20, Columns: map[string]policy.ColumnPolicy{
			"age": bounds("17", "90"), "ordered_at": bounds("2022-01-01", "2024-12-31 23:59:59"),
			"done":   bounds("2022-01-01", "2029-12-31"),
			"placed": bounds("2022-01-01 00:00:00Z", "2024-12-31 23:00:00Z"), "total": bounds("0", "600"), "discount": bounds("0", "1"),
			"qty": bounds("1", "50"), "status": plannertest.Values("open", "paid", "sent"), "since": bounds("2010-01-01", "2020-12-31"),
			"until": bounds("2010-01-01", "2020-12-31"), "padded": plannertest.Values("a", "b"), "day": bounds("2024-02-29", "2024-02-29"),
		},
	})
	return checkedBy(t, p, s)
}

// TestGroups counts the public groups of statements; 0 are private ones.
func TestGroups(t *testing.T) {
	cat, conn := shop(t), connect(t)
	for _, c := range []struct {
		keys, where string
		groups      int
	}{
		// Keys of one column together.
		{"extract(year FROM ordered_at), date_trunc('quarter', ordered_at)", "", 12},
		{"age, CASE WHEN age < 30 THEN 'young' WHEN age < 60 THEN 'grown' ELSE 'old' END", "", 74},
		{"CASE WHEN total < 50 THEN 'a' WHEN total < 100 THEN 'b' WHEN total < 200 THEN 'c' ELSE 'd' END, " +
			"CASE WHEN total < 50 THEN 1 WHEN total < 100 THEN 2 WHEN total < 200 THEN 3 ELSE 4 END", "", 4},
		{"ordered_at::date, extract(dow FROM ordered_at), extract(year FROM ordered_at), extract(month FROM ordered_at)", "", 1096},
		{"CASE WHEN shop < 10 THEN 'a' ELSE 'b' END, CASE WHEN shop < 10 THEN 1 WHEN shop < 20 THEN 2 ELSE 3 END", "", 3},
		// Steps.
		{"floor(total / 50) * 50", "", 13},
		{"floor(total / 50) * 50 + 0", "", 13},
		{"(floor(total / 50) * 50)::int", "", 13},
		{"- (floor(total / 50) * 50)", "", 13},
		{"least(floor(total / 50) * 50, 400)", "", 9},
		{"floor(discount * 10) / 10", "", 11},
		{"round(discount::numeric, 1)", "", 11},
		{"floor(extract(epoch FROM ordered_at) / 86400) * 86400", "ordered_at >= '2023-01-01' AND ordered_at < '2023-01-04'", 3},
		{"floor(total / 100)", "total >= 100 AND total < 300", 2},
		{"floor((until - since) / 30)", "", 267},
		{"(until - since) / 30", "", 267},
		{"extract(year FROM ordered_at) - age", "", 76},
		// Steps of what two columns give together.
		{"floor((total + qty) / 10) * 10", "", 66},
		{"floor(total * (1 - discount) / 10) * 10", "", 61},
		{"round(total * qty / 1000) * 1000", "", 31},
		{"round(total / qty, -2)", "", 7},
		{"least(floor((total + age) / 50) * 50, 200)", "", 5},
		{"width_bucket(total + age, 0, 100, 5)", "", 6},
		{"CASE WHEN total * qty < 30 THEN 1 WHEN total * qty < 60 THEN 2 ELSE 5000 END", "", 3},
		{"(until - since) / 7", "until >= since AND until < since + 14", 2},
		{"(until - since) / 7", "until BETWEEN since AND since + 13", 2},
		{"least((until - since) / 30, 12)", "since <= until", 13},
		{"extract(day FROM done - ordered_at)", "done >= ordered_at AND done < '2022-06-01'", 151},
		// More cells of one column, if others have few.
		{"floor(total) * 3 + (qty > 10)::int", "", 1202},
		{"(floor(total * 2)::int % 7) * 3 + (qty > 10)::int", "", 14},
		{"floor(age / 30) * 100 + floor(qty / 20) * 10 + extract(month FROM since)", "since < '2010-04-01'", 36},
		// No group of NULL.
		{"qty < age AND status = 'open'", "", 2},
		{"CASE WHEN qty < age THEN 'a' ELSE 'b' END", "", 2},
		{"least(qty, age) > shop", "", 2},
		{"total / qty > 5", "", 2},
		{"total / (qty - 3) > 5", "", 3},
		// Texts.
		{"(total > 100)::text", "", 2},
		{"to_char(ordered_at, 'YYYY-MM')", "", 36},
		{"'Q' || extract(quarter FROM ordered_at)", "", 4},
		{"upper(status) || '-' || qty", "qty < 3", 6},
		{"padded", "", 2},
		{"CASE padded WHEN 'b' THEN 'x' ELSE 'y' END", "", 2},
		{"CASE WHEN octet_length(padded) = 5 THEN padded ELSE 'none' END", "", 2},
		// Calendars.
		{"extract(decade FROM ordered_at)", "", 1},
		{"extract(century FROM ordered_at)", "", 1},
		{"extract(millennium FROM ordered_at)", "", 1},
		{"date_trunc('month', placed AT TIME ZONE 'Asia/Tokyo')", "", 37},
		{"extract(year FROM placed AT TIME ZONE 'Asia/Tokyo')", "", 4},
		{"extract(year FROM placed)", "", 3},
		{"extract(isoyear FROM ordered_at)", "", 5},
		{"day", "", 1},
		{"day, extract(doy FROM day)", "", 1},
		// Conditions.
		{"date_trunc('month', done)", "done < timestamp '2024-06-15 12:00'", 30},
		{"date_trunc('month', done)", "done < '2023-01-01' OR done >= '2029-12-01'", 13},
		{"extract(month FROM ordered_at)", "extract(quarter FROM ordered_at) = 2", 3},
		{"qty", "qty % 7 = 0", 7},
		{"date_trunc('hour', ordered_at)", "ordered_at >= '2023-12-30' AND ordered_at < '2024-01-01' AND " +
			"date_trunc('day', ordered_at) = '2023-12-31' AND extract(day FROM ordered_at - ordered_at) = 0", 24},
		{"status", "status <> 'paid'", 2},
		{"qty, status", "qty = 3 OR status = 'open'", 150},
		// No list.
		{"shop", "", 0},
		{"total", "", 0},
		{"placed", "", 0},
		{"discount", "", 0},
	} {
		sql := "SELECT " + c.keys + ", count(*) FROM orders"
		if c.where != "" {
			sql += " WHERE " + c.where
		}
		sql += " GROUP BY " + c.keys
		if got := publicGroups(t, cat, conn, sql); got != c.groups {
			t.Errorf("%s: %d groups, want %d", sql, got, c.groups)
		}
	}
}

func publicGroups(t *testing.T, cat *policy.Model, conn *pgconn.PgConn, sql string) int {
	t.Helper()
	set := onlySet(t, cat, conn, sql)
	if set == nil || set.Private() {
		return 0
	}
	return set.Size()
}

// onlySet returns the first grouping set of a statement; nil if nothing is read.
func onlySet(t *testing.T, cat *policy.Model, conn *pgconn.PgConn, sql string) *planner.GroupingSet {
	t.Helper()
	q := analyzed(t, cat, sql)
	p, err := q.Specialize(nil, evaluate(t, conn, q, nil, nil), planner.Settings{
		EpsilonPico: dp.PicoPerUnit, DeltaAtto: 1e8, Mechanism: "gaussian", Alpha: 0.05,
		Limits: policy.Limits{PublicFanout: 1000, Work: 1_000_000},
	})
	if err != nil {
		t.Errorf("%s: %v", sql, err)
		return nil
	}
	if len(p.Blocks[0].Sets) == 0 {
		return nil
	}
	return p.Blocks[0].Sets[0]
}

// TestListsTakeFewSteps bounds the steps in which keys of several columns are listed.
func TestListsTakeFewSteps(t *testing.T) {
	cat, conn := shop(t), connect(t)
	for key, most := range map[string]int64{
		"floor(total * (1 - discount) / 10) * 10":    100_000,
		"round(total * qty / 1000) * 1000":           150_000,
		"least(floor((total + age) / 50) * 50, 200)": 100_000,
		"round(total / qty, -2)":                     400_000,
	} {
		q := analyzed(t, cat, "SELECT "+key+", count(*) FROM orders GROUP BY 1")
		m := work.New(t.Context(), work.Most)
		if _, err := q.Lists(m, evaluate(t, conn, q, nil, nil)[:len(q.Folds())]); err != nil {
			t.Fatal(err)
		}
		if m.Spent() > most {
			t.Errorf("%s is listed in %d steps, at most %d are wanted", key, m.Spent(), most)
		}
	}
}
