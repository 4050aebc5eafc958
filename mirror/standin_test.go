package mirror_test

import (
	"slices"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/internal/pgtemp"
	"dpproxy/mirror"
)

// foreignSchema has things that the server of a mirror need not have. The locale of "nowhere" is on
// no server.
const foreignSchema = `
CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION btree_gist;
CREATE SCHEMA names;
CREATE COLLATION names."Dütsch" (PROVIDER = icu, LOCALE = 'de-AT');
CREATE COLLATION caseless (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
CREATE COLLATION plain (LC_COLLATE = 'C.utf8', LC_CTYPE = 'C');
CREATE COLLATION nowhere (LOCALE = 'C.utf8');
UPDATE pg_collation SET collcollate = 'xx_XX', collctype = 'xx_XX' WHERE collname = 'nowhere';
CREATE TYPE names.mood AS ENUM ('sad');
CREATE TYPE own;
CREATE FUNCTION own_in(cstring) RETURNS own LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION own_out(own) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE own (INPUT = own_in, OUTPUT = own_out);
CREATE FUNCTION compare(point, point) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 0';
CREATE OPERATOR CLASS points FOR TYPE point USING btree AS FUNCTION 1 compare(point, point);
CREATE TYPE way AS RANGE (SUBTYPE = point, SUBTYPE_OPCLASS = points);
CREATE DOMAIN nick AS citext;
CREATE TYPE pair AS (a citext, b int);
CREATE TEXT SEARCH CONFIGURATION english2 (COPY = english);
CREATE TABLE places (id int PRIMARY KEY, name text COLLATE names."Dütsch" UNIQUE, other text COLLATE caseless, ` +
	`third varchar(9) COLLATE plain, lost text COLLATE nowhere,
	word citext UNIQUE, tags hstore, mine own, nick nick, two pair, way way, ways way_multirange, words citext[], mood names.mood);
CREATE INDEX by_number ON places USING gist (id);
CREATE INDEX by_tags ON places USING gist (tags);
CREATE INDEX by_mood ON places (mood);
CREATE INDEX by_search ON places USING gin (to_tsvector('public.english2', lost));
INSERT INTO places VALUES (1, 'Ä', 'a', 'b', 'c', 'Word', 'k=>v', 'own', 'Nick', '(A,1)', '["(1,2)","(1,2)"]', '{}', '{Ab,"c d"}', 'sad');
INSERT INTO places (id) VALUES (2), (3);
CREATE TABLE people (id int PRIMARY KEY, name text COLLATE caseless NOT NULL, place places, word citext REFERENCES places (word), ` +
	`back citext COLLATE names."Dütsch");
CREATE VIEW adults AS SELECT id, name, word FROM people WHERE word OPERATOR(public.=) 'x'::citext;`

func foreignPlan() mirror.Plan {
	return mirror.Plan{
		Protected: []mirror.Protected{{Name: name("people")}},
		Views:     []mirror.View{{Name: name("adults"), Shown: true}},
		Public:    []catalog.Name{name("places")},
		Analysts:  []mirror.Analyst{{Name: "ana", Password: "x", Tables: []catalog.Name{name("people"), name("adults")}}},
	}
}

