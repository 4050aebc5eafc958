package ddl

import (
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// TypesIn returns the user types that a type's text mentions, as itself or as the element of an
// array, in the order of their names.
func TypesIn(display string, types map[catalog.Name]*catalog.Type) []catalog.Name {
	var names []catalog.Name
	for _, n := range slices.SortedFunc(maps.Keys(types), catalog.Name.Compare) {
		if Mentions(display, n) || Mentions(display, types[n].Multirange) {
			names = append(names, n)
		}
	}
	return names
}

// Mentions reports whether a type's text begins with the name.
func Mentions(display string, n catalog.Name) bool {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(display, `"`, ""), n.String())
	return ok && (rest == "" || rest[0] == '[' || rest[0] == '(')
}

// typesNeeded returns the keys of the user types that a type's text mentions.
func typesNeeded(display string, types map[catalog.Name]*catalog.Type) []Key {
	var keys []Key
	for _, n := range TypesIn(display, types) {
		keys = append(keys, TypeKey(n))
	}
	return keys
}

// columnNeeds returns the keys of the user types and of the collation of a column.
func columnNeeds(c catalog.Column, s *catalog.Schema) []Key {
	keys := typesNeeded(c.Type.Display, s.Types)
	if s.Collations[c.Collation] != nil {
		keys = append(keys, collationKey(c.Collation))
	}
	return keys
}

// TypeKey is the key of a user type.
func TypeKey(n catalog.Name) Key { return Key{KindType, n.String()} }

// RelationKey is the key of a relation: of a view if it stands for its query, else of a table.
func RelationKey(n catalog.Name, s *catalog.Schema) Key {
	if t := s.Tables[n]; t != nil && t.View != "" {
		return ViewKey(n)
	}
	return tableKey(n)
}

// ViewKey is the key of a view.
func ViewKey(n catalog.Name) Key { return Key{KindView, n.String()} }

func tableKey(n catalog.Name) Key { return Key{KindTable, n.String()} }

func collationKey(n catalog.Name) Key { return Key{KindCollation, n.String()} }
