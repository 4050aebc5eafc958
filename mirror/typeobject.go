package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/mirror/quote"
)

func typeKey(n catalog.Name) key { return key{"type", n.String()} }

// typeObjects are the enums, then the other types, each after those it is made of.
func (p Plan) typeObjects(s *catalog.Schema) ([]object, error) {
	labels, err := p.labels(s)
	if err != nil {
		return nil, err
	}
	var enums, others []object
	for _, n := range slices.SortedFunc(maps.Keys(s.Types), byName) {
		switch t := s.Types[n]; t.Kind {
		case 'e':
			enums = append(enums, enumObject(t, labels[n]))
		case 'd':
			others = append(others, domainObject(t, s.Types))
		case 'c':
			others = append(others, compositeObject(t, s.Types))
		case 'r':
			others = append(others, rangeObject(t, s.Types))
		}
	}
	return append(enums, afterNeeds(others)...), nil
}

// labels returns the labels that the mirror may show of each enum. Those of an enum
// in a public table are public, or its rows could not be copied.
func (p Plan) labels(s *catalog.Schema) (map[catalog.Name]map[string]bool, error) {
	shown := map[catalog.Name]map[string]bool{}
	for _, t := range p.Protected {
		for _, c := range s.Tables[t.Name].Columns {
			policy := t.Columns[c.Name]
			if err := show(shown, enumOf(c, s.Types), policy.AllLabels, policy.Labels); err != nil {
				return nil, fmt.Errorf("column %v.%s: %w", t.Name, c.Name, err)
			}
		}
	}
	for _, n := range p.Public {
		for _, c := range s.Tables[n].Columns {
			if err := showAll(shown, c, s.Types); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
}

// showAll shows the enums of a public column, also those inside a composite.
func showAll(shown map[catalog.Name]map[string]bool, c catalog.Column, types map[catalog.Name]*catalog.Type) error {
	t := userType(c, types)
	if t == nil {
		return nil
	}
	parts := t.Attributes
	switch t.Kind {
	case 'e':
		return show(shown, t, true, nil)
	case 'r':
		parts = []catalog.Column{{Type: t.Base}}
	}
	for _, part := range parts { // a type cannot contain itself
		if err := showAll(shown, part, types); err != nil {
			return err
		}
	}
	return nil
}

func show(shown map[catalog.Name]map[string]bool, t *catalog.Type, all bool, labels []string) error {
	if t == nil {
		return nil
	}
	if shown[t.Name] == nil {
		shown[t.Name] = map[string]bool{}
	}
	if all {
		labels = t.Labels
	}
	for _, l := range labels {
		if !slices.Contains(t.Labels, l) {
			return fmt.Errorf("type %v has no label %q", t.Name, l)
		}
		shown[t.Name][l] = true
	}
	return nil
}

// enumOf returns the enum that the column, or an element of it, is of, or nil.
func enumOf(c catalog.Column, types map[catalog.Name]*catalog.Type) *catalog.Type {
	if t := userType(c, types); t != nil && t.Kind == 'e' {
		return t
	}
	return nil
}

// userType returns the type made by a user that the column, or an element of it, is
// of below all domains, or nil.
func userType(c catalog.Column, types map[catalog.Name]*catalog.Type) *catalog.Type {
	n := c.Type.Base
	if t := types[n]; t != nil {
		return t
	}
	n.Name = strings.TrimPrefix(n.Name, "_") // the name Postgres gives an array type
	return types[n]
}

func enumObject(t *catalog.Type, shown map[string]bool) object {
	var labels []string
	for _, l := range t.Labels {
		if shown[l] {
			labels = append(labels, quote.Literal(l))
		}
	}
	return typeObject(t.Name, "TYPE", fmt.Sprintf("AS ENUM (%s)", strings.Join(labels, ", ")))
}

// domainObject leaves out CHECK texts and defaults.
func domainObject(t *catalog.Type, types map[catalog.Name]*catalog.Type) object {
	definition := "AS " + t.Base.Display
	if t.NotNull {
		definition += " NOT NULL"
	}
	o := typeObject(t.Name, "DOMAIN", definition)
	o.needs = typesIn(t.Base.Display, types)
	return o
}

// compositeObject has the attributes with their types.
func compositeObject(t *catalog.Type, types map[catalog.Name]*catalog.Type) object {
	attributes := make([]string, len(t.Attributes))
	var needs []key
	for i, a := range t.Attributes {
		attributes[i] = quote.Ident(a.Name) + " " + a.Type.Display
		needs = append(needs, typesIn(a.Type.Display, types)...)
	}
	o := typeObject(t.Name, "TYPE", fmt.Sprintf("AS (%s)", strings.Join(attributes, ", ")))
	o.needs = needs
	return o
}

// rangeObject leaves out the functions of a range: they compute on values. Before Postgres 14 a
// range has no multirange, and that of the mirror gets a name that Postgres makes.
func rangeObject(t *catalog.Type, types map[catalog.Name]*catalog.Type) object {
	names, multirange, drop := []catalog.Name{t.Name}, "", ""
	if t.Multirange != (catalog.Name{}) {
		names = append(names, t.Multirange)
		multirange = ", MULTIRANGE_TYPE_NAME = " + quote.Name(t.Multirange)
		drop = fmt.Sprintf(";\nDROP TYPE IF EXISTS %s CASCADE", quote.Name(t.Multirange))
	}
	o := typeObject(t.Name, "TYPE", fmt.Sprintf("AS RANGE (SUBTYPE = %s%s)", t.Base.Display, multirange))
	o.drop += drop
	for _, n := range names {
		o.otherwise += fmt.Sprintf("CREATE DOMAIN %[1]s AS %[2]s;\nALTER DOMAIN %[1]s OWNER TO %[3]s;\n", quote.Name(n), standIn, Owner)
	}
	o.loss = "it is a text"
	o.needs = typesIn(t.Base.Display, types)
	return o
}

func typeObject(n catalog.Name, kind, definition string) object {
	name := quote.Name(n)
	return object{
		key:    typeKey(n),
		create: fmt.Sprintf("CREATE %s %s %s;\nALTER %s %s OWNER TO %s", kind, name, definition, kind, name, Owner),
		drop:   fmt.Sprintf("DROP %s %s CASCADE", kind, name),
		state:  fmt.Sprintf("SELECT typowner::regrole::text, true FROM pg_type WHERE oid = to_regtype(%s)", quote.Literal(name)),
	}
}

// afterNeeds orders objects so that each comes after those it needs. Types cannot
// be circular.
func afterNeeds(objects []object) []object {
	var sorted []object
	placed := map[key]bool{}
	var place func(o object)
	place = func(o object) {
		if placed[o.key] {
			return
		}
		placed[o.key] = true
		for _, need := range o.needs {
			if i := slices.IndexFunc(objects, func(other object) bool { return other.key == need }); i >= 0 {
				place(objects[i])
			}
		}
		sorted = append(sorted, o)
	}
	for _, o := range objects {
		place(o)
	}
	return sorted
}
