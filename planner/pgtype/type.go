package pgtype

import (
	"strings"

	"dpproxy/catalog"
	"dpproxy/parser/ast"
)

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
	// Array says that it is an array of the type that the other fields describe.
	Array bool
}

// LongestPadded bounds the n of a char(n) whose value is read.
const LongestPadded = 1 << 16

// Of returns a built-in type without a modifier.
func Of(oid uint32) Type { return Type{OID: oid, Mod: -1, Deterministic: true} }

// OfColumn returns the type that a column of type t has in expressions: below a domain,
// its base type. The collation is that of catalog.Column. A text that is padded to very
// many characters has no family: Postgres reads all of it for whatever it does.
func OfColumn(t catalog.TypeRef, collation catalog.Name, deterministic bool) Type {
	out := Type{OID: t.OID, Mod: t.Mod, Collation: collation, Deterministic: deterministic}
	switch t.Kind {
	case 'd':
		out.OID, out.Mod, out.Domain = t.BaseOID, t.BaseMod, t.Name
	case 'e':
		out.OID, out.Enum = 0, t.Name
	}
	if out.OID == Bpchar && out.Mod-4 > LongestPadded {
		out.OID = 0
	}
	if of, ok := elementOf(out.OID); ok {
		out.OID, out.Array = of, true
		return out
	}
	if out.Family() == NoFamily {
		out.Display = t.Display
	}
	return out
}

// anyName stands for the name of a parameter's user-defined type: only its OID on the
// mirror is known.
const anyName = "(user-defined)"

// OfParameter returns the type of a parameter; ok is false for one that is not known.
func OfParameter(oid uint32) (t Type, ok bool) {
	if oid >= FirstUser {
		return named(catalog.Name{Name: anyName}), true
	}
	if _, ok := builtins[oid]; ok {
		return Of(oid), true
	}
	t = Of(arrays[oid])
	t.Array = true
	return t, t.OID != 0
}

// OfName returns the type that a cast names; ok is false for one that is not known. A name that is
// not of pg_catalog is that of a user-defined type.
func OfName(n ast.TypeName) (t Type, ok bool) {
	var oid uint32
	if n.Schema == "" || n.Schema == "pg_catalog" {
		oid, ok = ByName(n.Name)
	}
	switch {
	case ok:
		t = Of(oid)
		t.Mod = modifier(oid, n.Mods)
	case n.Schema == "pg_catalog":
		return Type{}, false
	default:
		t, ok = named(catalog.Name{Schema: n.Schema, Name: n.Name}), len(n.Mods) == 0
	}
	t.Array = n.Array
	return t, ok
}

// named is a user-defined type as the client names it.
func named(n catalog.Name) Type {
	t := Of(FirstUser)
	t.Enum = n
	return t
}

// Named reports whether a user-defined type is one that the client has named: its
// values on the mirror need not be in the protected database.
func (t Type) Named() bool { return t.OID == FirstUser }

// MayBe reports whether a type that the client has named could be that of a column. The
// mirror finds out: it casts the constant to the column's type.
func (t Type) MayBe(column Type) bool {
	return t.Enum.Name == anyName || t.Enum.Name == column.Enum.Name && (t.Enum.Schema == "" || t.Enum.Schema == column.Enum.Schema)
}

// Family returns the family that values of the type compare in.
func (t Type) Family() Family {
	switch {
	case t.Array:
		return NoFamily
	case t.Enum != catalog.Name{}:
		return EnumFamily
	}
	return builtins[t.OID].family
}

// SQL returns the qualified name of the type without its modifier, for casts; "" if
// the type has no values that are ever written.
func (t Type) SQL() string {
	suffix := ""
	if t.Array {
		suffix = "[]"
	}
	if t.Enum.Name != "" {
		return qualified(t.Enum) + suffix
	}
	b, ok := builtins[t.OID]
	if !ok {
		return ""
	}
	return "pg_catalog." + b.name + suffix
}

func qualified(n catalog.Name) string {
	if n.Schema == "" {
		return ast.QuoteIdent(n.Name)
	}
	return ast.QuoteIdent(n.Schema) + "." + ast.QuoteIdent(n.Name)
}

// String names the type for people.
func (t Type) String() string {
	switch {
	case t.OID == Unknown:
		return "unknown"
	case t.Enum.Name != "":
		return t.Enum.Name
	case t.SQL() == "":
		return t.Display
	}
	return strings.TrimPrefix(t.SQL(), "pg_catalog.")
}

// Wire returns the OID that the mirror reports for a value of the type; 0 stands for
// that of any user-defined type.
func (t Type) Wire() uint32 {
	switch {
	case t.Enum.Name != "":
		return 0
	case t.Array:
		return builtins[t.OID].array
	}
	return t.OID
}

// Argument returns how the type appears in the argument lists of functions: by its OID, or
// as 0, which no function takes.
func (t Type) Argument() uint32 {
	if t.Array || t.Enum.Name != "" {
		return 0
	}
	return t.OID
}

// Send returns the function that writes a value of the type as bytes; "" if no value ever is.
func (t Type) Send() string {
	if t.Array || builtins[t.OID].send == "" {
		return ""
	}
	return "pg_catalog." + builtins[t.OID].send
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

// Element returns the type of an array's elements.
func (t Type) Element() Type {
	t.Array = false
	return t
}

// Same reports whether two types are one, modifiers, domains and collations aside.
func (t Type) Same(o Type) bool { return t.OID == o.OID && t.Enum == o.Enum && t.Array == o.Array }

// Whole reports whether values are whole numbers.
func (t Type) Whole() bool { return t.Family() == IntFamily }

// Decimal reports whether values are numerics.
func (t Type) Decimal() bool { return t.Family() == NumericFamily }

// Float reports whether values are floating-point numbers.
func (t Type) Float() bool { return t.Family() == FloatFamily }

// Number reports whether values are numbers.
func (t Type) Number() bool { return t.Whole() || t.Decimal() || t.Float() }

// Dated reports whether values are dates or points in time.
func (t Type) Dated() bool { return t.Family() == DateFamily || t.Zoned() }

// Zoned reports whether values are points in time, whose date depends on a time zone.
func (t Type) Zoned() bool { return t.Family() == InstantFamily }
