package proxy

import (
	"errors"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/parser/repair"
	"dpproxy/pgerr"
	"dpproxy/planner"
	"dpproxy/planner/policy"
	"dpproxy/planner/work"
)

// mendable are the codes of refusals for which another statement may be answered.
var mendable = []pgerr.Code{
	pgerr.RowAccess, pgerr.NotAllowed, pgerr.FeatureNotSupported, pgerr.NoBounds, pgerr.Ownership,
}

// withInstead adds a statement that works to the hint of a refusal, with others before it that it needs. They are found by
// the statement, the policy and the catalogue alone, as the refusal was: granted are the tables of the analyst.
func withInstead(w *work.Meter, err error, text string, cat *policy.Model, granted map[catalog.Name]bool) error {
	var refused *pgerr.Error
	if !errors.As(err, &refused) || !slices.Contains(mendable, refused.Code) {
		return err
	}
	sql := trial{w, cat, granted}.instead(text, refused.Position-1)
	if sql == "" || strings.HasSuffix(refused.Hint, ": "+sql+".") { // it says so
		return err
	}
	return refused.WithHint("%s", strings.TrimSpace(refused.Hint+" Try: "+sql+"."))
}

// A trial finds out whether statements would be answered.
type trial struct {
	work    *work.Meter // of all of them
	cat     *policy.Model
	granted map[catalog.Name]bool
}

// instead returns statements for a statement that is refused at a place, "" if there are none.
func (t trial) instead(text string, at int) string {
	const longest = 2000
	names := planner.Names(t.cat)
	for _, sql := range repair.Instead(text, at, t.cat.Schema()) {
		if len(sql) > longest {
			continue
		}
		script, err := parser.Parse(sql, names)
		if err == nil && !slices.ContainsFunc(script.Statements, func(s *parser.Statement) bool { return !t.resolves(s) }) {
			return sql
		}
	}
	return ""
}

// resolves reports whether a statement is about protected tables and would come as far as to be planned.
func (t trial) resolves(stmt *parser.Statement) bool {
	releases := stmt.Class == parser.Release || stmt.Class == parser.Explain
	if !releases || stmt.Let != nil || checkGrants(stmt.Protected, t.granted) != nil {
		return false
	}
	_, err := planner.Analyze(t.work, t.cat, stmt, nil)
	return err == nil
}
