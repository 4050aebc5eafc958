package mirror

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// shownLabels returns the labels that the mirror may show of each enum. All labels of an enum
// in a public table are public, or its rows could not be copied.
func shownLabels(p Plan, s *catalog.Schema) (map[catalog.Name]map[string]bool, error) {
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
