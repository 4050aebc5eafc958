package pgtype

// OIDs of built-in types. They are the same in every Postgres.
const (
	Bool        = 16
	Int8        = 20
	Int2        = 21
	Int4        = 23
	Text        = 25
	Float4      = 700
	Float8      = 701
	Bpchar      = 1042
	Varchar     = 1043
	Date        = 1082
	Timestamp   = 1114
	Timestamptz = 1184
	Numeric     = 1700
	UUID        = 2950
)
