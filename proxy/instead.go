package proxy

import (
	"errors"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
)

// mendable are the codes of refusals for which another statement may be answered.
var mendable = []pgerr.Code{pgerr.RowAccess, pgerr.NotAllowed, pgerr.FeatureNotSupported, pgerr.NoBounds, pgerr.Ownership}

// withInstead adds a statement that works to the hint of a refusal, if there is one that asks for much of the same. It is found by
// the statement, the policy and the catalogue alone, as the refusal was: granted are the tables of the analyst.
func withInstead(err error, text string, cat *policy.Model, granted map[catalog.Name]bool) error {
	const longest = 1000
	var refused *pgerr.Error
	if !errors.As(err, &refused) || !slices.Contains(mendable, refused.Code) {
		return err
	}
	for _, sql := range parser.Instead(text, refused.Position-1, cat) {
		switch {
		case strings.HasSuffix(refused.Hint, ": "+sql+"."):
			return err // it says so
		case len(sql) <= longest && resolves(sql, cat, granted):
			return refused.WithHint("%s", strings.TrimSpace(refused.Hint+" Try: "+sql+"."))
		}
	}
	return err
}

// resolves reports whether a statement would come as far as to be planned.
func resolves(sql string, cat *policy.Model, granted map[catalog.Name]bool) bool {
	script, err := parser.Parse(sql, cat)
	if err != nil || len(script.Statements) != 1 {
		return false
	}
	stmt := script.Statements[0]
	if stmt.Class != parser.Release && stmt.Class != parser.Explain || len(stmt.Priors) > 0 || checkGrants(stmt.Protected, granted) != nil {
		return false
	}
	_, err = planner.Analyze(cat, stmt, nil)
	return err == nil
}
