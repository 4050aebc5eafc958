package suggest_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
	"dpproxy/suggest"
)

// TestCommonDates holds that days which constraints say of most columns of dates are written once, that days of which nothing says anything
// are asked for once, and that no other column gets bounds by that.
func TestCommonDates(t *testing.T) {
	const within = "((%s >= '2010-01-01'::date) AND (%[1]s <= '2025-12-31'::date))"
	schema := func(checked ...string) *introspect.Survey {
		s := parse(t, "patient: patient_id, first_name text, birth_date date",
			"visit: id, patient_id -> patient, day date, gone date, paid date, at timestamp, cost numeric")
		for _, c := range checked {
			visit := s.Tables[name("visit")]
			visit.Checks = append(visit.Checks, catalog.Check{Expr: fmt.Sprintf(within, c), Columns: []string{c}})
		}
		return s
	}
	asked := func(columns ...string) (all []string) {
		for _, c := range columns {
			all = append(all, "      "+c+": {} # bounds: ? [first, last]\n")
		}
		return all
	}
	const inTheHead = "\n# defaults: {dates: [2010-01-01, 2025-12-31]}\n"
	const live = "\ndefaults: {dates: [2010-01-01, 2025-12-31]}\n"
	for _, c := range []struct {
		name       string
		of         *introspect.Survey
		has, lacks []string
	}{
		{
			"nothing is known", schema(), append(asked("birth_date"), inTheHead, ", 4 of them:", "      day: {}\n", "      at: {}\n"),
			append(asked("day", "at"), live),
		},
		{
			"one is left", parse(t, "patient: patient_id, first_name text, birth_date date, since date"), asked("birth_date", "since"),
			[]string{"defaults:"},
		},
		{
			"of most", schema("day", "gone", "paid"), []string{
				live, "      day: {}\n", "      paid: {}\n", "      birth_date: {bounds: none} # bounds: ? [first, last]\n",
				"      at: {bounds: none} # bounds: ? [first, last]\n", "      cost: {} # bounds: ?",
			}, []string{inTheHead},
		},
		{
			"of two of five", schema("day", "gone"),
			[]string{"      day: {bounds: [2010-01-01, 2025-12-31]}\n", inTheHead, ", 2 of them:", "      at: {}\n"},
			[]string{live},
		},
	} {
		d, err := suggest.New(c.of, suggest.NewChoices(suggest.Service{}))
		if err != nil {
			t.Fatal(err)
		}
		out := d.YAML()
		for _, want := range c.has {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, out)
			}
		}
		for _, other := range c.lacks {
			if strings.Contains(out, other) {
				t.Errorf("%s: %q in\n%s", c.name, other, out)
			}
		}
	}
}

// TestDatesAreAskedOnce asks for the days of several columns at once, again where an answer is none; not of one, nor of dates of birth.
func TestDatesAreAskedOnce(t *testing.T) {
	s := parse(t, "patient: patient_id, first_name text, birth_date date",
		"visit: id, patient_id -> patient, day date, at timestamp, cost numeric")
	var open []suggest.OpenColumn
	for _, n := range []string{"patient", "visit"} {
		open = append(open, suggest.Unbounded(s.Tables[name(n)], func(string) bool { return true })...)
	}
	var out strings.Builder
	const answers = "2020-01-01\n2021-01-01, 2020-01-01\n1, 2\n2020-01-01 00:00:00, 2021-01-01 00:00:00\n[ 2020-01-01,2021-01-01 ]\n"
	c := &suggest.Conversation{In: bufio.NewReader(strings.NewReader(answers)), Out: &out}
	days, err := c.Dates(open)
	if err != nil || days != "[2020-01-01, 2021-01-01]" || strings.Count(out.String(), "two days, the earlier first") != 4 ||
		!strings.Contains(out.String(), "They bound visit.day, visit.at") || strings.Contains(out.String(), "birth") {
		t.Errorf("%s, %v\n%s", days, err, out.String())
	}
	if days, err := c.Dates(open[:2]); days != "" || err != nil {
		t.Errorf("of one column: %s, %v\n%s", days, err, out.String())
	}
}
