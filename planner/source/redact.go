package source

import (
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// unshown ends names of our own that are others since a hidden column is called so.
const unshown = "$dp"

// RedactHidden replaces the hidden columns in SQL that is shown to an analyst.
func (s *Source) RedactHidden(sql string) string {
	pairs := []string{unshown, ""}
	s.eachRelation(func(r *relation) {
		for i := range r.table.Columns {
			if c := &r.table.Columns[i]; c.Hidden {
				quoted := ast.QuoteIdent(c.Name)
				pairs = append(pairs, r.alias+"."+quoted, r.alias+"."+policy.Ellipsis)
				if r.cut > 0 && r.columns[i] == r.unit { // the rows are ordered by it as well
					pairs = append(pairs, quoted, policy.Ellipsis)
				}
			}
		}
	})
	return strings.NewReplacer(pairs...).Replace(sql)
}

// UnitPath says how rows reach their unit: by a column, or along foreign keys, as in
// "labs.visit_id -> visits.patient_id".
func (s *Source) UnitPath() string {
	if s.owner.rows != nil {
		return s.owner.rows.branches[0].source.UnitPath()
	}
	t := s.owner.table
	path := t.Unit
	if len(path.Steps) == 0 {
		return t.Shown(path.Column)
	}
	var b strings.Builder
	for _, step := range path.Steps {
		b.WriteString(t.Name.Name + "." + t.Shown(step.From) + " -> ")
		t = step.To
	}
	return b.String() + t.Name.Name + "." + t.Shown(path.Column)
}
