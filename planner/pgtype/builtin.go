package pgtype

// A Family is a group of types whose values compare with each other.
type Family uint8

// The families. Values of NoFamily cannot be compared on protected data.
const (
	NoFamily Family = iota
	BoolFamily
	IntFamily
	NumericFamily
	FloatFamily
	TextFamily
	DateFamily // date and timestamp without time zone
	InstantFamily
	TimeFamily
	IntervalFamily
	UUIDFamily
	EnumFamily
)

// builtin is a built-in type.
type builtin struct {
	name      string // in pg_catalog
	family    Family
	category  byte // pg_type.typcategory
	preferred bool // pg_type.typispreferred: it wins where several functions could take an argument
	array     uint32
	send      string // the function that writes a value as bytes; empty where no value is ever written
	size      int    // of these bytes; 0 where it varies
}

var builtins = map[uint32]builtin{
	Bool:        {"bool", BoolFamily, 'B', true, 1000, "boolsend", 1},
	Name:        {"name", NoFamily, 'S', false, 0, "", 0},
	Int8:        {"int8", IntFamily, 'N', false, 1016, "int8send", 8},
	Int2:        {"int2", IntFamily, 'N', false, 1005, "int2send", 2},
	Int4:        {"int4", IntFamily, 'N', false, 1007, "int4send", 4},
	Text:        {"text", TextFamily, 'S', true, 1009, "textsend", 0},
	Float4:      {"float4", FloatFamily, 'N', false, 1021, "float4send", 4},
	Float8:      {"float8", FloatFamily, 'N', true, 1022, "float8send", 8},
	Bpchar:      {"bpchar", TextFamily, 'S', false, 1014, "bpcharsend", 0},
	Varchar:     {"varchar", TextFamily, 'S', false, 1015, "varcharsend", 0},
	Date:        {"date", DateFamily, 'D', false, 1182, "date_send", 4},
	Time:        {"time", TimeFamily, 'D', false, 1183, "time_send", 8},
	Timestamp:   {"timestamp", DateFamily, 'D', false, 1115, "timestamp_send", 8},
	Timestamptz: {"timestamptz", InstantFamily, 'D', true, 1185, "timestamptz_send", 8},
	Interval:    {"interval", IntervalFamily, 'T', true, 1187, "interval_send", 16},
	Timetz:      {"timetz", NoFamily, 'D', false, 0, "", 12},
	Numeric:     {"numeric", NumericFamily, 'N', false, 1231, "numeric_send", 0},
	UUID:        {"uuid", UUIDFamily, 'U', false, 2951, "uuid_send", 16},
}

// arrays are the built-in types of elements, by the OIDs of their arrays.
var arrays = func() map[uint32]uint32 {
	all := map[uint32]uint32{}
	for of, b := range builtins {
		if b.array != 0 {
			all[b.array] = of
		}
	}
	return all
}()

// elementOf returns the type of the elements of a column that is an array, if its elements are values as those of
// other columns: all but floating-point numbers, times and intervals.
func elementOf(array uint32) (of uint32, ok bool) {
	of = arrays[array]
	switch builtins[of].family {
	case BoolFamily, IntFamily, NumericFamily, TextFamily, DateFamily, InstantFamily, UUIDFamily:
		return of, true
	case NoFamily, FloatFamily, TimeFamily, IntervalFamily, EnumFamily:
	}
	return 0, false
}

// ByName returns the OID of the built-in type of that name in pg_catalog.
func ByName(name string) (oid uint32, ok bool) {
	for oid, b := range builtins {
		if b.name == name {
			return oid, true
		}
	}
	return 0, false
}

// Size returns how many bytes the binary format of a built-in type has, 0 where that varies.
func Size(oid uint32) int { return builtins[oid].size }

// Bits returns the size of an integer type, its sign among them.
func Bits(oid uint32) int { return 8 * Size(oid) }
