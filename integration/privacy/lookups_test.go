package privacy_test

import (
	"math"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// byLookup are statements that look up rows of the reference tables of the hotel: the room of a stay, by a key of two columns, and its
// house.
var byLookup = []string{
	"SELECT count(*) FROM stays s JOIN rooms r ON r.house_id = s.house_id AND r.number = s.room",
	"SELECT sum(r.floor) FROM rooms r, stays s WHERE (r.house_id, r.number) = (s.house_id, s.room) AND s.nights > 1",
	"SELECT count(*) FROM stays s LEFT JOIN rooms r ON r.house_id = s.house_id AND r.number = s.room WHERE r.floor IS NULL",
	"SELECT count(r.floor) FROM stays s LEFT JOIN rooms r ON r.house_id = s.house_id AND r.number = s.room AND r.floor > s.nights",
	"SELECT count(*) FROM stays s JOIN houses h ON h.id = s.house_id WHERE h.country = 'fr'",
	"SELECT count(*) FROM stays s JOIN rooms r ON r.house_id = s.house_id AND r.number = s.room JOIN houses h ON h.id = r.house_id " +
		"WHERE h.country = 'it' AND r.floor < 3",
	"SELECT count(*) FROM stays s WHERE EXISTS (SELECT 1 FROM rooms r WHERE r.house_id = s.house_id AND r.number = s.room AND r.floor > 2)",
	"SELECT count(*) FROM stays s WHERE NOT EXISTS (SELECT 1 FROM rooms r WHERE r.house_id = s.house_id AND r.number = s.room AND " +
		"r.floor > 2)",
	"SELECT count(*) FROM stays s JOIN homes h ON h.house = s.house_id WHERE h.country = 'fr'",
	"WITH h AS (SELECT id, country FROM houses WHERE country = 'it') SELECT count(*) FROM stays s LEFT JOIN h ON h.id = s.house_id " +
		"WHERE h.id IS NULL",
	"SELECT count(*) FROM stays s WHERE s.house_id IN (SELECT id FROM houses WHERE country = 'fr')",
	"SELECT count(*) FROM stays s WHERE s.house_id NOT IN (SELECT id FROM houses WHERE country = 'fr')",
	"SELECT count(*) FROM stays s WHERE (SELECT h.country FROM houses h WHERE h.id = s.house_id) = 'it'",
	"SELECT count(*) FROM meals m JOIN stays s ON s.id = m.stay_id AND s.guest_id = m.guest_id JOIN houses h ON h.id = s.house_id " +
		"WHERE h.country = 'it'",
	"SELECT count(*) FROM guests g WHERE EXISTS (SELECT 1 FROM stays s JOIN houses h ON h.id = s.house_id WHERE s.guest_id = g.id " +
		"AND h.country = 'fr')",
	"SELECT sum(n) FROM (SELECT h.country, count(*) AS n FROM stays s JOIN houses h ON h.id = s.house_id GROUP BY 1) x",
	"SELECT n FROM (SELECT h.country, count(*) AS n FROM stays s JOIN houses h ON h.id = s.house_id GROUP BY 1) x WHERE country = 'fr'",
}

// unlooked are statements that would tell rows of reference tables otherwise, each with what its refusal says.
var unlooked = [][2]string{
	{"SELECT * FROM rooms", `reference table "rooms" cannot be read`},
	{"TABLE houses", `reference table "houses" cannot be read`},
	{"SELECT count(*) FROM rooms", "only looked up"},
	{"SELECT count(*) FROM homes", "only looked up"},
	{"SELECT country FROM homes", "cannot be read"},
	{"SELECT count(*) FROM kept", "kept"},
	{"SELECT count(*) FROM stays s JOIN kept k ON k.house = s.house_id", "kept"},
	{"SELECT country, count(*) FROM houses GROUP BY 1", "only looked up"},
	{"SELECT count(*) FROM stays s JOIN houses h ON h.id = 3", "only looked up"},
	{"SELECT count(*) FROM stays s JOIN rooms r ON r.number = s.room", "only looked up"},
	{"SELECT count(*) FROM stays s JOIN houses h ON h.id = s.room", "only looked up"},
	{"SELECT count(*) FROM houses h LEFT JOIN stays s ON h.id = s.house_id", "only looked up"},
	{"SELECT count(*) FROM stays s WHERE EXISTS (SELECT 1 FROM houses h WHERE h.country = 'de')", "only looked up"},
	{"SELECT count(*) FROM guests g JOIN houses h ON h.head_id = g.id", "only looked up"},
	{"SELECT count(*) FROM stays s WHERE s.nights > (SELECT max(floor) FROM rooms)", "only looked up"},
	{"SELECT count(*) FROM stays s JOIN (SELECT country, max(id) AS id FROM houses GROUP BY 1) h ON h.id = s.house_id", "only looked up"},
	{"SELECT count(*) FROM towns t JOIN houses h ON h.id = t.house_id", "only looked up"},
	{"SELECT count(r.code) FROM stays s JOIN rooms r ON r.house_id = s.house_id AND r.number = s.room", "code"},
	{"COPY rooms TO STDOUT", `reference table "rooms" cannot be read`},
	{"INSERT INTO houses VALUES (99, 'de', 1)", ""},
	{"UPDATE rooms SET floor = 1", ""},
	{"DELETE FROM houses", ""},
	{"SELECT houses FROM houses", "cannot be read"},
	{"SELECT 1 WHERE EXISTS (SELECT FROM houses)", "cannot be read"},
	{"SELECT count(h) FROM stays s JOIN houses h ON h.id = s.house_id", "whole row"},
	{"SELECT count(*) FROM stays s JOIN houses h ON h.id = s.house_id WHERE to_jsonb(h)::text LIKE '%fr%'", "whole row"},
	{"SELECT h.ctid, count(*) FROM stays s JOIN houses h ON h.id = s.house_id GROUP BY 1", "ctid"},
	{"SELECT count(*) FROM stays s JOIN houses h ON h.id = s.house_id JOIN guests g ON g.id = h.head_id", "same guest"},
	{"EXPLAIN ANALYZE SELECT count(*) FROM stays s JOIN houses h ON h.id = s.house_id", "not allowed"},
	{"SELECT query_to_xml('TABLE houses', true, true, '')", "is protected"},
	{"DO 'BEGIN PERFORM count(*) FROM houses; END'", "is protected"},
}

// lookUps compares answers with the truth, and holds that reference tables are there for analysts as protected ones are: by their shape.
func lookUps(t *testing.T, s *sitetest.Site, ana *pgx.Conn, ask func(*pgx.Conn, string) float64, truth func(string) float64) {
	t.Helper()
	for _, sql := range byLookup {
		if got, want := ask(ana, sql), truth(sql); math.Abs(got-want) > 30+0.01*math.Abs(want) || want < 100 {
			t.Errorf("%s: %v, not %v", sql, got, want)
		}
	}
	for _, q := range unlooked {
		if _, err := ana.Exec(t.Context(), q[0], pgx.QueryExecModeSimpleProtocol); err == nil || !strings.Contains(err.Error(), q[1]) {
			t.Errorf("%s: %v", q[0], err)
		} else if strings.Contains(q[0], "kept") && strings.Contains(err.Error(), "houses") {
			t.Errorf("%s tells what the view reads: %v", q[0], err)
		}
	}
	for sql, want := range map[string]float64{
		"SELECT sum(reltuples + relpages) FROM pg_class WHERE relname IN ('rooms', 'houses')":                              -2,
		"SELECT count(*) FROM pg_stats WHERE tablename IN ('rooms', 'houses')":                                             0,
		"SELECT sum(house_id) FROM towns":                                                                                  21,
		"SELECT count(*) FROM information_schema.columns WHERE table_name = 'rooms'":                                       3,
		"SELECT count(*) FROM dp.tables WHERE name = 'houses' AND unit LIKE 'looked up by rooms.house_id, stays.house_id'": 1,
	} {
		if got := ask(ana, sql); got != want {
			t.Errorf("%s: %v, not %v", sql, got, want)
		}
	}
	s.Says(t, "reference tables: a row is protected as the rows of the one guest are who alone refers to it; one that rows of others "+
		"refer to as well is not: public.houses (looked up by rooms.house_id, stays.house_id), public.rooms (",
		"check", s.Policy, "--online")
	s.Says(t, "public.rooms\na reference table: its rows count as those that refer to them, by stays.(house_id, room)",
		"check", s.Policy, "--online", "--explain")
}
