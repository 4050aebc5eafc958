package splicing_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/sitetest"
	"dpproxy/mirror"
	"dpproxy/pgerr"
)

// keyed is a database with a public table of keys of every type, with values that some
// setting shows differently, and with the same values declared of columns of people.
var keyed = database{
	ddl: `
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN rank AS int NOT NULL CHECK (VALUE >= 0);
CREATE DOMAIN tier AS varchar(6);
CREATE DOMAIN price AS numeric(8,2);
CREATE DOMAIN instant AS timestamptz(3) NOT NULL;
CREATE DOMAIN ratio AS float4;
CREATE TABLE kinds (kind int PRIMARY KEY, i2 int2, i8 int8, num numeric, dec numeric(10,2), f4 float4, f8 float8,
	txt text, c text COLLATE "C", vc varchar(5), ch char(5), b bool, d date, ts timestamp, ts0 timestamp(0),
	tz timestamptz, tz3 timestamptz(3) NOT NULL, at time, atz timetz,
	iv interval, u uuid, raw bytea, mood mood, rank rank, tier tier, price price, moment instant, ratio ratio, list int[],
	mixed numeric, half float4);
INSERT INTO kinds VALUES
(1, 1, 9007199254740993, 1.50, 1.5, 0.1, 0.1, 'a', 'a', 'a', 'a', true, '2024-02-03', '2024-02-03 04:05:06.789',
  '2024-02-03 04:05:06', '2024-02-03 04:05:06.789+00', '2024-02-03 23:30:00+00', '04:05:06.789', '04:05:06+02',
	'1 day', '00000000-0000-0000-0000-000000000001', '\x01', 'sad', 1, 'gold', 1.5, '2024-02-03 22:30:00+00', 0.1, '{1}', 2, 0),
(2, -2, -9223372036854775808, 123456789012345678901234567890.123456789, -0.01, 16777217, 0.30000000000000004,
  ' a "\,{} NULL', 'NULL', 'NULL', '', false, '0044-03-15 BC', '0044-03-15 12:00 BC', '9999-12-31 00:00:00',
  '0044-03-15 12:00:00+00 BC', '2024-03-31 00:30:00+00', '24:00', '24:00:00-08',
	'24:00:00', '00000000-0000-0000-0000-0000000000ff', '\x00', 'ok', 2, 'NULL', 0, '2024-03-31 01:30:00+00',
	3.4028235e38, '{NULL}', 2.00, '-0'),
(3, 3, 0, 'NaN', 0, '-0', '-0', '', '', '', '  x', NULL, 'infinity', '-infinity', 'infinity', 'infinity',
  '2024-10-27 00:30:00+00', '00:00', '00:00:00+00',
	'-1 mon', NULL, '', NULL, 0, '', -1.25, '2024-10-27 00:30:00+00', 1e-45, '{}', 2.0, 0),
(4, 4, 1, 0.000, 99999999.99, 'NaN', 'NaN', 'ß', 'ß', 'ß', 'ß', NULL, '12345-06-07', '12345-06-07 01:02:03', NULL,
  '12345-06-07 01:02:03.4+00', '2024-10-27 01:30:00+00', '12:34:56.000001', NULL,
	'1 mon 2 days 03:04:05', NULL, NULL, NULL, 7, 'ß', 1, '2024-10-27 01:30:00+00', -1, NULL, NULL, 'NaN'),
(5, NULL, NULL, 1e-20, NULL, '-Infinity', 5e-324, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  '1999-12-31 23:59:59.999+00', NULL, NULL,
	NULL, NULL, NULL, NULL, 8, NULL, NULL, '1999-12-31 23:59:59.999+00', NULL, NULL, 7.5, NULL),
(6, 6, 6, 'Infinity', 6, 1e-45, 1.7976931348623157e308, 'x' || chr(10) || 'y', chr(9), E'\\', 'ab', true, '5874897-12-31',
  '294276-12-31 23:59:59.999999', '0001-01-01 00:00:00 BC', '4714-11-24 00:00:00+00 BC', '0044-03-15 12:00:00+00 BC',
  '23:59:59.999999', NULL,
	NULL, NULL, NULL, NULL, 9, 'six', 6, '2024-06-01 12:00:00+00', 6, NULL, 7.50, 0.5);
CREATE TABLE people (id int PRIMARY KEY, kind int NOT NULL REFERENCES kinds, mood mood NOT NULL, ch char(5),
  vc varchar(8) NOT NULL, b bool, d date NOT NULL, n int2 NOT NULL, rank rank, tier tier, tz timestamptz NOT NULL,
  day date NOT NULL, f4 float4, f8 float8);
INSERT INTO people SELECT g, 1 + g % 6, CASE g % 5 WHEN 0 THEN 'sad' ELSE 'ok' END::mood,
  CASE WHEN g % 7 > 1 THEN 'x ' END, 'v"' || g % 2, NULLIF(g % 3, 0) = 1,
	'2024-02-28'::date + g % 3, g % 4, g % 2, CASE WHEN g % 4 > 0 THEN 'gold' END,
	timestamptz '2024-03-30 22:30:00+00' + g % 3 * interval '1 hour',
	'2024-02-28'::date + g % 3, g % 3 * 0.1, g % 3 * 0.1 FROM generate_series(1, 96) g;
ALTER TABLE kinds ADD hundreds numeric(3,-2);
UPDATE kinds SET hundreds = NULLIF(kind, 2) * 1234.5;
ANALYZE;`,
	policy: `
tables:
  people:
    unit: id
    columns:
      mood: {values: enum}
      ch: {values: [x]}
      vc: {values: ['v"0', 'v"1']}
      d: {values: [2024-02-28, 2024-02-29, 2024-03-01]}
      n: {values: ["0", "1", "2", "3"]}
      rank: {values: ["0", "1"]}
      tier: {values: [gold]}
      tz: {bounds: [2024-03-30, 2024-04-04]}
      day: {bounds: [2024-02-28, 2024-03-01]}
  kinds:
    public: true
`,
	columns: map[string]mirror.Column{"mood": {AllLabels: true}},
	public:  []catalog.Name{{Schema: "public", Name: "kinds"}},
}

