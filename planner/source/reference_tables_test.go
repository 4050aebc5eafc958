package source_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/catalog"
	"dpproxy/pgerr"
	"dpproxy/planner/policy"
)

// In the shop with deliveries, rows refer to those of reference tables, which several customers share: a delivery to the address where it
// goes, to the one where it comes back, as the policy alone says, and to a counter, whose key has two columns; a parcel, which belongs to a
// delivery, to an address; an address to a city, and to another address.
func sentShop(t *testing.T, s *catalog.Schema, deliveries ...policy.Nobody) *policy.Model {
	t.Helper()
	key := func(columns ...string) []catalog.Key {
		return []catalog.Key{{Name: "key", Columns: columns, Primary: true}}
	}
	refers := func(table string, columns []string, target ...string) catalog.ForeignKey {
		return catalog.ForeignKey{Name: columns[0] + "_fkey", Columns: columns, References: name(table), Target: target}
	}
	for _, of := range []*catalog.Table{
		{Name: name("deliveries"), Kind: 'r', Keys: key("id"), Columns: []catalog.Column{
			column("id", int4, true), column("customer_id", int4, false), column("address_id", int4, false),
			column("back_id", bigint, true),
			column("store", text, false), column("till", int4, true), column("weight", int4, true),
		}, Foreign: []catalog.ForeignKey{
			refers("addresses", []string{"address_id"}, "id"), refers("counters", []string{"till", "store"}, "till", "store"),
			refers("pairs", []string{"weight", "weight"}, "low", "high"),
		}},
		{Name: name("parcels"), Kind: 'r', Keys: key("id"), Columns: []catalog.Column{
			column("id", int4, true), column("delivery_id", int4, true), column("address_id", int4, true), column("size", int4, true),
		}, Foreign: []catalog.ForeignKey{
			refers("deliveries", []string{"delivery_id"}, "id"), refers("addresses", []string{"address_id"}, "id"),
		}},
		{Name: name("addresses"), Kind: 'r', Keys: key("id"), Columns: []catalog.Column{
			column("id", int4, true), column("city_id", int4, false), column("near_id", int4, false), column("kind", text, true),
			column("floor", int4, true), column("code", int4, true),
		}, Foreign: []catalog.ForeignKey{refers("cities", []string{"city_id"}, "id"), refers("addresses", []string{"near_id"}, "id")}},
		{Name: name("cities"), Kind: 'r', Keys: key("id"), Columns: []catalog.Column{
			column("id", int4, true), column("country", text, true), column("part_id", int4, true),
		}, Foreign: []catalog.ForeignKey{refers("parts", []string{"part_id"}, "id")}},
		{Name: name("counters"), Kind: 'r', Keys: key("store", "till"), Columns: []catalog.Column{
			column("store", text, true), column("till", int4, true), column("height", int4, true),
		}},
		{Name: name("pairs"), Kind: 'r', Keys: key("low", "high"), Columns: []catalog.Column{
			column("low", int4, true), column("high", int4, true), column("height", int4, true),
		}},
	} {
		s.Tables[of.Name] = of
	}
	p := shopPolicy(4)
	p.Tables = append(p.Tables,
		policy.TablePolicy{
			Name: name("deliveries"), UnitColumn: "customer_id", MaxRows: 10, Nobody: append(deliveries, "")[0],
			Refers: []policy.ReferencePolicy{{From: []string{"back_id"}, To: policy.ColumnName{Table: name("addresses"), Column: "id"}}},
		},
		policy.TablePolicy{
			Name: name("parcels"), Via: "delivery_id", To: policy.ColumnName{Table: name("deliveries"), Column: "id"}, MaxRows: 10,
		},
		policy.TablePolicy{Name: name("addresses"), Reference: true},
		policy.TablePolicy{Name: name("cities"), Reference: true},
		policy.TablePolicy{Name: name("counters"), Reference: true},
		policy.TablePolicy{Name: name("pairs"), Reference: true})
	return checkedShop(t, p, s)
}

