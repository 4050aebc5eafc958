package scalar

import "dpproxy/planner/pgtype"

// exactPart writes EXTRACT as Postgres 14 and later compute it, as a numeric, by means of the date_part of doubles of earlier versions.
// Doubles represent whole numbers of these sizes exactly; fields with decimals are composed from whole fields. A year of
// an interval counts as 365.25 days, and a month beside years as 30.
func exactPart(name, field, x string, from pgtype.Type) string {
	part := func(field string) string {
		return castSQL("pg_catalog.date_part("+field+", "+x+")", pgtype.Of(pgtype.Numeric))
	}
	if from.OID == pgtype.Timestamptz { // only an epoch: the other fields are written for local times
		x = "pg_catalog.timezone('UTC', " + x + ")"
	}
	const seconds = " * 0.000001"
	switch name {
	case "second":
		return "(" + part("'microseconds'") + seconds + ")"
	case "milliseconds":
		return "(" + part("'microseconds'") + " * 0.001)"
	case "epoch":
		days := castSQL("("+castSQL(x, pgtype.Of(pgtype.Date))+" OPERATOR(pg_catalog.-) CAST('1970-01-01' AS pg_catalog.date))",
			pgtype.Of(pgtype.Numeric))
		switch from.OID {
		case pgtype.Date:
			return "(" + days + " * 86400)"
		case pgtype.Interval:
			days = "(" + part("'year'") + " * 365.25 + " + part("'month'") + " * 30 + " + part("'day'") + ")"
		}
		return "(" + days + " * 86400 + " + part("'hour'") + " * 3600 + " + part("'minute'") + " * 60 + " + part("'microseconds'") +
			seconds + ")"
	}
	return part(field)
}
