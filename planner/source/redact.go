package source

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/planner/policy"
)

// unshown ends names of our own that are others since a hidden column is called so.
const unshown = "$dp"

// RedactHidden replaces the hidden columns in SQL that is shown to an analyst.
func (l *level) RedactHidden(sql string) string {
	pairs := []string{unshown, ""}
	l.eachTable(func(at *level, r *relation) {
		for i := range r.table.Columns {
			if c := &r.table.Columns[i]; c.Hidden {
				quoted := ast.QuoteIdent(c.Name)
				pairs = append(pairs, r.alias+"."+quoted, r.alias+"."+policy.Ellipsis)
				if at.rowsPerUnit[r] > 0 && r.columns[i] == r.unit { // the rows are ordered by it as well
					pairs = append(pairs, quoted, policy.Ellipsis)
				}
			}
		}
	})
	return strings.NewReplacer(pairs...).Replace(sql)
}

// UnitPath says how rows reach their unit: by a column, or along foreign keys, as in
// "labs.visit_id -> visits.patient_id".
func (l *level) UnitPath() string {
	switch {
	case l.view != "":
		return policy.Ellipsis
	case l.owner.rows != nil:
		return l.owner.rows.branches[0].source.UnitPath()
	}
	t := l.owner.table
	path := t.Unit
	if len(path.Steps) == 0 {
		return t.Shown(path.Column)
	}
	var b strings.Builder
	for _, step := range path.Steps {
		b.WriteString(t.Name.Name + "." + t.ShownList(step.From) + " -> ")
		t = step.To
	}
	return b.String() + t.Name.Name + "." + t.Shown(path.Column)
}

// Told lists the protected tables that are read, those on paths to the unit included, each
// once, and the views whose tables are not told. A partition counts as the table that it is part of.
func (l *level) Told() []string {
	var tables, views []string
	l.eachTable(func(at *level, r *relation) {
		t := l.model.Whole(r.table)
		name, of := t.Name.String(), &tables
		if at.view != "" {
			name, of = "those of "+at.view, &views
		}
		if !t.Public && !slices.Contains(*of, name) {
			*of = append(*of, name)
		}
	})
	return append(tables, views...)
}
