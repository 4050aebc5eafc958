package sqlgen

// DenseDDL makes a database for statements around release blocks. Every combination of
// the grouping columns of people has rows, each of another person, and all values are
// within their bounds: without noise an aggregate is Postgres's own. Public is the table
// places.
const DenseDDL = `
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN tier AS varchar(10);
CREATE TABLE places (place int PRIMARY KEY, zone varchar(8) NOT NULL, label text COLLATE "C", size numeric(8,2), opened date, best mood);
INSERT INTO places SELECT g, 'zone ' || g % 3, CASE WHEN g <> 2 THEN 'Place ' || g END, g * 1.25, date '2020-02-28' + g, 'ok'
FROM generate_series(1, 4) g;
CREATE TABLE people (id int PRIMARY KEY, sex char(1) NOT NULL, region varchar(10) NOT NULL, "Größe" text COLLATE "C" NOT NULL,
	mood mood NOT NULL, smoker bool NOT NULL, tier tier NOT NULL, place int NOT NULL REFERENCES places, n int NOT NULL, note text);
INSERT INTO people SELECT row_number() OVER (), s, r, b, m::mood, k, t, p, 1 + (ascii(s) + ascii(r) + p * length(m) + i) % 4,
	CASE WHEN (p + i) % 3 > 0 THEN 'note' END
FROM unnest('{f,m}'::text[]) s, unnest('{east,north,"south''s"}'::text[]) r, unnest('{Klein,groß}'::text[]) b,
	unnest('{sad,ok,happy}'::text[]) m, unnest('{t,f}'::bool[]) k, unnest('{gold,tin}'::text[]) t, generate_series(1, 4) p,
	generate_series(1, 2) i;
ANALYZE;`

// DensePolicy protects people; it is the tables of a policy.
const DensePolicy = `
tables:
  people:
    unit: id
    columns:
      sex: {values: [f, m]}
      region: {values: [east, north, "south's"]}
      Größe: {values: [Klein, groß]}
      mood: {values: enum}
      tier: {values: [gold, tin]}
      n: {bounds: [0, 4]}
  places: {public: true}
`
