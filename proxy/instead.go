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
)

// mendable are the codes of refusals for which another statement may be answered.
var mendable = []pgerr.Code{
	pgerr.RowAccess, pgerr.NotAllowed, pgerr.FeatureNotSupported, pgerr.NoBounds, pgerr.Ownership,
}

// withInstead adds a statement that works to the hint of a refusal, or two, if they ask for much of the same. They are found by
// the statement, the policy and the catalogue alone, as the refusal was: granted are the tables of the analyst.
func withInstead(err error, text string, cat *policy.Model, granted map[catalog.Name]bool) error {
	var refused *pgerr.Error
	if !errors.As(err, &refused) || !slices.Contains(mendable, refused.Code) {
		return err
	}
	t := trial{cat: cat, granted: granted}
	sql := t.instead(text, refused, maxTrials)
	if sql == "" || strings.HasSuffix(refused.Hint, ": "+sql+".") { // it says so
		return err
	}
	return refused.WithHint("%s", strings.TrimSpace(refused.Hint+" Try: "+sql+"."))
}

// maxTrials bounds how often a statement is replaced in its turn.
const maxTrials = 3

// A trial finds out whether statements would be answered.
type trial struct {
	cat     *policy.Model
	granted map[catalog.Name]bool
}

// instead returns statements for a refused one, "" if there are none. Where they lack bounds again, of another column, others for
// them follow.
func (t trial) instead(text string, refused *pgerr.Error, most int) string {
	const longest = 2000
	for _, sql := range repair.Instead(text, refused.Position-1, repair.SchemaOf(t.cat)) {
		if len(sql) > longest {
			continue
		}
		script, err := parser.Parse(sql, t.cat)
		if err != nil {
			continue
		}
		last := len(script.Statements) - 1
		if slices.ContainsFunc(script.Statements[:last], func(s *parser.Statement) bool { return t.resolves(s) != nil }) {
			continue
		}
		err = t.resolves(script.Statements[last])
		if err == nil {
			return sql
		}
		again, lacks := errors.AsType[*pgerr.Error](err)
		if !lacks || again.Code != pgerr.NoBounds || refused.Code != pgerr.NoBounds || last == 0 || most == 1 {
			continue
		}
		own := script.Statements[last]
		if rest := t.instead(own.Text, again, most-1); rest != "" {
			return strings.TrimSpace(sql[:own.Offset]) + " " + rest
		}
	}
	return ""
}

// errNoRelease refuses statements that are none about protected tables.
var errNoRelease = errors.New("not a statement to try")

// resolves reports why a statement would not come as far as to be planned.
func (t trial) resolves(stmt *parser.Statement) error {
	if stmt.Class != parser.Release && stmt.Class != parser.Explain || stmt.Let != nil {
		return errNoRelease
	}
	if err := checkGrants(stmt.Protected, t.granted); err != nil {
		return err
	}
	_, err := planner.Analyze(t.cat, stmt, nil)
	return err
}