// Many deliveries of different customers go to the same address; some addresses are nobody's, those where things come back may be missing,
// and so may counters. The columns of an address have values of its key.
const sentRows = `
CREATE TABLE cities (id int PRIMARY KEY, country text NOT NULL, part_id int NOT NULL);
CREATE TABLE addresses (id int PRIMARY KEY, city_id int, near_id int, kind text NOT NULL, floor int NOT NULL, code int NOT NULL);
CREATE TABLE counters (store text, till int, height int NOT NULL, PRIMARY KEY (store, till));
CREATE TABLE pairs (low int, high int, height int NOT NULL, PRIMARY KEY (low, high));
INSERT INTO pairs SELECT l, h, l * h FROM generate_series(0, 5) l, generate_series(0, 5) h;
CREATE TABLE deliveries (id int PRIMARY KEY, customer_id int, address_id int, back_id bigint NOT NULL, store text, till int NOT NULL,
  weight int NOT NULL);
CREATE TABLE parcels (id int PRIMARY KEY, delivery_id int NOT NULL, address_id int NOT NULL, size int NOT NULL);
INSERT INTO cities SELECT g, (ARRAY['fr','de','it'])[g % 3 + 1], g FROM generate_series(1, 6) g;
INSERT INTO addresses SELECT g, CASE WHEN g % 4 > 0 THEN g % 6 + 1 END, CASE WHEN g % 3 > 0 THEN g * 5 % 30 + 1 END,
  (ARRAY['home','work'])[g % 2 + 1], g % 5, g * 7 % 12 + 1 FROM generate_series(1, 30) g;
INSERT INTO counters SELECT (ARRAY['a','b'])[g % 2 + 1], g / 2, g % 4 FROM generate_series(2, 17) g;
INSERT INTO deliveries SELECT g, CASE WHEN g % 11 > 0 THEN g % 13 + 1 END,
  CASE WHEN g % 5 > 0 THEN CASE WHEN g % 2 = 0 THEN g % 7 + 1 ELSE g % 13 + 9 END END, g % 26 + 6,
  CASE WHEN g % 6 > 0 THEN (ARRAY['a','b'])[g % 2 + 1] END,
  g % 10, g % 5 FROM generate_series(1, 70) g;
INSERT INTO parcels SELECT g, g % 75 + 1, g % 22 + 1, g % 4 FROM generate_series(1, 90) g;
ANALYZE cities, addresses, counters, pairs, deliveries, parcels;`

// removalOfSent deletes all rows of a customer, and those of reference tables that no others refer to.
func removalOfSent(id string) string {
	return `DELETE FROM parcels WHERE delivery_id IN (SELECT id FROM deliveries WHERE customer_id = ` + id + `);
		DELETE FROM deliveries WHERE customer_id = ` + id + `;` + removal(id) + `;
		DELETE FROM addresses a WHERE NOT EXISTS (SELECT FROM deliveries d WHERE a.id IN (d.address_id, d.back_id)
				AND customer_id IS NOT NULL)
			AND NOT EXISTS (SELECT FROM parcels p JOIN deliveries d ON d.id = p.delivery_id
				WHERE p.address_id = a.id AND d.customer_id IS NOT NULL)
			AND NOT EXISTS (SELECT FROM addresses b WHERE b.near_id = a.id);
		DELETE FROM cities c WHERE NOT EXISTS (SELECT FROM addresses a WHERE a.city_id = c.id);
		DELETE FROM counters c WHERE NOT EXISTS (
			SELECT FROM deliveries d WHERE d.store = c.store AND d.till = c.till AND customer_id IS NOT NULL)`
}

func sentServer(t *testing.T) *pgx.Conn {
	t.Helper()
	conn := shopServer(t)
	run(t, conn.PgConn(), sentRows)
	return conn
}

// TestSourcesOfLookups draws statements that look up rows of reference tables, and those that are refused.
func TestSourcesOfLookups(t *testing.T) {
	s := shopSchema()
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000}
	drawSources(t, sentShop(t, s), "testdata/reference_tables")
}

// TestOwnershipOfLookups is TestOwnership of statements over reference tables: without a customer, and without the rows that only he refers
// to, the rows of all others stay as they are.
func TestOwnershipOfLookups(t *testing.T) {
	conn := sentServer(t)
	golden := goldenSources(t, "testdata/reference_tables")
	units := map[string]string{}
	for _, id := range []string{"1", "2", "3", "7", "8", "13"} {
		units[id] = removalOfSent(id)
	}
	random := slices.Concat(lookingUp(700), randomOver(200, "deliveries", "deliveries", "parcels", "addresses", "addresses", "cities"))
	read := shopOwnership{conn, sentShop(t, filledSchema(t, conn)), units}.test(t, slices.Concat(golden, random))
	looked := slices.DeleteFunc(slices.Clone(read), func(st readStatement) bool {
		return !strings.Contains(st.source.From+st.source.Where, "addresses") || slices.Contains(golden, st.sql)
	})
	if t.Logf("%d random statements look up addresses", len(looked)); len(looked) < 100 {
		t.Errorf("only %d random statements look up addresses", len(looked))
	}
	for _, sql := range golden {
		if !slices.ContainsFunc(read, func(st readStatement) bool { return st.sql == sql }) {
			t.Errorf("refused: %s", sql)
		}
	}
}

