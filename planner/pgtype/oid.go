package pgtype

// OIDs of built-in types. They are the same in every Postgres.
const (
	Bool        = 16
	Name        = 19
	Int8        = 20
	Int2        = 21
	Int4        = 23
	Text        = 25
	JSON        = 114
	Float4      = 700
	Float8      = 701
	Unknown     = 705 // of a literal without a type
	Bpchar      = 1042
	Varchar     = 1043
	Date        = 1082
	Time        = 1083
	Timestamp   = 1114
	Timestamptz = 1184
	Interval    = 1186
	Timetz      = 1266
	Numeric     = 1700
	UUID        = 2950
	JSONB       = 3802
)

// FirstUser is where the OIDs of user-defined types begin.
const FirstUser = 16384
