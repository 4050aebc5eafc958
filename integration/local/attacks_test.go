package local_test

import (
	"testing"

	"dpproxy/internal/sitetest"
)

// few has the table people of schema with nine objects, of which one has the private values of a world.
const few = `
CREATE TABLE people (id int PRIMARY KEY, region text, smoker boolean, age int, sex smallint, bmi numeric, ward text, note text,
	district int);
INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'north' ELSE 'south' END, i % 3 = 0, 10 + i, i % 2, 10 + i,
	(ARRAY['a', 'b', 'c', 'd'])[1 + i % 4], 'nobody asks', i FROM generate_series(1, 9) AS i;
CREATE TABLE visits (id int PRIMARY KEY, person int NOT NULL, cost int);
`

// TestAttacks plays testdata/attacks in worlds that differ in the private values of one object, some of them such that something could
// fail. Nothing that is printed differs, since it has no answers; and a survey that was refused, or failed, has asked nobody.
func TestAttacks(t *testing.T) {
	const file = "testdata/attacks"
	for name, values := range map[string]string{
		"unknown": "smoker = NULL, age = NULL, sex = NULL, bmi = NULL, ward = NULL, note = NULL, district = NULL",
		"far out": "age = -2147483648, sex = 32767, bmi = 1e-16000, ward = repeat('x', 100000), note = '', district = -1",
	} {
		t.Run(name, func(t *testing.T) {
			schema := few + "UPDATE people SET " + values + " WHERE id = 3;"
			s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: schema, Policy: policy})
			golden(t, file, play(t, s.Run(t), file))
		})
	}
}