// lookingUp makes statements that look up rows, some of them by something else than a key, or by half of one.
func lookingUp(n int) (all []string) {
	m := &sourceMaker{Rand: rand.New(rand.NewChaCha8([32]byte{8}))}
	for range n {
		from := m.pick("deliveries d", "deliveries d JOIN parcels p ON p.delivery_id = d.id",
			"parcels p LEFT JOIN deliveries d ON p.delivery_id = d.id",
			"(SELECT customer_id, address_id, max(back_id) AS back_id, count(*) AS weight FROM deliveries GROUP BY 1, 2) d",
			"(SELECT customer_id, min(address_id) AS address_id, 1 AS weight FROM deliveries GROUP BY 1) d",
			"(SELECT DISTINCT customer_id, address_id, weight FROM deliveries) d",
			"customers c LEFT JOIN deliveries d ON d.customer_id = c.id")
		fits := []string{"d.address_id"}
		switch {
		case strings.Contains(from, "parcels"):
			fits = append(fits, "p.address_id", "d.back_id")
		case strings.Contains(from, "deliveries d"):
			fits = append(fits, "d.back_id")
		}
		by := func() string {
			if m.IntN(5) > 0 {
				return m.pick(fits...)
			}
			return m.pick("d.weight", "7", "CASE WHEN d.weight > 2 THEN d.address_id ELSE 7 END", "d.address_id + 1", "a0.code",
				"a0.near_id")
		}
		counted := []string{"count(*)"}
		for i := range m.IntN(3) {
			a := "a" + strconv.Itoa(i)
			key, table := a+".id", m.pick("addresses ", "addresses ", "(SELECT * FROM addresses WHERE floor > 1) ",
				"(SELECT floor, code, kind, id, near_id, city_id FROM (SELECT * FROM addresses) z) ")
			from += m.pick(" JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ") + table + a + " ON " +
				m.pick(key, key, key, key, key, key, a+".code") + " = " + by() +
				m.pick("", "", " AND "+a+".kind = 'home'", " AND "+a+".floor > d.weight")
			counted = append(counted, "count("+a+".floor)")
			if m.IntN(3) == 0 {
				from += m.pick(" JOIN ", " LEFT JOIN ") + "cities c" + a + " ON c" + a + ".id = " +
					m.pick(a+".city_id", a+".city_id", a+".city_id", "d.weight", "d.address_id")
				counted = append(counted, "count(c"+a+".country)")
			}
		}
		if m.IntN(5) == 0 && len(fits) > 1 {
			from += m.pick(" JOIN", " LEFT JOIN") + " counters k ON k.till = " + m.pick("d.till", "d.till", "d.weight") +
				m.pick(" AND k.store = d.store", "", " AND k.store = 'a'")
			counted = append(counted, "count(k.height)")
		}
		sql := "SELECT " + strings.Join(counted, ", ") + " FROM " + from
		if m.IntN(2) == 0 {
			sql += " WHERE " + m.pick("", "", "NOT ") + m.pick(
				"EXISTS (SELECT 1 FROM addresses x WHERE x.id = "+by()+" AND x.floor > 1)",
				"EXISTS (SELECT 1 FROM addresses x WHERE x.id = "+by()+" AND x.floor > d.weight)",
				"EXISTS (SELECT 1 FROM addresses x JOIN cities y ON y.id = x.city_id WHERE x.id = "+by()+" AND y.country = 'fr')",
				"EXISTS (SELECT 1 FROM addresses x LEFT JOIN cities y ON y.id = x.city_id WHERE x.id = "+by()+" AND y.id IS NULL)",
				by()+" IN (SELECT x.id FROM addresses x WHERE x.kind = 'home')",
				by()+" IN (SELECT x.id FROM addresses x WHERE x.city_id IN (SELECT y.id FROM cities y WHERE y.country = 'fr'))",
				by()+" IN (SELECT x.code FROM addresses x WHERE x.kind = 'home')",
				"(SELECT x.kind FROM addresses x WHERE x.id = "+by()+") = 'home'",
				"EXISTS (SELECT 1 FROM counters x WHERE x.till = d.till AND x.store = "+m.pick("d.store", "'b'")+")",
			)
		}
		all = append(all, sql)
	}
	return all
}

