package scalar

import (
	"fmt"
	"slices"
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

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

// typeInfo describes a built-in type.
type typeInfo struct {
	name     string // in pg_catalog
	family   Family
	category byte // pg_type.typcategory
	array    uint32
	send     string // writes a value as bytes; empty where no value is ever written
}

var typeInfos = map[uint32]typeInfo{
	pgtype.Bool:        {"bool", BoolFamily, 'B', 1000, "boolsend"},
	pgtype.Name:        {"name", NoFamily, 'S', 0, ""},
	pgtype.Int8:        {"int8", IntFamily, 'N', 1016, "int8send"},
	pgtype.Int2:        {"int2", IntFamily, 'N', 1005, "int2send"},
	pgtype.Int4:        {"int4", IntFamily, 'N', 1007, "int4send"},
	pgtype.Text:        {"text", TextFamily, 'S', 1009, "textsend"},
	pgtype.Float4:      {"float4", FloatFamily, 'N', 1021, "float8send"},
	pgtype.Float8:      {"float8", FloatFamily, 'N', 1022, "float8send"},
	pgtype.Bpchar:      {"bpchar", TextFamily, 'S', 1014, "textsend"},
	pgtype.Varchar:     {"varchar", TextFamily, 'S', 1015, "textsend"},
	pgtype.Date:        {"date", DateFamily, 'D', 1182, "date_send"},
	pgtype.Time:        {"time", TimeFamily, 'D', 1183, "time_send"},
	pgtype.Timestamp:   {"timestamp", DateFamily, 'D', 1115, "timestamp_send"},
	pgtype.Timestamptz: {"timestamptz", InstantFamily, 'D', 1185, "timestamptz_send"},
	pgtype.Interval:    {"interval", IntervalFamily, 'T', 1187, "interval_send"},
	pgtype.Timetz:      {"timetz", NoFamily, 'D', 0, ""},
	pgtype.Numeric:     {"numeric", NumericFamily, 'N', 1231, "numeric_send"},
	pgtype.UUID:        {"uuid", UUIDFamily, 'U', 2951, "uuid_send"},
}

// Preferred types win where several functions could take an argument.
func preferred(oid uint32) bool {
	switch oid {
	case pgtype.Bool, pgtype.Float8, pgtype.Text, pgtype.Timestamptz, pgtype.Interval:
		return true
	}
	return false
}

// castable lists the implicit casts between built-in types.
var castable = map[uint32][]uint32{
	pgtype.Int2:      {pgtype.Int4, pgtype.Int8, pgtype.Numeric, pgtype.Float4, pgtype.Float8},
	pgtype.Int4:      {pgtype.Int8, pgtype.Numeric, pgtype.Float4, pgtype.Float8},
	pgtype.Int8:      {pgtype.Numeric, pgtype.Float4, pgtype.Float8},
	pgtype.Numeric:   {pgtype.Float4, pgtype.Float8},
	pgtype.Float4:    {pgtype.Float8},
	pgtype.Date:      {pgtype.Timestamp, pgtype.Timestamptz},
	pgtype.Timestamp: {pgtype.Timestamptz},
	pgtype.Time:      {pgtype.Timetz, pgtype.Interval},
	pgtype.Text:      {pgtype.Varchar, pgtype.Bpchar},
	pgtype.Varchar:   {pgtype.Text, pgtype.Bpchar},
	pgtype.Bpchar:    {pgtype.Text, pgtype.Varchar},
	pgtype.Name:      {pgtype.Text},
}

// implicit reports whether a value of one type becomes one of the other by itself.
func implicit(from, to uint32) bool {
	return from == to || slices.Contains(castable[from], to)
}

// A Type is a type that may meet protected rows.
type Type struct {
	// OID is that of the base type: never a domain's. Of enums it is 0.
	OID uint32
	// Enum names an enum type; zero for all others.
	Enum catalog.Name
	// Mod is the type modifier, -1 without.
	Mod int32
	// Collation of a text; zero for types without, and for the default collation.
	Collation catalog.Name
	// Deterministic is false where equal texts can differ in their bytes.
	Deterministic bool
	// Display is the name for people of a type that has no family.
	Display string
	// Domain names the domain that the values are of, if they are; the other fields describe
	// the type below it.
	Domain catalog.Name
	// Undeclared says that the values are as Mod tells, but Postgres gives them no modifier.
	Undeclared bool
	// Array says that it is an array of the type that the other fields describe:
	// of constants only.
	Array bool
}

// TypeOf returns the type that a column of type t has in expressions: below a domain,
// its base type. The collation is that of catalog.Column. A text that is padded to very
// many characters has no family: Postgres reads all of it for whatever it does.
func TypeOf(t catalog.TypeRef, collation catalog.Name, deterministic bool) Type {
	out := Type{OID: t.OID, Mod: t.Mod, Collation: collation, Deterministic: deterministic}
	switch t.Kind {
	case 'd':
		out.OID, out.Mod, out.Domain = t.BaseOID, t.BaseMod, t.Name
	case 'e':
		out.OID, out.Enum = 0, t.Name
	}
	if out.OID == pgtype.Bpchar && out.Mod-4 > longestPadded {
		out.OID = 0
	}
	if out.Family() == NoFamily {
		out.Display = t.Display
	}
	return out
}

// typ is a built-in type without a modifier.
func typ(oid uint32) Type { return Type{OID: oid, Mod: -1, Deterministic: true} }

// Family returns the family that values of the type compare in.
func (t Type) Family() Family {
	switch {
	case t.Array:
		return NoFamily
	case t.Enum != catalog.Name{}:
		return EnumFamily
	}
	return typeInfos[t.OID].family
}

// SQL returns the qualified name of the type without its modifier, for casts; "" if
// the type has no values that are ever written.
func (t Type) SQL() string {
	suffix := ""
	if t.Array {
		suffix = "[]"
	}
	if t.Enum.Name != "" {
		return qualifiedName(t.Enum) + suffix
	}
	info, ok := typeInfos[t.OID]
	if !ok {
		return ""
	}
	return "pg_catalog." + info.name + suffix
}

func qualifiedName(n catalog.Name) string {
	if n.Schema == "" {
		return ast.QuoteIdent(n.Name)
	}
	return ast.QuoteIdent(n.Schema) + "." + ast.QuoteIdent(n.Name)
}

// String names the type for people.
func (t Type) String() string {
	switch {
	case t.OID == pgtype.Unknown:
		return "unknown"
	case t.Enum.Name != "":
		return t.Enum.Name
	case t.SQL() == "":
		return t.Display
	}
	return strings.TrimPrefix(t.SQL(), "pg_catalog.")
}

// wire returns the OID that the mirror reports for a value of the type; 0 stands for
// that of any user-defined type.
func (t Type) wire() uint32 {
	switch {
	case t.Enum.Name != "":
		return 0
	case t.Array:
		return typeInfos[t.OID].array
	}
	return t.OID
}

// typeOfOID returns the type of a parameter, or of a cast.
func typeOfOID(oid uint32) (Type, bool) {
	if _, ok := typeInfos[oid]; ok {
		return typ(oid), true
	}
	for elem, info := range typeInfos {
		if info.array == oid && oid != 0 {
			return Type{OID: elem, Mod: -1, Deterministic: true, Array: true}, true
		}
	}
	return Type{}, false
}

// Below returns the type below a domain. Postgres forgets the domain's modifier there, though
// the values are the same.
func (t Type) Below() Type {
	if t.Domain.Name != "" {
		t.Domain, t.Undeclared = catalog.Name{}, true
	}
	return t
}

// Unmodified returns the type without modifier and domain.
func (t Type) Unmodified() Type {
	t.Mod, t.Domain, t.Undeclared = -1, catalog.Name{}, false
	return t
}

// same reports whether two types are one, modifiers, domains and collations aside.
func (t Type) same(o Type) bool { return t.OID == o.OID && t.Enum == o.Enum && t.Array == o.Array }

// whole reports whether values are whole numbers.
func (t Type) whole() bool { return t.Family() == IntFamily }

// decimal reports whether values are numerics.
func (t Type) decimal() bool { return t.Family() == NumericFamily }

// float reports whether values are floating-point numbers.
func (t Type) float() bool { return t.Family() == FloatFamily }

// element returns the type of an array's elements.
func (t Type) element() Type {
	t.Array = false
	return t
}

// number reports whether values are numbers.
func (t Type) number() bool {
	return t.whole() || t.decimal() || t.float()
}

// Modified writes the type with its modifier, as a cast to it takes it.
func (t Type) Modified() string {
	if t.Mod < 0 || t.Array || t.Undeclared {
		return t.SQL()
	}
	switch t.OID {
	case pgtype.Varchar, pgtype.Bpchar:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Mod-4)
	case pgtype.Numeric:
		return fmt.Sprintf("%s(%d, %d)", t.SQL(), (t.Mod-4)>>16, signedScale(t))
	case pgtype.Timestamp, pgtype.Timestamptz, pgtype.Time:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Mod)
	}
	return t.SQL()
}

