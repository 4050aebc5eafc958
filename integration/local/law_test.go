package local_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"dpproxy/internal/sitetest"
)

// alike has people who are all the same.
const alike = `
CREATE TABLE people (id int PRIMARY KEY, smoker boolean, ward text, age int);
INSERT INTO people SELECT i, true, 'c', 40 FROM generate_series(1, 20000) AS i;
CREATE TABLE visits (id int PRIMARY KEY, person int NOT NULL, cost int);
`

const alikePolicy = `
privacy_unit: {name: person, budget: {epsilon: 3}}
tables:
  visits: {unit: person}
  people:
    model: local
    key: id
    local_budget: 10
    columns:
      smoker: {values: [false, true]}
      ward: {values: [a, b, c, d]}
      age: {bounds: [20, 100]}
analysts:
  ana: {password: VERIFIER, tables: [visits, people]}
`

// TestLaw asks people who are all the same, and compares the frequencies of the answers that are stored with the law of the mechanism by
// chi-square. That of an ε that is two fifths less is rejected by the same answers. Then several sessions ask one question at once, which
// is asked once.
func TestLaw(t *testing.T) {
	s := sitetest.Make(t, sitetest.Options{Database: "clinic", Schema: alike, Policy: alikePolicy})
	r := s.Run(t)
	conn := sitetest.Dial(t, r.URL("ana"))
	e := math.Exp
	for _, c := range []struct {
		question, epsilon, answers string
		law                        func(epsilon float64) []float64
		tells                      bool // the law hangs on ε
	}{
		{"smoker", "1", "false true", func(x float64) []float64 { return []float64{1 / (e(x) + 1), e(x) / (e(x) + 1)} }, true},
		{"ward", "2", "a b c d", func(x float64) []float64 {
			q := 1 / (e(x) + 3)
			return []float64{q, q, e(x) * q, q}
		}, true},
		{"age", "1.5", "20 100", func(x float64) []float64 { // a quarter of the way from 20 to 100
			high := 1/(e(x)+1) + 0.25*math.Tanh(x/2)
			return []float64{1 - high, high}
		}, true},
		{"1.0/(1+exp(-(age-40.0)))", "0.5", "0 1", func(float64) []float64 { return []float64{0.5, 0.5} }, false},
	} {
		ask := fmt.Sprintf("SELECT name FROM dp.survey('people', '%s', %s)", c.question, c.epsilon)
		name := sitetest.Rows(t, conn, ask)
		column := pgx.Identifier{name}.Sanitize()
		var counts []float64
		var all float64
		for answer := range strings.FieldsSeq(c.answers) {
			n, err := strconv.ParseFloat(sitetest.Rows(t, conn, fmt.Sprintf(
				"SELECT count(*)::text FROM local.people WHERE %s::text = '%s'", column, answer)), 64)
			if err != nil {
				t.Fatal(err)
			}
			counts = append(counts, n)
			all += n
		}
		if all != 20_000 {
			t.Fatalf("%s has %v answers", c.question, counts)
		}
		chi := func(law []float64) (sum float64) {
			for i, n := range counts {
				want := all * law[i]
				sum += (n - want) * (n - want) / want
			}
			return sum
		}
		epsilon, err := strconv.ParseFloat(c.epsilon, 64)
		if err != nil {
			t.Fatal(err)
		}
		const most = 32 // of three degrees of freedom, with a probability of 5·10⁻⁷
		if got := chi(c.law(epsilon)); got > most {
			t.Errorf("%s: the answers %v are not of its law: chi-square %.1f", c.question, counts, got)
		}
		if twin := chi(c.law(0.6 * epsilon)); twin < most && c.tells {
			t.Errorf("%s: the answers %v may be of another ε: chi-square %.1f", c.question, counts, twin)
		}
	}
	testAtOnce(t, r)
}

// testAtOnce has several sessions ask one question.
func testAtOnce(t *testing.T, r *sitetest.Running) {
	const sessions = 4
	var asked []<-chan error
	for range sessions {
		conn := sitetest.Dial(t, r.URL("ana"))
		asked = append(asked, sitetest.InBackground(t, conn, "SELECT * FROM dp.survey('people', 'age', 0.5)"))
	}
	for _, done := range asked {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	conn := sitetest.Dial(t, r.URL("ana"))
	if got := sitetest.Rows(t, conn, "SELECT max(loss)::text || ' ' || min(loss)::text FROM local.people"); got != "5.5 5.5" {
		t.Errorf("one question at once from %d sessions: %s is lost", sessions, got)
	}
}
