package planner

import (
	"maps"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser"
	"dpproxy/planner/policy"
)

// Untold maps relations of a statement to a concealed view: only the query of this view names them, so analysts must not see their names.
type Untold map[catalog.Name]string

// UntoldOf returns the protected ones, as far as the statement alone shows.
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

// note records a name in the query of a view, or, if view is empty, in a text that analysts may see.
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

// With returns the relations of both.
func (u Untold) With(more Untold) Untold {
	all := make(Untold, len(u)+len(more))
	maps.Copy(all, u)
	maps.Copy(all, more)
	return all
}

// Name writes the name of a relation for the analyst, or the view that reads it.
func (u Untold) Name(n catalog.Name) string {
	if view, ok := u[n]; ok {
		return "what " + strconv.Quote(view) + " reads"
	}
	return n.String()
}

// Scope writes the names of a budget for the analyst: an ellipsis if they contain an untold name.
func (u Untold) Scope(names string) string {
	for n := range u {
		if strings.Contains(names, n.String()) {
			return policy.Ellipsis
		}
	}
	return names
}
