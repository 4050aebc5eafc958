package plannertest

import (
	"testing"

	"dpproxy/catalog"
	"dpproxy/planner/policy"
)

// EventTables is SQL. Events have values that are equal and look different wherever a type lets them: beyond
// the bounds of a column, which are written without decimals in the policy, and of other scales.
const EventTables = `
CREATE DOMAIN price AS numeric(10,2);
CREATE TABLE events (id int PRIMARY KEY, uid int NOT NULL, a numeric(10,2), b numeric(10,2), c numeric(10,3), p price,
  z numeric, h numeric(6,0),
  s char(3), w char(5), t text, v varchar(4), n int, m int, big bigint, day date, at timestamptz, f float8);
INSERT INTO events SELECT g, g % 40, CASE WHEN g % 3 > 0 THEN g % 9 END, CASE WHEN g % 4 > 0 THEN g % 8 END,
  CASE WHEN g % 5 > 0 THEN g % 7 END, g % 11,
  CASE g % 3 WHEN 0 THEN 6 WHEN 1 THEN 6.0 ELSE g % 8 END, g % 12, (ARRAY['a','b','6'])[g % 3 + 1],
  (ARRAY['a','b ','6'])[g % 3 + 1], (ARRAY['a','6','6.00'])[g % 3 + 1], 'v' || g % 3,
  CASE WHEN g % 6 > 0 THEN g % 13 END, g % 9, CASE WHEN g % 2 > 0 THEN 9223372036854775807 - g % 3 END,
  date '2023-12-29' + g % 6, timestamptz '2023-12-31 12:00+00' + g % 30 * interval '1 hour',
  (ARRAY['-0','0','6','NaN'])[g % 4 + 1]::float8 FROM generate_series(1, 3000) g;
CREATE TABLE tags (u bpchar NOT NULL, x int NOT NULL);
CREATE TABLE narrow (u char(3) NOT NULL, x int NOT NULL);
INSERT INTO tags SELECT CASE WHEN g % 2 = 0 THEN bpchar 'p' ELSE bpchar 'p ' END, g FROM generate_series(1, 6) g;
INSERT INTO tags SELECT 'q' || g, g FROM generate_series(1, 60) g;
INSERT INTO narrow SELECT CASE WHEN g < 4 THEN 'p' ELSE 'q' || g END, g FROM generate_series(1, 60) g;`

// scaled is a numeric.
func scaled(precision, scale int32) catalog.TypeRef {
	return Builtin("numeric", "numeric", 1700, (precision<<16|scale)+4)
}

// char is a character(n).
func char(n int32) catalog.TypeRef { return Builtin("bpchar", "character", 1042, n+4) }

// Tags is the model of tables whose unit is a text with blanks behind it, as many as a
// row likes, or as its type says.
func Tags(t *testing.T) *policy.Model {
	t.Helper()
	tables := map[catalog.Name]*catalog.Table{
		Name("tags"): {
			Name: Name("tags"), Kind: 'r',
			Columns: []catalog.Column{Column("u", Builtin("bpchar", "bpchar", 1042, -1), true), Column("x", Int4, true)},
		},
		Name("narrow"): {Name: Name("narrow"), Kind: 'r', Columns: []catalog.Column{Column("u", char(3), true), Column("x", Int4, true)}},
	}
	return CheckedBy(t, policy.Policy{Unit: "person", Tables: []policy.TablePolicy{
		{Name: Name("tags"), UnitColumn: "u", MaxRows: 10, MaxPartitions: 3},
		{Name: Name("narrow"), UnitColumn: "u", MaxRows: 10, MaxPartitions: 3},
	}}, &catalog.Schema{ServerVersion: ServedVersion, Tables: tables})
}

