package suggest

import (
	"time"

	"dpproxy/catalog"
	"dpproxy/suggest/words"
)

// A span is from one day to another, as a policy writes them; "" is unknown.
type span struct{ first, last string }

// manyDates is the number of columns of dates from which on a default is written.
const manyDates = 2

// spanOf returns the span of the days of two timestamps.
func spanOf(first, last time.Time) span {
	return span{first.Format(time.DateOnly), last.Format(time.DateOnly)}
}

// born reports whether a column has dates of birth, which are earlier than other dates.
func (f *field) born() bool { return f.times() && f.isOf(words.Birth) }

// IsBirth reports whether the name of a column suggests dates of birth.
func IsBirth(t *catalog.Table, column string) bool {
	f := readRelation(t).field(column)
	return f != nil && f.born()
}

// commonDates makes the days that constraints give to most columns of dates the default for all. Columns without known days remain without
// bounds. If there are no such days, the default is asked for once instead of at each column.
func commonDates(d *Draft) {
	var all []*Column
	counts := map[span]int{}
	for _, t := range d.listed() {
		for i := range t.Columns {
			if c := &t.Columns[i]; c.timed {
				all, counts[c.days] = append(all, c), counts[c.days]+1
			}
		}
	}
	for days, n := range counts {
		if days != (span{}) && n >= manyDates && 2*n > len(all) {
			d.dates = days
		}
	}
	for _, c := range all {
		switch {
		case d.dates != (span{}) && c.days == d.dates:
			c.Policy = "{}"
		case d.dates != (span{}) && c.Policy == "{}":
			c.Policy = "{bounds: none}"
		case c.undated:
			d.undated++
		}
	}
	if d.undated >= manyDates {
		for _, c := range all {
			c.forgetDates()
		}
	}
}

// forgetDates removes the question for the days of a column that a default bounds.
func (c *Column) forgetDates() {
	if c.undated {
		c.Note = ""
	}
}

// dates writes the default for dates, or the question for it.
func (w *writer) dates() {
	switch {
	case w.d.dates != (span{}):
		w.line(0, "")
		w.line(0, "# As the constraints of most columns of dates say. They bound all that say nothing else; {bounds: none} takes one out.")
		w.line(0, "defaults: {dates: [%s, %s]}", w.d.dates.first, w.d.dates.last)
	case w.d.undated >= manyDates:
		w.line(0, "")
		w.line(0, "# Between which days are nearly all dates? They bound all columns of dates and times that say nothing else, %d of them:",
			w.d.undated)
		w.line(0, "# groups by their days, months or years are public then. Dates of birth need bounds of their own.")
		w.line(0, "# defaults: {dates: [2010-01-01, 2025-12-31]}")
	}
}
