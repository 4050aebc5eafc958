package suggest

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// A Column is an entry of a table's columns.
type Column struct {
	Source *catalog.Column
	// Policy is the entry in the file, such as {values: enum} or hidden, and Note a comment behind it.
	Policy, Note string
	// Open says that bounds would be of use, and nobody has stated any; Times that they are of a date or an instant.
	Open, Times bool
}

// columns decides about the columns of a protected table.
func (d *Draft) columns(t *Table) {
	for i := range t.Source.Columns {
		t.Columns = append(t.Columns, d.column(t, &t.Source.Columns[i]))
	}
	for again := true; again; { // a value that is computed from a hidden one would show it
		again = false
		for i := range t.Columns {
			if c := &t.Columns[i]; c.Policy != hidden && slices.ContainsFunc(c.Source.From, t.hides) {
				c.Policy, c.Note, c.Open, again = hidden, "computed from a hidden column", false, true
			}
		}
	}
}

const hidden = "hidden"

func (t *Table) hides(column string) bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Source.Name == column && c.Policy == hidden })
}

func (d *Draft) column(t *Table, src *catalog.Column) Column {
	c := Column{Source: src, Policy: "{}"}
	if why := d.choices.Hidden[Place{t.Source.Name, src.Name}]; why != "" {
		c.Policy, c.Note = hidden, why
		return c
	}
	said := domainOf(src.Name, d.survey.Checks[t.Source.Name])
	if src.Type.Kind == 'd' {
		ofDomain := domainOf("value", d.survey.Checks[src.Type.Name])
		said.low, said.high = either(said.low, ofDomain.low), either(said.high, ofDomain.high)
		if said.values == nil {
			said.values = ofDomain.values
		}
	}
	switch fam := familyOf(src); {
	case src.Virtual:
		c.Policy, c.Note = hidden, "a virtual generated column is computed when it is read, which can fail on a row"
	case t.Distance == 0 && slices.Contains(t.NotProtected, src.Name):
		c.Policy, c.Note = hidden, "refers to another "+d.UnitName+", whom this row does not protect"
	case src.Name == t.Unit:
		c.Note = "the " + d.UnitName
	case d.isReference(t, src.Name):
		c.Note = d.referred(t, src.Name)
	case fam == pgtype.EnumFamily:
		c.Policy = "{values: enum}"
	case fam == pgtype.BoolFamily:
		c.Policy = "{values: [false, true]}"
	case slices.Contains([]pgtype.Family{pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily}, fam):
		d.number(t, &c, said)
	case fam == pgtype.DateFamily || fam == pgtype.InstantFamily:
		d.time(t, &c, said)
	case fam == pgtype.TextFamily && listable(src, said.values):
		c.Policy = "{values: [" + strings.Join(quoted(said.values), ", ") + "]}"
	case fam == pgtype.TextFamily:
		c.Policy, c.Note = hidden, "text, which can name somebody. Or is it one of a few words? {values: [...]}"
	case fam == pgtype.UUIDFamily:
		if !inKey(t.Source, src.Name) {
			c.Policy, c.Note = hidden, "refers to nothing that the database knows of"
		}
	case fam == pgtype.TimeFamily || fam == pgtype.IntervalFamily:
	default:
		c.Policy, c.Note = hidden, src.Type.Display+", of which nothing can be asked"
	}
	return c
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// listable reports whether a text can have these values in a policy.
func listable(c *catalog.Column, values []string) bool {
	padded := c.Type.BaseOID == pgtype.Bpchar
	return values != nil && c.Deterministic && !slices.ContainsFunc(values, func(v string) bool {
		return padded && strings.HasSuffix(v, " ") || strings.ContainsFunc(v, unprintable)
	})
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f }

// isReference reports whether a column is part of a foreign key.
func (d *Draft) isReference(t *Table, name string) bool {
	return slices.ContainsFunc(foreignKeys(t.Source), func(fk catalog.ForeignKey) bool { return slices.Contains(fk.Columns, name) })
}

// referred names the table that a column refers to.
func (d *Draft) referred(t *Table, name string) string {
	for _, fk := range foreignKeys(t.Source) {
		if slices.Contains(fk.Columns, name) {
			note := "refers to " + shortName(fk.References)
			if slices.Contains(d.Unrelated, fk.References) {
				note += ", which is not in the policy"
			}
			return note
		}
	}
	return ""
}

// inKey reports whether a column is part of a key, or numbered by a sequence: it tells rows apart.
func inKey(t *catalog.Table, name string) bool {
	if c, ok := t.Column(name); ok && (c.Identity != "" || c.Serial != "") {
		return true
	}
	return slices.ContainsFunc(t.Keys, func(k catalog.Key) bool { return slices.Contains(k.Columns, name) })
}

// number bounds a number as constraints do, or asks.
func (d *Draft) number(t *Table, c *Column, said domain) {
	if inKey(t.Source, c.Source.Name) {
		c.Note = "a key"
		return
	}
	if b, ok := d.choices.Bounds[Place{t.Source.Name, c.Source.Name}]; ok {
		said = domain{low: b[0], high: b[1]}
	}
	if said.values != nil && familyOf(c.Source) == pgtype.IntFamily && !slices.ContainsFunc(said.values, noInteger) {
		c.Policy = "{values: [" + strings.Join(said.values, ", ") + "]}"
		return
	}
	low, lowKnown := number(said.low)
	high, highKnown := number(said.high)
	if lowKnown && highKnown && low.Cmp(high) <= 0 {
		c.Policy = fmt.Sprintf("{bounds: [%s, %s]}", said.low, said.high)
		return
	}
	needs := "percentiles, variance, min and max need them"
	typ := pgtype.OfColumn(c.Source.Type, catalog.Name{}, true)
	if typ.Family() == pgtype.FloatFamily || typ.Family() == pgtype.NumericFamily && typ.Scale() < 0 {
		needs = "sums and averages need them, or a step such as {step: 0.01}; " + needs
	}
	c.Open = true
	c.Note = fmt.Sprintf("bounds: ? between which numbers is %s, of nearly all rows%s? %s",
		c.Source.Name, d.known(said, lowKnown, highKnown), needs)
}

func noInteger(text string) bool {
	n, err := strconv.ParseInt(text, 10, 64)
	return err != nil || strconv.FormatInt(n, 10) != text
}

// known tells of bounds of which one end alone is known.
func (*Draft) known(said domain, low, high bool) string {
	switch {
	case low:
		return " (a constraint says from " + said.low + " on)"
	case high:
		return " (a constraint says up to " + said.high + ")"
	}
	return ""
}

// number reads a number that a policy takes as a bound.
func number(text string) (*big.Rat, bool) {
	if text == "" || strings.ContainsAny(text, "/_xXpP") || len(text) > 100 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// time bounds a date or a point in time, likewise.
func (d *Draft) time(t *Table, c *Column, said domain) {
	c.Times = true
	if b, ok := d.choices.Bounds[Place{t.Source.Name, c.Source.Name}]; ok {
		said = domain{low: b[0], high: b[1]}
	}
	low, lowKnown := day(said.low)
	high, highKnown := day(said.high)
	if lowKnown && highKnown && !low.After(high) {
		c.Policy = fmt.Sprintf("{bounds: [%s, %s]}", d.end(c, low), d.end(c, high))
		return
	}
	c.Open = true
	c.Note = fmt.Sprintf("bounds: ? which are the first and the last day of %s that may count%s? "+
		"{bounds: %s}; groups by time, percentiles, min and max need them",
		c.Source.Name, d.known(said, lowKnown, highKnown), "[first, last]")
}

// end writes an end of bounds in the form that the type of the column has.
func (*Draft) end(c *Column, t time.Time) string {
	switch c.Source.Type.BaseOID {
	case pgtype.Date:
		return t.Format(time.DateOnly)
	case pgtype.Timestamptz:
		return t.Format(`"2006-01-02 15:04:05Z07:00"`)
	}
	return t.Format(`"2006-01-02 15:04:05"`)
}

// day reads a date or a point in time, as Postgres prints constants and people write them.
func day(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 0 {
			return t, true
		}
	}
	return time.Time{}, false
}
