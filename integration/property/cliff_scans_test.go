package property_test

import (
	"testing"

	"dpproxy/proxy/reader"
)

// A table with two indexes, of whose first column Postgres expects some rows where there are none: most are below, some
// above.
const scannedDDL = `CREATE TABLE visits (id int PRIMARY KEY, patient_id int NOT NULL, cost int NOT NULL, ward int NOT NULL, remark text);
INSERT INTO visits SELECT g, g % 500, CASE WHEN g % 100 = 0 THEN 900 + g % 7 ELSE g % 400 END, g % 3, repeat('x', 200)
  FROM generate_series(1, 60000) g;
CREATE INDEX ON visits (cost);
CREATE INDEX ON visits (ward);
ANALYZE;`

const scannedPolicy = `tables:
  visits: {unit: patient_id, max_rows: 5, max_partitions: 2, columns: {cost: {bounds: [0, 1000]}, ward: {bounds: [0, 5]}}}
`

// TestNoCliffOfScans holds that one row of an index does not have another index read: Postgres combines the bitmaps of two, and
// leaves the second out where the first is empty.
func TestNoCliffOfScans(t *testing.T) {
	w := emptyWorld(t)
	w.load(scannedDDL, scannedPolicy)
	const sql = "SELECT count(*) FROM visits WHERE cost BETWEEN 420 AND 890 AND ward = 1"
	p, err := w.plan(sql, fixed)
	if err != nil {
		t.Fatal(err)
	}
	look := func(d *descent) []cliff {
		d.run("REINDEX TABLE visits") // the index keeps rows that were rolled back
		d.run("BEGIN")
		defer d.run("ROLLBACK")
		return d.from("a gap in the statistics", false, []string{"INSERT INTO visits VALUES (1000000, 107, 600, 2, 'x')"})
	}
	d := &descent{w: w}
	d.add(sql, p)
	for _, c := range look(d) {
		t.Error(c)
	}
	bitmaps := reader.PlanSettings["enable_bitmapscan"]
	reader.PlanSettings["enable_bitmapscan"] = "on"
	defer func() { reader.PlanSettings["enable_bitmapscan"] = bitmaps }()
	if len(look(d)) == 0 {
		t.Error("the cliff of two bitmaps is not seen")
	}
}
