package pgtype

import "fmt"

// headerSize is how much the modifier of a numeric or a text is larger than it says: VARHDRSZ of
// Postgres.
const headerSize = 4

// modifier packs a type's modifiers as Postgres does.
func modifier(oid uint32, mods []int32) int32 {
	switch {
	case len(mods) == 0:
	case oid == Numeric && len(mods) == 1:
		return mods[0]<<16 + headerSize
	case oid == Numeric:
		return (mods[0]<<16 | mods[1]&0x7ff) + headerSize
	case oid == Varchar || oid == Bpchar:
		return mods[0] + headerSize
	case len(mods) == 1:
		return mods[0]
	}
	return -1
}

// Modified writes the type with its modifier, as a cast to it takes it.
func (t Type) Modified() string {
	if t.Mod < 0 || t.Array || t.Undeclared {
		return t.SQL()
	}
	switch t.OID {
	case Varchar, Bpchar:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Length())
	case Numeric:
		return fmt.Sprintf("%s(%d, %d)", t.SQL(), t.Precision(), t.signedScale())
	case Timestamp, Timestamptz, Time:
		return fmt.Sprintf("%s(%d)", t.SQL(), t.Mod)
	}
	return t.SQL()
}

// Length returns the n of varchar(n) and character(n), -1 for any other type.
func (t Type) Length() int {
	if t.Family() != TextFamily || t.Mod < headerSize {
		return -1
	}
	return int(t.Mod - headerSize)
}

// Precision returns how many digits a numeric's modifier allows, -1 without one.
func (t Type) Precision() int {
	if !t.scaled() {
		return -1
	}
	return int(t.Mod-headerSize) >> 16
}

// Scale returns the scale in a numeric's modifier, -1 without one. Of a negative one it is 0: values
// have no decimals.
func (t Type) Scale() int {
	if !t.scaled() {
		return -1
	}
	return max(t.signedScale(), 0)
}

// RoundsWhole reports whether a numeric's modifier has a negative scale, which rounds before the
// decimal point.
func (t Type) RoundsWhole() bool { return t.scaled() && t.signedScale() < 0 }

func (t Type) scaled() bool { return t.Decimal() && t.Mod >= headerSize }

// signedScale returns the scale in a numeric's modifier, which has eleven bits for it.
func (t Type) signedScale() int { return int((t.Mod-headerSize)&0x7ff^1024) - 1024 }