// TestStandIns holds that a thing that the server of the mirror lacks is replaced or left out with
// a warning, and stops nothing.
func TestStandIns(t *testing.T) {
	s := startMirror(t)
	up := start(t)
	p := pair{connect(t, up.URL("postgres", pgtemp.Superuser)), connect(t, s.URL("postgres", pgtemp.Superuser)), s, "postgres"}
	run(t, p.upstream, as(t, up, foreignSchema))
	report := p.sync(t, foreignPlan())
	checkWarnings(t, report)
	checkCollations(t, p)
	const rows = "SELECT string_agg(p::text, ';' ORDER BY id) FROM places p"
	for query, want := range map[string]string{
		"SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' ORDER BY attnum) FROM pg_attribute a " +
			"WHERE attrelid = 'places'::regclass AND attnum > 5": "word text, tags text, mine text, nick nick, two pair, way way, " +
			"ways way_multirange, words text, mood names.mood",
		rows: value(t, p.upstream, rows),
		"SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY indexrelid::regclass::text) FROM pg_index " +
			"WHERE indrelid = 'places'::regclass": "by_mood places_name_key places_pkey",
		"SELECT count(*) FROM pg_constraint WHERE contype = 'f'": "0",
		"SELECT pg_get_viewdef('adults') LIKE '%dp.protected%'":  "true",
	} {
		query, want = strings.TrimPrefix(query, "SELECT "), as(t, up, want)
		if got := value(t, p.mirror, "SELECT "+query); got != want {
			t.Errorf("%s\nis   %s\nwant %s", query, got, want)
		}
	}
	ana := p.as(t, "ana")
	run(t, ana, `SELECT 'a' COLLATE names."Dütsch", 'sad'::names.mood`)
	for _, sql := range []string{"TABLE people", "TABLE adults"} {
		if got := state(t, ana, sql); got != "PB010" {
			t.Errorf("%s ended with %q", sql, got)
		}
	}
	if again := p.sync(t, foreignPlan()); len(again) != 0 {
		t.Errorf("a second run: %q", again)
	}
	run(t, p.mirror, "CREATE EXTENSION citext; CREATE EXTENSION hstore; CREATE EXTENSION btree_gist")
	if more := strings.Join(p.sync(t, foreignPlan()), "\n"); strings.Contains(more, "citext") ||
		!strings.Contains(more, "recreate table public.places") {
		t.Errorf("with the extensions:\n%s", more)
	}
	p.sync(t, mirror.Plan{})
	if got := value(t, p.mirror, "SELECT count(*) FROM pg_collation WHERE oid >= 16384"); got != "0" {
		t.Errorf("%s collations are left", got)
	}
}

func checkWarnings(t *testing.T, report []string) {
	var got []string
	for _, r := range report {
		if w, ok := strings.CutPrefix(r, mirror.Warning); ok {
			got = append(got, w)
		}
	}
	slices.Sort(got)
	want := []string{
		"collation public.nowhere: it sorts and compares as the mirror's database does, as the mirror cannot make it: " +
			"could not create locale \"xx_XX\": No such file or directory",
		"table public.people: column back is of type text, as the mirror has no type public.citext",
		"table public.people: column place is of type text, as the mirror has no type public.places",
		"table public.people: column word is of type text, as the mirror has no type public.citext",
		"table public.places: column mine is of type text, as the mirror has no type public.own",
		"table public.places: column tags is of type text, as the mirror has no type public.hstore",
		"table public.places: column word is of type text, as the mirror has no type public.citext",
		"table public.places: column words is of type text, as the mirror has no type public.citext[]",
		"table public.places: index by_number is left out, as the mirror cannot make it: " +
			"data type integer has no default operator class for access method \"gist\"",
		"type public.nick: what it is made of is of type text, as the mirror has no type public.citext",
		"type public.pair: column a is of type text, as the mirror has no type public.citext",
		"type public.way: it is a text, as the mirror cannot make it: " +
			"data type point has no default operator class for access method \"btree\"",
		"view public.adults: column word is of type text, as the mirror has no type public.citext",
		"view public.adults: its definition is not shown, as the mirror cannot make it: type \"public.citext\" does not exist",
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no warning %q", w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("warnings:\n%s", strings.Join(got, "\n"))
	}
}

// checkCollations compares them, the one that cannot be made aside.
func checkCollations(t *testing.T, p pair) {
	t.Helper()
	const made = `SELECT string_agg(format('%s %s %s %s', oid::regcollation, collprovider, collisdeterministic,
			coalesce(to_jsonb(l) ->> 'colllocale', to_jsonb(l) ->> 'colliculocale', collcollate)), ', ' ORDER BY collname)
		FROM pg_collation l WHERE oid >= 16384 AND collname <> 'nowhere'`
	const used = `SELECT string_agg(format('%s %s', attname, attcollation::regcollation), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = 'places'::regclass AND attnum BETWEEN 1 AND 5`
	for _, query := range []string{made, used} {
		if want, got := value(t, p.upstream, query), value(t, p.mirror, query); want != got {
			t.Errorf("%s\nupstream %s\nmirror   %s", query, want, got)
		}
	}
	if got := value(t, p.mirror, `SELECT 'B' COLLATE caseless = 'b'`); got != "true" {
		t.Errorf("caseless: %s", got)
	}
}
