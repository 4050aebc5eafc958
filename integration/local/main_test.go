package local_test

import (
	"testing"

	"dpproxy/internal/sitetest"
)

func TestMain(m *testing.M) { sitetest.Main(m) }

// schema has people of whom every third smokes, and one of whom next to nothing is known.
const schema = `
CREATE TABLE people (id int PRIMARY KEY, region text, smoker boolean, age int, sex smallint, bmi numeric, ward text, note text,
	district int GENERATED ALWAYS AS (1 + id % 12) STORED);
INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END, i % 3 = 0, 10 + i % 90, i % 2, 10 + i % 40,
	(ARRAY['a', 'b', 'c', 'd'])[1 + i % 4], 'nobody asks' FROM generate_series(1, 3000) AS i;
INSERT INTO people VALUES (3001, NULL, NULL, NULL, NULL, 'NaN', 'z', NULL);
CREATE TABLE visits (id int PRIMARY KEY, person int NOT NULL, cost int);
`

const policy = `
privacy_unit: {name: person, budget: {epsilon: 3}}
tables:
  visits: {unit: person}
  people:
    model: local
    key: id
    public: [region]
    local_budget: 4
    columns:
      smoker: {values: [false, true]}
      age: {bounds: [10, 100]}
      sex: {values: [0, 1]}
      bmi: {bounds: [10, 50]}
      ward: {values: [a, b, c, d]}
      district: {values: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}
analysts:
  ana: {password: VERIFIER, tables: [visits, people]}
  eve: {password: VERIFIER, tables: [visits]}
`