// sessionSettings may decide how a key is shown, and never which rows it has.
var sessionSettings = []string{
	"SET TimeZone = 'UTC'",
	"SET TimeZone = 'Europe/Vienna'; SET DateStyle = 'German'; SET extra_float_digits = 0; SET IntervalStyle = 'iso_8601'; " +
		"SET bytea_output = 'escape'",
	"SET TimeZone = 'America/St_Johns'; SET DateStyle = 'SQL, DMY'; SET extra_float_digits = -15; SET IntervalStyle = 'sql_standard'",
	"SET TimeZone = 'Asia/Kathmandu'; SET DateStyle = 'Postgres, MDY'; SET extra_float_digits = 3",
}

// keys are expressions by which people are grouped, in the select list and in GROUP BY where that
// differs.
var keys = []struct{ shown, by string }{
	{"k.kind", ""},
	{"k.i2", ""},
	{"k.i8", ""},
	{"k.num", ""},
	{"k.dec", ""},
	{"k.f4", ""},
	{"k.f8", ""},
	{"k.txt", ""},
	{"k.c", ""},
	{"k.vc", ""},
	{"k.ch", ""},
	{"k.b", ""},
	{"k.d", ""},
	{"k.ts", ""},
	{"k.ts0", ""},
	{"k.tz", ""},
	{"k.tz3", ""},
	{"k.at", ""},
	{"k.u", ""},
	{"k.mood", ""},
	{"k.rank", ""},
	{"k.tier", ""},
	{"k.price", ""},
	{"k.hundreds", ""},
	{"k.moment", ""},
	{"k.ratio", ""},
	{"k.kind, trim_scale(k.mixed)", "k.kind, k.mixed"},
	{"k.half + 0, k.f4", "k.half, k.f4"},
	{"upper(k.txt)", ""},
	{"k.num::text", ""},
	{"k.f4::float8", ""},
	{"k.ch::text", ""},
	{"k.i8::numeric", ""},
	{"CASE WHEN k.kind < 3 THEN k.tz END", ""},
	{"COALESCE(k.f4, 7)", ""},
	{"NULLIF(k.num, 1.5)", ""},
	{"k.f4 = 0.1::float4", ""},
	{"k.num, k.tz", ""},
	{"k.tz3, k.f4", "ROLLUP (k.tz3, k.f4)"},
	{"p.mood", ""},
	{"p.ch", ""},
	{"p.vc", ""},
	{"p.b", ""},
	{"p.d", ""},
	{"p.n", ""},
	{"p.rank", ""},
	{"p.tier", ""},
	{"p.day", ""},
	{"k.kind, p.tier", ""},
	{"k.f8, p.d", ""},
	{"p.n, k.f8", "p.n, ROLLUP (k.f8)"},
	{"k.tz, p.d", "CUBE (k.tz, p.d)"},
	{"p.day + 1", ""},
	{"p.day::timestamp", ""},
	{"p.day::timestamptz", ""},
	{"date_trunc('month', p.day)", ""},
	{"to_char(p.day, 'Mon DD')", ""},
	{"date_trunc('day', p.tz)", ""},
	{"p.tz::date", ""},
	{"extract(hour FROM p.tz)", ""},
	{"to_char(p.tz, 'HH24')", ""},
	{"p.tz", ""},
	{"p.f4", ""},
	{"p.f8", ""},
}

// neverKeys have values that are equal and look different, or are none that is compared.
var neverKeys = []string{"k.atz", "k.iv", "k.raw", "k.list"}

