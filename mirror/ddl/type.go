package ddl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

// StandIn is the type of columns whose own type the mirror lacks: every value has a text.
const StandIn = "text"

// Types are the types made by users: the enums, with those of their labels that are shown, then the
// other types, each after those it is made of.
func Types(types map[catalog.Name]*catalog.Type, shown map[catalog.Name]map[string]bool) []Object {
	var enums, others []Object
	for _, n := range slices.SortedFunc(maps.Keys(types), catalog.Name.Compare) {
		switch t := types[n]; t.Kind {
		case 'e':
			enums = append(enums, enum(t, shown[n]))
		case 'd':
			others = append(others, domain(t, types))
		case 'c':
			others = append(others, composite(t, types))
		case 'r':
			others = append(others, rangeType(t, types))
		}
	}
	return append(enums, AfterNeeds(others)...)
}

func enum(t *catalog.Type, shown map[string]bool) Object {
	var labels []string
	for _, l := range t.Labels {
		if shown[l] {
			labels = append(labels, quote.Literal(l))
		}
	}
	return userType(t.Name, "TYPE", fmt.Sprintf("AS ENUM (%s)", strings.Join(labels, ", ")))
}

// domain leaves out CHECK texts and defaults.
func domain(t *catalog.Type, types map[catalog.Name]*catalog.Type) Object {
	definition := "AS " + t.Base.Display
	if t.NotNull {
		definition += " NOT NULL"
	}
	o := userType(t.Name, "DOMAIN", definition)
	o.Needs = typesNeeded(t.Base.Display, types)
	return o
}

// composite has the attributes with their types.
func composite(t *catalog.Type, types map[catalog.Name]*catalog.Type) Object {
	attributes := make([]string, len(t.Attributes))
	var needs []Key
	for i, a := range t.Attributes {
		attributes[i] = quote.Ident(a.Name) + " " + a.Type.Display
		needs = append(needs, typesNeeded(a.Type.Display, types)...)
	}
	o := userType(t.Name, "TYPE", fmt.Sprintf("AS (%s)", strings.Join(attributes, ", ")))
	o.Needs = needs
	return o
}

// rangeType leaves out the functions of a range: they compute on values. Before Postgres 14 a
// range has no multirange, and that of the mirror gets a name that Postgres makes.
func rangeType(t *catalog.Type, types map[catalog.Name]*catalog.Type) Object {
	names, multirange, drop := []catalog.Name{t.Name}, "", ""
	if t.Multirange != (catalog.Name{}) {
		names = append(names, t.Multirange)
		multirange = ", MULTIRANGE_TYPE_NAME = " + quote.Name(t.Multirange)
		drop = fmt.Sprintf(";\nDROP TYPE IF EXISTS %s CASCADE", quote.Name(t.Multirange))
	}
	o := userType(t.Name, "TYPE", fmt.Sprintf("AS RANGE (SUBTYPE = %s%s)", t.Base.Display, multirange))
	o.Drop += drop
	for _, n := range names {
		o.Otherwise += fmt.Sprintf("CREATE DOMAIN %[1]s AS %[2]s;\nALTER DOMAIN %[1]s OWNER TO %[3]s;\n", quote.Name(n), StandIn, Owner)
	}
	o.Loss = "it is a text"
	o.Needs = typesNeeded(t.Base.Display, types)
	return o
}

func userType(n catalog.Name, kind, definition string) Object {
	name := quote.Name(n)
	return Object{
		Key:    TypeKey(n),
		Create: fmt.Sprintf("CREATE %s %s %s;\nALTER %s %s OWNER TO %s", kind, name, definition, kind, name, Owner),
		Drop:   fmt.Sprintf("DROP %s %s CASCADE", kind, name),
		State:  fmt.Sprintf("SELECT typowner::regrole::text, true FROM pg_type WHERE oid = to_regtype(%s)", quote.Literal(name)),
	}
}
