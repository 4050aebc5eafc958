package suggest

import (
	"time"

	"dpproxy/catalog"
	"dpproxy/planner/pgtype"
)

// day reads a date or a timestamp, as Postgres prints constants and people write them.
func day(text string) (time.Time, bool) {
	for _, layout := range []string{time.DateOnly, time.DateTime, "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07"} {
		if t, err := time.Parse(layout, text); err == nil && t.Year() > 0 {
			return t, true
		}
	}
	return time.Time{}, false
}

// endOf writes an end of bounds in the form of the type of a column.
func endOf(c *catalog.Column, t time.Time) string {
	switch c.Type.BaseOID {
	case pgtype.Date:
		return t.Format(time.DateOnly)
	case pgtype.Timestamptz:
		return t.Format(`"2006-01-02 15:04:05.999999Z07:00"`)
	}
	return t.Format(`"2006-01-02 15:04:05.999999"`)
}
