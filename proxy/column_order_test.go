package proxy_test

import (
	"testing"

	"dpproxy/proxy"
)

// TestColumnsInAnyOrder holds that the same columns in another order, with another one that is of the same aggregates, are paid once and
// show the same numbers.
func TestColumnsInAnyOrder(t *testing.T) {
	w := accurate(t, func(*proxy.Config) {})
	c := w.client(t, "ana")
	for _, from := range []string{"FROM patients", "FROM patients WHERE sex = 'f'"} {
		var count, again, lower float64
		var sum, same string
		one := "SELECT count(*), sum(birth_year)::text " + from
		other := "SELECT sum(birth_year)::text AS s, dp.lower(count(*)), count(*) AS n " + from
		paid := w.price(t, func() {
			if err := c.QueryRow(t.Context(), one).Scan(&count, &sum); err != nil {
				t.Fatal(err)
			}
		})
		more := w.price(t, func() {
			if err := c.QueryRow(t.Context(), other).Scan(&same, &lower, &again); err != nil {
				t.Fatal(err)
			}
		})
		if paid == 0 || more != 0 || count != again || sum != same || lower >= again {
			t.Errorf("%s: %v %s for %d, and then %v from %v on, %s for %d more", from, count, sum, paid, again, lower, same, more)
		}
	}
}
