package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpproxy/catalog"
	"dpproxy/planner/constraint"
	"dpproxy/planner/pgtype"
)

// An inspector decides which columns are hidden, and which values the others have.
type inspector struct{ *Draft }

// columns decides about the columns of a protected table.
func (d inspector) columns(t *Table) {
	for i := range t.Source.Columns {
		t.Columns = append(t.Columns, d.column(t, &t.Source.Columns[i]))
	}
	for again := true; again; { // a value that is computed from a hidden value would reveal it
		again = false
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Policy != hidden && slices.ContainsFunc(c.Source.From, t.hides) {
				c.hide(ofRest, "computed from a hidden column")
				again = true
			}
		}
	}
}

const hidden = "hidden"

func (t *Table) hides(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Source.Name == column && c.Policy == hidden })
}

func (d inspector) column(t *Table, src *catalog.Column) Column {
	c := Column{Source: src, Policy: "{}"}
	if why := d.choices.Hidden[Place{t.Source.Name, src.Name}]; why != "" {
		c.hide(ofRest, why)
		return c
	}
	said := d.said(t, src)
	s := d.secret(t, d.rels[t.Source.Name].field(src.Name))
	if s.kind == ofFreeText && listable(src, said.values) { // one of a few values
		s = secrecy{}
	}
	switch {
	case src.Virtual:
		c.hide(ofRest, "a virtual generated column is computed when it is read, which can fail on a row")
	case t.Distance == 0 && slices.Contains(t.NotProtected, src.Name):
		c.hide(ofOthers, "refers to another "+d.UnitName+", whom this row does not protect")
	case src.Name == t.Unit:
		c.Note = "the " + d.UnitName
		if t.ByName {
			c.Note += ", by its name alone"
		}
	case s.kind != "":
		c.hide(s.kind, s.note)
	case t.ByName && slices.Contains(t.Via, src.Name):
		c.Note = "a row of " + shortName(t.To) + ", by its name alone"
	case slices.Contains(t.SamePerson, src.Name):
		c.Note = d.referred(t, src.Name) + ": of the same " + d.UnitName + ", it is assumed"
	case d.refersByKey(t, src.Name):
		c.Note = d.referred(t, src.Name)
	case slices.ContainsFunc(t.Refers, func(r ByName) bool { return r.Column == src.Name }):
	default:
		d.values(t, &c, said)
	}
	return c
}

// said returns the values of a column that constraints admit: CHECK constraints of its table, and of its domain.
func (d inspector) said(t *Table, src *catalog.Column) domain {
	var checks []string
	for _, c := range t.Source.Checks {
		checks = append(checks, c.Expr)
	}
	said, ofDomain := domainOf(src.Name, checks), domainOf("value", src.Checks)
	said.low, said.high = cmp.Or(said.low, ofDomain.low), cmp.Or(said.high, ofDomain.high)
	if said.values == nil {
		said.values = ofDomain.values
	}
	return said
}

func (c *Column) hide(kind, why string) { c.Policy, c.kind, c.Note = hidden, kind, why }

// values writes which values a column has, as far as constraints say.
func (d inspector) values(t *Table, c *Column, said domain) {
	src := c.Source
	switch fam := familyOf(src); fam {
	case pgtype.EnumFamily:
		c.Policy = "{values: enum}"
	case pgtype.BoolFamily:
		c.Policy = "{values: [false, true]}"
	case pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily:
		d.number(t, c, said)
	case pgtype.DateFamily, pgtype.InstantFamily:
		d.time(t, c, said)
	case pgtype.TextFamily:
		if listable(src, said.values) {
			c.Policy = "{values: [" + strings.Join(quoted(said.values), ", ") + "]}"
		}
	case pgtype.UUIDFamily:
		if !inKey(t.Source, src.Name) {
			c.hide(ofNumbers, "refers to nothing that the database knows of")
		}
	case pgtype.TimeFamily, pgtype.IntervalFamily:
	case pgtype.NoFamily:
		c.hide(ofDocuments, src.Type.Display+", of which nothing can be asked")
	}
}

// listable reports whether a policy can list these values of a text.
func listable(c *catalog.Column, values []string) bool {
	padded := c.Type.BaseOID == pgtype.Bpchar
	return values != nil && c.Deterministic && !slices.ContainsFunc(values, func(v string) bool {
		return padded && strings.HasSuffix(v, " ") || strings.ContainsFunc(v, unprintable)
	})
}

// refersByKey reports whether a column is part of a foreign key.
func (d inspector) refersByKey(t *Table, name string) bool {
	return d.rels[t.Source.Name].field(name).foreign
}

// referred names the table to which a column refers.
func (d inspector) referred(t *Table, name string) string {
	if to, found := t.byName(name); found {
		return "refers to " + shortName(to) + " by its name alone"
	}
	for _, fk := range d.rels[t.Source.Name].foreign {
		if slices.Contains(fk.Columns, name) {
			note := "refers to " + shortName(fk.References)
			if d.Table(fk.References) == nil && !slices.Contains(d.Public, fk.References) && !d.isReference(fk.References) {
				note += ", which is not in the policy"
			}
			return note
		}
	}
	return ""
}

// unbounded begins the note of a column without bounds; the head of the file explains it.
const unbounded = "bounds: ?"

// number bounds a number by constraints. It asks for bounds unless the number identifies something.
func (d inspector) number(t *Table, c *Column, said domain) {
	if inKey(t.Source, c.Source.Name) {
		c.Note = "a key"
		return
	}
	if said.values != nil && familyOf(c.Source) == pgtype.IntFamily && !slices.ContainsFunc(said.values, noInteger) {
		c.Policy = "{values: [" + strings.Join(said.values, ", ") + "]}"
		return
	}
	low, lowKnown := constraint.Number(said.low)
	high, highKnown := constraint.Number(said.high)
	if lowKnown && highKnown && low.Cmp(high) <= 0 {
		c.Policy = fmt.Sprintf("{bounds: [%s, %s]}", said.low, said.high)
		return
	}
	step := ""
	typ := pgtype.OfColumn(c.Source.Type, catalog.Name{}, true)
	if typ.Family() == pgtype.FloatFamily || typ.Family() == pgtype.NumericFamily && typ.Scale() < 0 {
		step = ", or a step such as {step: 0.01}"
	}
	if d.rels[t.Source.Name].field(c.Source.Name).isCounted() {
		return
	}
	c.Note = unbounded + " [low, high]" + d.known(said, lowKnown, highKnown) + step
}

func noInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || strconv.FormatInt(n, 10) != text
}

// known describes bounds of which only one end is known.
func (inspector) known(said domain, low, high bool) string {
	switch {
	case low:
		return " (a constraint says from " + said.low + " on)"
	case high:
		return " (a constraint says up to " + said.high + ")"
	}
	return ""
}

// time bounds a date or a timestamp likewise.
func (d inspector) time(t *Table, c *Column, said domain) {
	low, lowKnown := day(said.low)
	high, highKnown := day(said.high)
	c.timed = true
	if lowKnown && highKnown && !low.After(high) {
		c.Policy = fmt.Sprintf("{bounds: [%s, %s]}", endOf(c.Source, low), endOf(c.Source, high))
		c.days = spanOf(low, high)
		return
	}
	c.undated = !lowKnown && !highKnown && !d.rels[t.Source.Name].field(c.Source.Name).born()
	c.Note = unbounded + " [first, last]" + d.known(said, lowKnown, highKnown)
}
