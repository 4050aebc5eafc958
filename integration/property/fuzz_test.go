package property_test

import (
	"encoding/json"
	"os"
	"testing"

	"dpproxy/accountant"
	"dpproxy/dp"
	"dpproxy/internal/sqlgen"
)

// FuzzPlan plans any text: it is refused, or it has a plan with a positive finite loss
// whose statements the database runs. Nothing panics.
func FuzzPlan(f *testing.F) {
	w := newWorld(f, 1, sqlgen.Adversarial)
	for range 40 {
		f.Add(w.gen.Statement(w.schema).SQL)
	}
	for _, sql := range attacks(f) {
		f.Add(sql)
	}
	reader := &world{t: f, conn: connect(f, server.Server, w.conn.Config().Database)}
	run(f, w.client, "CREATE ROLE fuzz; GRANT SELECT ON places TO fuzz; SET ROLE fuzz; SET statement_timeout = '2s'; "+
		"SET default_transaction_read_only = on")
	f.Fuzz(func(t *testing.T, sql string) {
		p, err := w.plan(sql, chosen)
		if err != nil || !p.plan.Reads() {
			return
		}
		loss, err := accountant.Price(p.plan.Event, dp.ZCDP)
		if err != nil || loss.Pico() < 1 {
			t.Errorf("%q has the price %v, %v", sql, loss, err)
		}
		p.w = reader
		if _, err := p.exact(); err != nil {
			t.Errorf("%q raises: %v", sql, err)
		}
	})
}

// attacks returns the shapes of the attack harness.
func attacks(f *testing.F) []string {
	f.Helper()
	var all []string
	for _, path := range []string{"../attacks/testdata/attacks.json", "../attacks/testdata/attacks-more.json"} {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var file struct{ Shapes []struct{ SQL string } }
		if err := json.Unmarshal(text, &file); err != nil {
			f.Fatal(err)
		}
		for _, s := range file.Shapes {
			all = append(all, s.SQL)
		}
	}
	return all
}
