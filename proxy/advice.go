package proxy

import (
	"fmt"
	"strings"

	"dpproxy/wire"
)

// Advise implements wire.Adviser: of names that the mirror does not know, and an analyst may well look for.
func (f *Front) Advise(s *wire.Session, code, message string) string {
	desk := f.Now().cfg.Surveys
	const table, function, syntax = "42P01", "42883", "42601"
	switch code {
	case table:
		if name, answered, ok := desk.Hidden(message, s.User()); ok {
			return fmt.Sprintf("The table is of the local model: SELECT * FROM dp.survey('%s', question, epsilon => 1) asks its rows, "+
				"and their answers are in %s. dp.columns lists the columns that can be asked about.", name, answered)
		}
	case function:
		switch {
		case strings.HasPrefix(message, "function dp.survey("):
			return "Write SELECT * FROM dp.survey('people', 'smoker', epsilon => 1): a table, a question and epsilon, and perhaps a name " +
				`and "where".`
		case strings.HasPrefix(message, "function median("):
			return "The median is percentile_cont(0.5) WITHIN GROUP (ORDER BY x)."
		}
	case syntax:
		if desk != nil && strings.Contains(message, `"where"`) {
			return `The argument of dp.survey is written in double quotes: "where" => 'region = ''north'''.`
		}
	}
	return ""
}