// Events is the model of the other tables.
func Events(t *testing.T) *policy.Model {
	t.Helper()
	price := scaled(10, 2)
	price.Name, price.Kind, price.OID, price.Mod = Name("price"), 'd', 20003, -1
	s := &catalog.Schema{ServerVersion: ServedVersion, TimeZones: map[string]bool{"etc/utc": true}}
	s.Tables = map[catalog.Name]*catalog.Table{
		Name("events"): {Name: Name("events"), Kind: 'r', Keys: Primary(), Columns: []catalog.Column{
			Column("id", Int4, true), Column("uid", Int4, true), Column("a", scaled(10, 2), false),
			Column("b", scaled(10, 2), false), Column("c", scaled(10, 3), false),
			Column("p", price, false), Column("z", Numeric, false), Column("h", scaled(6, 0), false),
			Column("s", char(3), false), Column("w", char(5), false),
			Column("t", Text, false), Column("v", Builtin("varchar", "character varying", 1043, 8), false),
			Column("n", Int4, false), Column("m", Int4, false), Column("big", Bigint, false),
			Column("day", Date, false), Column("at", instant, false), Column("f", Float8, false),
		}},
	}
	return CheckedBy(t, policy.Policy{Unit: "person", Tables: []policy.TablePolicy{
		{Name: Name("events"), UnitColumn: "uid", MaxRows: 100, MaxPartitions: 3, Columns: map[string]policy.ColumnPolicy{
			"a": Bounds("1", "6"), "b": Bounds("0", "6"), "c": Bounds("0", "6"), "p": Bounds("0", "6"), "z": Bounds("0", "6"),
			"h": Bounds("0.5", "6.5"),
			"n": Bounds("1", "6"), "m": Bounds("0", "6"), "big": Bounds("0", "9223372036854775807"),
			"day": Bounds("2023-12-30", "2024-01-01"), "at": Bounds("2023-12-31", "2024-01-01"), "f": Bounds("0", "6"),
		}},
	}}, s)
}

// Settled are expressions over events whose equal values are identical in a derived table.
var Settled = []string{
	"a", "p", "h", "coalesce(a, b)", "greatest(a, b)", "least(a, b)", "nullif(a, b)",
	"greatest(a, CAST(6 AS numeric(10,2)))", "coalesce(a, CAST(6 AS numeric(10,2)))",
	"CASE WHEN n > 3 THEN a ELSE b END", "CASE m WHEN 3 THEN a WHEN 4 THEN CAST(6 AS numeric(10,2)) ELSE b END",
	"coalesce(nullif(a, b), greatest(a, b))", "coalesce(p, a)", "nullif(p, CAST(3 AS numeric(10,2)))",
	"coalesce(h, CAST(1 AS numeric(6,0)))", "CAST(z AS numeric(10,2))", "CAST(n AS numeric(10,2))",
	"CAST(coalesce(z, n) AS numeric(8,3))", "coalesce(CAST(z AS numeric(10,2)), a)",
	"CASE WHEN n > 3 THEN CAST(n AS numeric(10,2)) ELSE a END", "CAST(coalesce(a, b) * 2 AS numeric(8,2))",
	"CAST(c AS numeric(9,2))",
	"s", "w", "coalesce(s, CAST('6' AS char(3)))", "nullif(s, w)", "CASE WHEN n > 3 THEN s ELSE CAST('6' AS char(3)) END",
	"CAST(t AS char(5))", "CAST(coalesce(s, w) AS char)", "greatest(w, CAST('6' AS char(5)))",
	"t", "v", "coalesce(t, v)", "CAST(a AS text)", "CAST(z AS text)", "CAST(greatest(a, b) AS text)",
	"CAST(CAST(n AS numeric(10,2)) AS text)", "coalesce(v, CAST(s AS varchar))",
	"n", "coalesce(n, m)", "n + m", "big + big", "coalesce(big + big, n)", "CASE WHEN n > 3 THEN big + 1 ELSE n END",
	"nullif(n, m)", "greatest(n, 3)", "a > 5",
	"day", "coalesce(day, DATE '2023-12-31')", "greatest(day, DATE '2023-12-31')", "nullif(day, DATE '2023-12-31')",
	"least(at, TIMESTAMPTZ '2023-12-31 18:00+00')", "coalesce(at, day)", "CASE WHEN n > 3 THEN at END",
	"date_trunc('day', day)",
}
