package suggest

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"dpproxy/catalog"
	"dpproxy/planner/constraint"
	"dpproxy/planner/pgtype"
)

// An OpenColumn is a column without bounds for which bounds would be useful.
type OpenColumn struct {
	Place
	Source *catalog.Column
	// Born says that the column has dates of birth, which are earlier than other dates.
	Born bool
}

// Unbounded returns the columns of a table for which bounds are useful: times, and numbers that are neither part of a key nor identify
// something. shown reports whether the policy shows a column.
func Unbounded(t *catalog.Table, shown func(column string) bool) []OpenColumn {
	r := readRelation(t)
	var all []OpenColumn
	for _, f := range r.fields {
		number := f.fam == pgtype.IntFamily || f.fam == pgtype.NumericFamily || f.fam == pgtype.FloatFamily
		time := f.fam == pgtype.DateFamily || f.fam == pgtype.InstantFamily
		if (time || number && !inKey(t, f.Name) && !f.isCounted()) && !f.foreign && shown(f.Name) {
			all = append(all, OpenColumn{Place{t.Name, f.Name}, f.Column, f.born()})
		}
	}
	return all
}

var pair = regexp.MustCompile(`^\[?\s*([^,\[\]]+?)\s*,\s*([^,\[\]]+?)\s*\]?$`)

// Bounds asks for the bounds of columns, one by one. It passes each answer, as a policy writes it, to taken, which returns its effect.
func (c *Conversation) Bounds(open []OpenColumn, taken func(o OpenColumn, bounds string) (effect string)) error {
	for i, o := range open {
		stop, bounds := false, ""
		question := fmt.Sprintf("(%d of %d) Bounds of %s.%s (%s), as %s; . for none here and in all others", i+1, len(open),
			oneLine(shortName(o.Table)), oneLine(o.Column), oneLine(o.Source.Type.Display), o.sample())
		c.ask(question, "none", "", func(answer string) string {
			if stop = answer == "."; stop || isNo(answer) {
				return ""
			}
			m := pair.FindStringSubmatch(answer)
			if m != nil {
				bounds = o.bounds(m[1], m[2])
			}
			if bounds == "" {
				return "two ends, the lower first: " + o.sample()
			}
			return ""
		})
		if stop || c.failed != nil {
			break
		}
		if bounds != "" {
			c.tell(taken(o, bounds))
		}
	}
	return c.failed
}

// Dates asks between which days nearly all dates are, if that is a default for several columns without dates of birth. It returns the days
// as a policy writes them, or "".
func (c *Conversation) Dates(open []OpenColumn) (days string, err error) {
	var all []string
	for _, o := range open {
		if o.Times() && !o.Born {
			all = append(all, oneLine(shortName(o.Table)+"."+o.Column))
		}
	}
	if len(all) < manyDates {
		return "", nil
	}
	if n := len(all); n > grouped {
		all = append(all[:grouped:grouped], "...")
	}
	c.ask(fmt.Sprintf("Between which days are nearly all dates, as 2010-01-01, 2025-12-31? They bound %s", strings.Join(all, ", ")),
		"none", "each is asked about", func(answer string) string {
			if isNo(answer) {
				return ""
			}
			if m := pair.FindStringSubmatch(answer); m != nil {
				first, err := time.Parse(time.DateOnly, m[1])
				last, errToo := time.Parse(time.DateOnly, m[2])
				if err == nil && errToo == nil && first.Year() > 0 && !first.After(last) {
					days = "[" + m[1] + ", " + m[2] + "]"
					return ""
				}
			}
			return "two days, the earlier first: 2010-01-01, 2025-12-31"
		})
	return days, c.failed
}

// Times reports whether the column has dates or timestamps.
func (o OpenColumn) Times() bool {
	fam := familyOf(o.Source)
	return fam == pgtype.DateFamily || fam == pgtype.InstantFamily
}

func (o OpenColumn) sample() string {
	if o.Times() {
		return "2015-01-01, 2030-12-31"
	}
	return "0, 100"
}

// bounds writes two ends as a policy writes them; "" if they are not valid for the column.
func (o OpenColumn) bounds(low, high string) string {
	if o.Times() {
		from, ok := day(low)
		to, okToo := day(high)
		if !ok || !okToo || from.After(to) {
			return ""
		}
		if _, err := time.Parse(time.DateOnly, high); err == nil && o.Source.Type.BaseOID != pgtype.Date { // to the end of the last day
			to = to.AddDate(0, 0, 1).Add(-time.Microsecond)
		}
		return fmt.Sprintf("[%s, %s]", endOf(o.Source, from), endOf(o.Source, to))
	}
	from, ok := constraint.Number(low)
	to, okToo := constraint.Number(high)
	if !ok || !okToo || from.Cmp(to) > 0 {
		return ""
	}
	return fmt.Sprintf("[%s, %s]", low, high)
}
