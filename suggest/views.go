package suggest

import (
	"slices"
	"strings"

	"dpproxy/catalog"
)

// A viewer decides about views.
type viewer struct{ *Draft }

// views adds the views over protected tables that read only relations of the policy, including other views.
func (d viewer) views() {
	for again := true; again; {
		again = false
		for _, n := range d.names {
			if t := d.rels[n].Table; t.View != "" && !slices.Contains(d.Views, n) && d.viewable(t) {
				d.Views, again = append(d.Views, n), true
			}
		}
	}
	for _, n := range d.names {
		_, out := d.LeftOut[n]
		if t := d.rels[n].Table; t.Kind == 'v' && !out && !slices.Contains(d.Views, n) && !slices.Contains(d.Public, n) {
			d.LeftOut[n] = "a view that reads " + d.lacking(t)
		}
	}
}

// viewable reports whether a view reads only relations of the policy, and at least one that is protected.
func (d viewer) viewable(v *catalog.Table) bool {
	if _, out := d.LeftOut[v.Name]; out || strings.ContainsAny(v.Name.Schema+v.Name.Name, `."`) {
		return false
	}
	protected := false
	for _, n := range v.Reads {
		inside := d.Table(n) != nil || slices.Contains(d.Views, n)
		if !inside && !slices.Contains(d.Public, n) {
			return false
		}
		protected = protected || inside
	}
	return protected
}

// lacking names a relation that a view reads and the policy lacks.
func (d viewer) lacking(v *catalog.Table) string {
	for _, n := range v.Reads {
		if d.Table(n) == nil && !slices.Contains(d.Views, n) && !slices.Contains(d.Public, n) {
			return shortName(n) + ", which is not in the policy"
		}
	}
	return "nothing protected"
}