// joins are ways from people to their kinds.
var joins = []string{
	"people p JOIN kinds k ON p.kind = k.kind",
	"kinds k LEFT JOIN people p ON p.kind = k.kind",
	"people p JOIN (SELECT * FROM kinds WHERE kind > 0) k ON p.kind = k.kind",
	"people p LEFT JOIN kinds k ON p.kind = k.kind AND k.kind < 5",
}

// TestPublicKeys groups by keys of each type and wants the rows that Postgres gives, shown
// as Postgres shows them in the session.
func TestPublicKeys(t *testing.T) {
	peers := newPeers(t, keyed)
	for _, settings := range sessionSettings {
		mine, its := peers.sessions(t)
		sitetest.Exec(t, mine.conn, settings)
		sitetest.Exec(t, its.conn, settings)
		for _, k := range keys {
			for n, from := range joins {
				if n > 0 && strings.Contains(k.shown, "p.") {
					continue // only columns of a public table declare keys
				}
				sql := fmt.Sprintf("SELECT %s, count(p.id) FROM %s GROUP BY %s HAVING count(p.id) > 0", k.shown, from,
					cmp.Or(k.by, k.shown))
				for _, p := range []*peer{mine, its} {
					p.begin()
					if err := errors.Join(p.simple(t.Context(), sql, false), p.prepared(t.Context(), sql, nil, false)); err != nil {
						t.Fatal(err)
					}
				}
				if mine.failed != nil || !slices.Equal(mine.lines, its.lines) {
					t.Errorf("%s\n%s\nPostgres: %s\ndpproxy:  %s", settings, sql, excerpt(its, mine), excerpt(mine, its))
				}
			}
		}
	}
}

// TestNeverKeys refuses expressions that can be no key.
func TestNeverKeys(t *testing.T) {
	p, _ := newPeers(t, keyed).sessions(t)
	for _, k := range neverKeys {
		p.begin()
		if err := p.simple(t.Context(), "SELECT "+k+", count(*) FROM "+joins[0]+" GROUP BY 1", false); err != nil {
			t.Fatal(err)
		}
		if p.failed == nil || p.failed.Code != pgerr.PrivateGroupKey.String() {
			t.Errorf("%s: %v", k, p.failed)
		}
	}
}

// TestDomainsOfKeys makes tables of released keys and describes the results of set operations
// on them: a column keeps its domain, also where groups have NULL for a key and it takes none.
func TestDomainsOfKeys(t *testing.T) {
	mine, its := newPeers(t, keyed).sessions(t)
	for _, query := range []string{
		"SELECT p.rank, count(*) FROM people p GROUP BY p.rank HAVING count(*) > 0",
		"SELECT p.rank, count(*) FROM people p GROUP BY ROLLUP (p.rank) HAVING count(*) > 0",
		"SELECT p.rank, p.tier, count(*) FROM people p GROUP BY CUBE (p.rank, p.tier) HAVING count(*) > 0",
		"SELECT k.rank, k.moment, k.price, k.ratio, count(*) FROM people p JOIN kinds k ON p.kind = k.kind GROUP BY 1, 2, 3, 4",
		"SELECT rank, count(*) FROM (SELECT rank FROM people WHERE n > 0) p GROUP BY rank HAVING count(*) > 0",
		"SELECT p.rank, count(*) FROM people p GROUP BY 1 HAVING count(*) > 0 UNION ALL SELECT 7, 8",
		"SELECT p.rank, count(*) FROM people p GROUP BY 1 HAVING count(*) > 0 UNION ALL SELECT rank, kind FROM kinds WHERE kind < 3",
		"SELECT p.rank + 1 AS next, count(*) FROM people p GROUP BY p.rank HAVING count(*) > 0",
		"SELECT array_agg(rank ORDER BY rank) AS ranks, max(rank), min(tier) FROM (SELECT p.rank, p.tier, count(*) AS n " +
			"FROM people p GROUP BY 1, 2) q WHERE n > 0",
	} {
		for _, p := range []*peer{mine, its} {
			p.begin()
			err := errors.Join(p.simple(t.Context(), query, false), p.prepared(t.Context(), query, nil, false),
				p.steps(t.Context(), false, "BEGIN", "CREATE TEMP TABLE made AS "+query, "SELECT * FROM made",
					"SELECT attname, format_type(atttypid, atttypmod), attcollation FROM pg_attribute "+
						"WHERE attrelid = 'made'::regclass AND attnum > 0 ORDER BY attnum", "ROLLBACK"))
			if err != nil {
				t.Fatal(err)
			}
		}
		if mine.failed != nil || !slices.Equal(mine.lines, its.lines) {
			t.Errorf("%s\nPostgres: %s\ndpproxy:  %s", query, excerpt(its, mine), excerpt(mine, its))
		}
	}
}
