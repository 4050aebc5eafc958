package pgtype

import (
	"slices"

	"dpproxy/catalog"
)

// Common returns the type that the results of CASE, COALESCE, GREATEST and LEAST have
// together (select_common_type in src/backend/parser/parse_coerce.c); ok is false if they have
// none. [Unknown] is the type of untyped literals.
func Common(types []Type) (t Type, ok bool) {
	known := slices.DeleteFunc(slices.Clone(types), func(t Type) bool { return t.OID == Unknown })
	switch {
	case len(known) == 0:
		return Of(Text), true
	case known[0].Family() == EnumFamily:
		return CommonEnum(known)
	}
	t = known[0]
	for _, o := range known[1:] {
		switch {
		case o.Same(t):
		case category(o.Argument()) != category(t.Argument()) || t.Argument() == 0:
			return Type{}, false
		case !preferred(t.OID) && implicit(t.OID, o.OID) && !implicit(o.OID, t.OID):
			t = o
		}
	}
	for _, o := range known {
		if !o.Same(t) && !implicit(o.Argument(), t.Argument()) {
			return Type{}, false
		}
		switch {
		case len(known) < len(types) || !o.Same(t) || o.Mod != t.Mod:
			t = t.Unmodified()
		case o.Domain != t.Domain || o.Undeclared != t.Undeclared:
			t.Domain, t.Undeclared = catalog.Name{}, true
		}
	}
	return t, true
}

// CommonEnum returns the enum type that values have together. A constant of a type that the analyst
// has made may have a cast to any type on the mirror: only a cast there makes it one of the enum.
func CommonEnum(types []Type) (t Type, ok bool) {
	t = types[0]
	for _, o := range types {
		if !o.Named() {
			t = o
		}
	}
	for _, o := range types {
		if may := o.Named() && o.MayBe(t); !may && !o.Same(t) {
			return t, false
		}
	}
	return t, true
}

// Union returns the type of a column of two queries that UNION ALL combines
// (transformSetOperationTree in src/backend/parser/analyze.c). Of different types it takes
// integers together, and texts that are not padded; ok is false of others.
func Union(a, b Type) (t Type, ok bool) {
	switch {
	case a == b:
		return b, true
	case a.Domain != b.Domain || a.Undeclared != b.Undeclared:
		a, b = a.Below(), b.Below()
		a.Undeclared, b.Undeclared = true, true
		return Union(a, b)
	case a.Array || b.Array || a.Collation != b.Collation || a.Deterministic != b.Deterministic:
		return a, false
	case a.Whole() && b.Whole():
		if a.OID == Int8 || b.OID == Int2 {
			return a, true
		}
		return b, true
	case a.OID == b.OID && a.Enum == b.Enum:
		a.Mod = -1
		return a, true
	case a.unpadded() && b.unpadded():
		a.Mod = -1 // the first branch names the type: each of the two becomes the other
		return a, true
	}
	return a, false
}

func (t Type) unpadded() bool { return t.OID == Text || t.OID == Varchar }

// Sum returns the type of Postgres's sum over numbers of a type.
func Sum(t Type) Type {
	switch t.OID {
	case Int2, Int4:
		return Of(Int8)
	case Float4, Float8:
		return Of(t.OID)
	}
	return Of(Numeric)
}

// Mean returns the type of Postgres's avg, variance and stddev over numbers of a type.
func Mean(t Type) Type {
	if t.Float() {
		return Of(Float8)
	}
	return Of(Numeric)
}
