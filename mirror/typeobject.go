package mirror

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"dpproxy/catalog"
)

func typeKey(n catalog.Name) key { return key{"type", n.String()} }

// typeObjects are the enums, then the domains, each after the domains it is over.
func (p Plan) typeObjects(s *catalog.Schema) ([]object, error) {
	labels, err := p.labels(s)
	if err != nil {
		return nil, err
	}
	var enums, domains []object
	for _, n := range slices.SortedFunc(maps.Keys(s.Types), byName) {
		if t := s.Types[n]; t.Kind == 'e' {
			enums = append(enums, enumObject(t, labels[n]))
		} else {
			domains = append(domains, domainObject(t, s.Types))
		}
	}
	return append(enums, afterNeeds(domains)...), nil
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
			if err := show(shown, enumOf(c, s.Types), true, nil); err != nil {
				return nil, err
			}
		}
	}
	return shown, nil
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
	n := c.Type.Base
	if t := types[n]; t != nil && t.Kind == 'e' {
		return t
	}
	n.Name = strings.TrimPrefix(n.Name, "_") // the name Postgres gives an array type
	if t := types[n]; t != nil && t.Kind == 'e' {
		return t
	}
	return nil
}

func enumObject(t *catalog.Type, shown map[string]bool) object {
	var labels []string
	for _, l := range t.Labels {
		if shown[l] {
			labels = append(labels, literal(l))
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

func typeObject(n catalog.Name, kind, definition string) object {
	name := qualified(n)
	return object{
		key:    typeKey(n),
		create: fmt.Sprintf("CREATE %s %s %s;\nALTER %s %s OWNER TO %s", kind, name, definition, kind, name, Owner),
		drop:   fmt.Sprintf("DROP %s %s CASCADE", kind, name),
		state:  fmt.Sprintf("SELECT typowner::regrole::text, true FROM pg_type WHERE oid = to_regtype(%s)", literal(name)),
	}
}

// afterNeeds orders objects so that each comes after those it needs. Domains cannot
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
