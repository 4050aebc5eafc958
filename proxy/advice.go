package proxy

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/pgerr"
	"dpproxy/wire"
)

// signatures are the functions that stand in FROM, by their names, each as it is written.
var signatures = map[string]string{
	"survey": "survey('people', 'smoker', epsilon => 1): a table, a question and epsilon, and perhaps a name " +
		`and "where"`,
	"odometer":        "odometer('people'): a table of the local model",
	"local_histogram": "local_histogram('people', 'smoker'): a table and a column, and perhaps a confidence",
	"local_mean":      "local_mean('people', 'age'): a table and an expression, and perhaps a confidence",
	"share":           "share(yes, n, epsilon): how many answered yes, how many answered, and the survey's epsilon, and perhaps k",
	"set_share":       "set_share(yes, n, epsilon): how many sets have the value, how many answered, and the survey's epsilon",
	"bounded_mean":    "bounded_mean(ones, n, epsilon, low, high): how many answered high, how many answered, epsilon and the bounds",
	"suggest_bounds":  "suggest_bounds('visits.cost', epsilon => 0.1): a column of a protected table, and perhaps what it may spend",
	"plan":            "plan($$SELECT count(*) FROM visits$$): the text of a statement",
}

// noisy are the errors of what is computed of a value that is 0 or negative, and may be so by its noise alone, with what does not fail.
var noisy = map[string]string{
	"22012": "x / nullif(y, 0)",              // division by zero
	"2201E": "ln(nullif(greatest(x, 0), 0))", // a logarithm
	"2201F": "sqrt(greatest(x, 0))",          // a root, or a power
}

// Advise implements wire.Adviser: of names that the mirror does not know, and an analyst may well look for; and of values that noise has
// made 0 or negative.
func (f *Front) Advise(s *wire.Session, code, message string, rewritten bool) string {
	desk := f.Now().cfg.Surveys
	const table, function, syntax = "42P01", "42883", "42601"
	if instead := noisy[code]; rewritten && instead != "" {
		hint := "Noise alone can make a released value 0 or negative. Write " + instead + "."
		if f.Now().memory.Keeps() {
			hint += " The values that were released are remembered, and cost nothing again."
		}
		return hint
	}
	switch code {
	case table:
		if name, answered, ok := desk.Hidden(message, s.User()); ok {
			return fmt.Sprintf("The table is of the local model: SELECT * FROM dp.survey('%s', question, epsilon => 1) asks its rows, "+
				"and their answers are in %s. dp.columns lists the columns that can be asked about.", name, answered)
		}
	case function:
		switch {
		case strings.HasPrefix(message, "function median("):
			return "The median is percentile_cont(0.5) WITHIN GROUP (ORDER BY x)."
		case strings.HasPrefix(message, "function percentile_cont("):
			return "Only numbers and intervals lie between two others. " +
				"Of dates and times it is percentile_disc(0.5) WITHIN GROUP (ORDER BY x)."
		}
		for name, call := range signatures {
			if strings.HasPrefix(message, "function dp."+name+"(") {
				return "Write SELECT * FROM dp." + call + "."
			}
		}
	case pgerr.Backstop.String():
		if takenOut(f.Now(), message) {
			return "The policy does not have this table: it goes when the administrator has run dpproxy sync."
		}
	case syntax:
		if desk != nil && strings.Contains(message, `"where"`) {
			return `The argument of dp.survey is written in double quotes: "where" => 'region = ''north'''.`
		}
	}
	return ""
}

// takenOut reports whether a message of the backstop is about a relation, schema and all, that the policy does not have.
func takenOut(p *Proxy, message string) bool {
	_, named, _ := strings.Cut(message, `relation "`)
	named, _, _ = strings.Cut(named, `" is protected`)
	return strings.Contains(named, ".") && !slices.ContainsFunc(slices.Concat(p.cfg.Catalog.Protected(), p.cfg.Views),
		func(n catalog.Name) bool { return n.String() == named })
}
