package suggest

import (
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// This file has facts that the catalogue states about a table or column, whatever its name.

// inKey reports whether a column is part of a key, or a sequence numbers it, so that it distinguishes rows.
func inKey(t *catalog.Table, name string) bool {
	if c, ok := t.Column(name); ok && (c.Identity != "" || c.Serial != "") {
		return true
	}
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool { return slices.Contains(k.Columns, name) })
}

// isKey reports whether columns contain a key and are never NULL.
func isKey(t *catalog.Table, columns []string) bool {
	for _, name := range columns {
		if c, ok := t.Column(name); !ok || !c.NotNull {
			return false
		}
	}
	return unique(t, columns)
}

// unique reports whether columns contain all columns of a key, NULL aside.
func unique(t *catalog.Table, columns []string) bool {
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool {
		return !slices.ContainsFunc(k.Columns, func(c string) bool { return !slices.Contains(columns, c) })
	})
}

// identifies reports whether a column can be the unit.
func identifies(c *catalog.Column) bool {
	fam := familyOf(c)
	return (fam == pgtype.IntFamily || fam == pgtype.TextFamily || fam == pgtype.UUIDFamily) && c.Deterministic && !c.Virtual
}

func familyOf(c *catalog.Column) pgtype.Family {
	return pgtype.OfColumn(c.Type, c.Collation, c.Deterministic).Family()
}

// protectable says why the rows of a relation cannot be protected; "" if they can.
func protectable(t *catalog.Table) string {
	switch {
	case t.Kind == 'm':
		return "a materialised view holds copies of rows: ask the tables that it is made from"
	case t.Kind == 'f':
		return "a foreign table: its keys prove nothing"
	case t.Kind != 'r' && t.Kind != 'p':
		return "no table"
	case t.RowSecurity:
		return "under row security for the role that reads: grant it BYPASSRLS, or drop the policies"
	case slices.ContainsFunc(t.Stored, func(s catalog.Storage) bool { return s.Kind == 'f' }):
		return "has partitions that are foreign tables: keys and bounds are not enforced where their rows are"
	case slices.ContainsFunc(t.Stored, func(s catalog.Storage) bool { return s.Method != "heap" }):
		return "is stored by an access method of which nothing is proved"
	case t.Kind == 'r' && len(t.Children) > 0:
		return "has inheritance children, so that its keys prove nothing"
	case slices.ContainsFunc([]string{t.Name.Schema, t.Name.Name}, func(s string) bool { return strings.ContainsAny(s, `."`) }):
		return "its name cannot be written in a policy"
	}
	return ""
}