// TestOwnershipOfLookupsByNobody is the same where deliveries without a customer count, each for itself, and look up addresses.
func TestOwnershipOfLookupsByNobody(t *testing.T) {
	conn := sentServer(t)
	units := map[string]string{}
	for _, id := range []int{11, 22, 33} {
		units[fmt.Sprintf(`n"public"."deliveries":01%08x`, id)] = fmt.Sprintf(`DELETE FROM parcels WHERE delivery_id = %[1]d;
			DELETE FROM deliveries WHERE id = %[1]d; DELETE FROM addresses a
			WHERE NOT EXISTS (SELECT FROM addresses b WHERE b.near_id = a.id)
			AND NOT EXISTS (SELECT FROM deliveries d WHERE a.id IN (d.address_id, d.back_id))
			AND NOT EXISTS (SELECT FROM parcels p WHERE p.address_id = a.id)`, id)
	}
	read := shopOwnership{conn, sentShop(t, filledSchema(t, conn), policy.NobodyRows), units}.test(t, lookingUp(150))
	of := slices.DeleteFunc(read, func(st readStatement) bool {
		return !slices.ContainsFunc(st.rows, func(r shopRow) bool { return units[r.unit()] != "" })
	})
	if t.Logf("%d statements have rows of nobody", len(of)); len(of) < 10 {
		t.Errorf("only %d statements have rows of nobody", len(of))
	}
}

// TestMeaningOfLookups compares what is counted with what the client's own statement counts, where every delivery is somebody's.
func TestMeaningOfLookups(t *testing.T) {
	conn := sentServer(t)
	run(t, conn.PgConn(), tidyRows+`DELETE FROM deliveries WHERE customer_id IS NULL OR customer_id > 12;
		DELETE FROM parcels WHERE delivery_id NOT IN (SELECT id FROM deliveries) OR size = 0 OR id > 40`)
	cat := sentShop(t, filledSchema(t, conn))
	statements := slices.DeleteFunc(slices.Concat(goldenSources(t, "testdata/reference_tables"), lookingUp(300)), func(sql string) bool {
		return strings.HasSuffix(sql, "GROUP BY 1")
	})
	sourceMeaning(t, conn, cat, statements, 80)
}

// TestOneColumnOfTwoKeys: a column that refers to both columns of a key looks a row up by both, as Postgres checks the foreign key.
func TestOneColumnOfTwoKeys(t *testing.T) {
	cat, conn := sentShop(t, shopSchema()), emptyServer(t)
	for on, accepted := range map[string]bool{
		"p.low = d.weight":                           false,
		"p.high = d.weight":                          false,
		"p.low = d.weight AND p.high = d.till":       false,
		"p.low = d.weight AND p.high = d.weight":     true,
		"p.low = d.weight AND p.high = p.low":        true,
		"p.low = d.weight AND p.low BETWEEN 1 AND 2": false,
	} {
		_, _, err := readShop(t, conn, cat, "SELECT count(p.height) FROM deliveries d JOIN pairs p ON "+on)
		if accepted != (err == nil) {
			t.Errorf("%s: %v", on, err)
		}
	}
}

// TestUnlookedIsRefused holds that whatever is no look-up by a whole key is refused, by name, with a place and what to do.
func TestUnlookedIsRefused(t *testing.T) {
	s := shopSchema()
	s.PublicRows = map[catalog.Name]int64{name("parts"): 2000}
	cat := sentShop(t, s)
	conn := emptyServer(t)
	for _, sql := range []string{
		"SELECT count(*) FROM addresses a",
		"SELECT count(*) FROM deliveries d, addresses a",
		"SELECT count(*) FROM deliveries d JOIN addresses a ON a.id = 7",
		"SELECT count(*) FROM deliveries d JOIN addresses a ON a.kind = 'home' AND a.id IN (1, 2)",
	} {
		_, _, err := readShop(t, conn, cat, sql)
		refusal, ok := errors.AsType[*pgerr.Error](err)
		if !ok || refusal.Code != pgerr.Ownership || !strings.Contains(refusal.Message, "reference table") ||
			!strings.Contains(refusal.Hint, "d.address_id") && !strings.Contains(refusal.Hint, "deliveries.address_id") {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
