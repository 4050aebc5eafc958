package suggest

import (
	"cmp"
	"maps"

	"dpproxy/catalog"
	"dpproxy/mirror/introspect"
)

// New makes a draft for choices. The error is an [UnclearError] if neither the choices nor the catalogue determine whom to protect.
func New(s *introspect.Survey, ch *Choices) (*Draft, error) {
	c := read(s)
	u, err := c.chosenUnit(ch)
	if err != nil {
		return nil, err
	}
	d := &Draft{
		catalogue: c, choices: ch, unit: c.unitOf(&u), Unit: u, UnitName: cmp.Or(ch.UnitName, c.unitName(&u)),
		LeftOut: maps.Clone(ch.Dropped),
		placed:  map[catalog.Name]*Table{},
	}
	pathfinder{d}.protect()
	sorter{d}.sortOut()
	viewer{d}.views()
	inspector{d}.references()
	for _, t := range d.listed() {
		inspector{d}.columns(t)
	}
	if ch.Given == nil {
		commonDates(d)
	}
	return d, nil
}

// chosenUnit returns the unit of the choices, or the candidate that is clear.
func (c *catalogue) chosenUnit(ch *Choices) (Candidate, error) {
	all := c.candidates()
	if ch.Unit != (catalog.Name{}) {
		return c.unitChosen(all, ch.Unit, ch.UnitColumn)
	}
	if len(all) == 0 {
		return Candidate{}, ErrNoUnit
	}
	near, isClear := c.contenders(all)
	if !isClear {
		return Candidate{}, &UnclearError{near}
	}
	return near[0], nil
}

// unitName returns the word for one unit.
func (c *catalogue) unitName(a *Candidate) string {
	r := c.rels[a.Table]
	st := r.field(a.Column).stem()
	switch {
	case a.rowless && len(st) > 0:
		return st[len(st)-1]
	case r.row() != "":
		return r.row()
	}
	return "person"
}
