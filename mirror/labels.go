package mirror

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
)

// shownLabels returns the labels that the mirror shows of each enum.
func shownLabels(p Plan, s *catalog.Schema) (map[catalog.Name]map[string]bool, error) {
	shown := map[catalog.Name]map[string]bool{}
	return shown, eachEnum(p, s, Origins{}, func(t *catalog.Type, all bool, labels []string) error { return show(shown, t, all, labels) })
}

// permittedLabels returns whether a label of an enum may be seen. All labels of a type may if all labels of the type as it is by
// now may. A column that has another name by now, or is of a table or a type that has, permits nothing.
func permittedLabels(p Plan, s *catalog.Schema, now Origins) func(of catalog.Name, label string) bool {
	every, some := map[catalog.Name]bool{}, map[catalog.Name][]string{}
	_ = eachEnum(p, s, now, func(t *catalog.Type, all bool, labels []string) error { // which has no error
		every[t.Name] = every[t.Name] || all
		some[t.Name] = append(some[t.Name], labels...)
		return nil
	})
	return func(of catalog.Name, label string) bool { return every[of] || slices.Contains(some[of], label) }
}

// visitEnum is called with an enum, and with the labels of it that may be shown: all, or a list.
type visitEnum func(t *catalog.Type, all bool, labels []string) error

// eachEnum visits the enum of each column of the plan that has its name still, with the labels that the mirror may show. All labels of
// an enum in a public table are public, or its rows could not be copied.
func eachEnum(p Plan, s *catalog.Schema, now Origins, visit visitEnum) error {
	for _, t := range p.Protected {
		was := s.Tables[t.Name]
		if was == nil || now.renamed(was) {
			continue
		}
		for _, c := range was.Columns {
			policy := t.Columns[c.Name]
			e := enumOf(c, s.Types)
			if e == nil || policy.Hidden || now.renamedColumn(was, c) || !now.sameType(c.Type) {
				continue
			}
			if err := visit(e, policy.AllLabels, policy.Labels); err != nil {
				return fmt.Errorf("column %v.%s: %w", t.Name, c.Name, err)
			}
		}
	}
	for _, n := range p.Public {
		if s.Tables[n] == nil || now.renamed(s.Tables[n]) {
			continue
		}
		for _, c := range s.Tables[n].Columns {
			if slices.Contains(p.hidden(n), c.Name) {
				continue
			}
			if err := eachPublic(c, s.Types, now, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachPublic visits the enums of a public column, also those inside a composite.
func eachPublic(c catalog.Column, types map[catalog.Name]*catalog.Type, now Origins, visit visitEnum) error {
	t := userType(c, types)
	if t == nil || t.Kind == 'e' && !now.sameType(c.Type) {
		return nil
	}
	parts := t.Attributes
	switch t.Kind {
	case 'e':
		return visit(t, true, nil)
	case 'r':
		parts = []catalog.Column{{Type: t.Base}}
	}
	for _, part := range parts { // a type cannot contain itself
		if err := eachPublic(part, types, now, visit); err != nil {
			return err
		}
	}
	return nil
}

func show(shown map[catalog.Name]map[string]bool, t *catalog.Type, all bool, labels []string) error {
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
