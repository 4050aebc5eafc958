package pgtype

import (
	"math/big"
	"strconv"
	"time"
)

// FloatLiteral writes the float8 that is nearest to a number.
func FloatLiteral(r *big.Rat) string {
	f, _ := r.Float64()
	return "CAST('" + strconv.FormatFloat(f, 'g', -1, 64) + "' AS pg_catalog.float8)"
}

// DateText writes a date, in days behind [Epoch], or a timestamp, in microseconds, so that Postgres
// reads it alike in every session. It is between the years 1 and 9999; one with time zone is in UTC.
func (t Type) DateText(n int64) string {
	switch t.OID {
	case Date:
		return Epoch.AddDate(0, 0, int(n)).Format(time.DateOnly)
	case Timestamptz:
		return Moment(n).Format("2006-01-02 15:04:05.999999") + "+00"
	}
	return Moment(n).Format("2006-01-02 15:04:05.999999")
}

// DateLiteral writes a date or timestamp as a constant of the type.
func (t Type) DateLiteral(n int64) string {
	return "CAST('" + t.DateText(n) + "' AS " + t.SQL() + ")"
}