// moment reports whether values are dates or points in time.
func moment(t Type) bool { return t.Family() == DateFamily || t.Family() == InstantFamily }

func zoned(t Type) bool { return t.Family() == InstantFamily }

// anyName stands for the name of a parameter's user-defined type: only its OID on the
// mirror is known.
const anyName = "(user-defined)"

// named reports whether a user-defined type is one that the client has named: its
// values on the mirror need not be in the protected database.
func (t Type) named() bool { return t.OID == pgtype.FirstUser }

// mayBe reports whether a type that the client has named could be that of a column. The
// mirror finds out: it casts the constant to the column's type.
func (t Type) mayBe(column Type) bool {
	return t.Enum.Name == anyName || t.Enum.Name == column.Enum.Name && (t.Enum.Schema == "" || t.Enum.Schema == column.Enum.Schema)
}

// digitsOf returns the decimals of a numeric column within its bounds.
func digitsOf(t Type) int {
	if digits := scaleOf(t); digits >= 0 {
		return digits
	}
	return keptDigits
}

// scaleOf returns the scale in a numeric's modifier, -1 if it has none.
func scaleOf(t Type) int {
	if t.Mod < 4 {
		return -1
	}
	return max(signedScale(t), 0)
}

// signedScale returns the scale in a numeric's modifier, which has eleven bits for it: a
// negative one rounds before the decimal point.
func signedScale(t Type) int { return int((t.Mod-4)&0x7ff^1024) - 1024 }

// longestPadded bounds the n of a char(n) whose value is read.
const longestPadded = 1 << 16
