package planner

import (
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner/policy"
)

// Untold are the relations of a statement that nothing names but the query of a view that no
// analyst may see, each with the name of that view.
type Untold map[catalog.Name]string

// UntoldOf returns the protected ones as the statement alone tells them.
func UntoldOf(stmt *parser.Statement) Untold {
	u, told := Untold{}, Untold{}
	u.refs(stmt, told)
	return u.but(told)
}

func (u Untold) refs(stmt *parser.Statement, told Untold) {
	for _, t := range stmt.Protected {
		u.note(catalog.Name{Schema: t.Resolved.Schema, Name: t.Resolved.Name}, t.Concealed, told)
	}
}

// note takes a name in the query of a view, or in a text that analysts may see.
func (u Untold) note(n catalog.Name, view string, told Untold) {
	if view == "" {
		told[n] = n.String()
	} else if u[n] == "" {
		u[n] = view
	}
}

func (u Untold) but(told Untold) Untold {
	for n := range told {
		delete(u, n)
	}
	return u
}

// Name writes the name of a relation for the analyst, or by which view it is read.
func (u Untold) Name(n catalog.Name) string {
	if view, ok := u[n]; ok {
		return "what " + strconv.Quote(view) + " reads"
	}
	return n.String()
}

// Scope writes the names of a budget for the analyst: an ellipsis if one of them is that of a table that is
// not told.
func (u Untold) Scope(names string) string {
	for n := range u {
		if strings.Contains(names, n.String()) {
			return policy.Ellipsis
		}
	}
	return names
}
