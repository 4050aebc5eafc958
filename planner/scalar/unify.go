package scalar

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// unify gives operands that are compared with each other types with a common
// comparison. It casts integers to numeric or float, and constants, but nothing that
// could raise: a numeric column beside a float needs bounds.
func (b *builder) unify(ops []Expr, at int) ([]Expr, error) {
	target, ok := together(ops)
	if !ok {
		return nil, mismatch(ops, at)
	}
	var ignored Type
	if err := b.collate(&ignored, ops, false, at); err != nil {
		return nil, err
	}
	return b.coerceAll(ops, target)
}

func mismatch(ops []Expr, at int) error {
	name := func(o Expr) string {
		if o.free() {
			return "a constant of type " + o.Type().String()
		}
		return "a value of type " + o.Type().String()
	}
	one := ops[0]
	for _, o := range ops[1:] {
		if !unknown(o) && (unknown(one) || o.Type().Family() != one.Type().Family() || o.Type().Enum != one.Type().Enum) {
			return pgerr.New(pgerr.NotAllowed, "a comparison of %s with %s is not allowed on protected data", name(one), name(o)).At(at).
				WithHint("Cast the constant to the column's type.")
		}
	}
	return pgerr.New(pgerr.NotAllowed, "a comparison of %s is not allowed on protected data", name(one)).At(at).
		WithHint("Values of this type can only be counted, or tested for NULL.")
}

// together returns the type that each operand takes in a comparison of all, or
// false if they do not compare.
func together(ops []Expr) (func(Expr) Type, bool) {
	known := slices.DeleteFunc(slices.Clone(ops), unknown)
	if len(known) == 0 {
		return func(Expr) Type { return typ(pgtype.Text) }, !slices.ContainsFunc(ops, bare)
	}
	families := map[Family]bool{}
	for _, o := range known {
		families[o.Type().Family()] = true
	}
	first := known[0].Type()
	ownType := func(o Expr) Type {
		if unknown(o) {
			return first
		}
		return o.Type()
	}
	switch {
	case families[NoFamily]:
		return nil, false
	case families[EnumFamily]:
		return comparableEnums(known, len(families) == 1)
	case only(families, IntFamily, NumericFamily, FloatFamily):
		return comparableNumbers(families, ownType), true
	case only(families, TextFamily):
		return comparableTexts(known), true
	case only(families, DateFamily, InstantFamily) && families[InstantFamily]:
		return func(Expr) Type { return typ(pgtype.Timestamptz) }, true
	}
	return ownType, len(families) == 1
}

func only(families map[Family]bool, allowed ...Family) bool {
	for f := range families {
		if !slices.Contains(allowed, f) {
			return false
		}
	}
	return true
}

func comparableNumbers(families map[Family]bool, ownType func(Expr) Type) func(Expr) Type {
	return func(o Expr) Type {
		t := ownType(o)
		switch {
		case families[FloatFamily] && t.Family() != FloatFamily:
			return typ(pgtype.Float8)
		case families[NumericFamily] && t.Family() == IntFamily:
			return typ(pgtype.Numeric)
		}
		return t
	}
}

// comparableTexts follows Postgres: character(n) beside text is text, beside
// varchar it compares as character(n), without trailing spaces.
func comparableTexts(known []Expr) func(Expr) Type {
	has := func(oid uint32) bool {
		return slices.ContainsFunc(known, func(o Expr) bool { return o.Type().OID == oid })
	}
	target := typ(pgtype.Text)
	if has(pgtype.Bpchar) && !has(pgtype.Text) {
		target = typ(pgtype.Bpchar)
	}
	return func(o Expr) Type {
		if o.Type().OID == pgtype.Varchar && target.OID == pgtype.Text && !o.free() {
			return o.Type()
		}
		t := target
		t.Collation, t.Deterministic = o.Type().Collation, o.Type().Deterministic
		return t
	}
}

// comparableEnums takes operands of one enum type. A constant of a type that the analyst has
// made may have a cast to any type on the mirror: only a cast there makes it one of the enum.
func comparableEnums(known []Expr, enums bool) (func(Expr) Type, bool) {
	target := known[0].Type()
	for _, o := range known {
		if !o.Type().named() {
			target = o.Type()
		}
	}
	ok := enums
	for _, o := range known {
		ok = ok && (o.Type().same(target) || o.Type().named() && o.Type().mayBe(target))
	}
	return func(Expr) Type { return target }, ok
}

// common returns the type that the results of CASE, COALESCE, GREATEST and LEAST have
// together (select_common_type in src/backend/parser/parse_coerce.c).
func common(ops []Expr) (Type, bool) {
	known := slices.DeleteFunc(slices.Clone(ops), unknown)
	if len(known) == 0 {
		return typ(pgtype.Text), !slices.ContainsFunc(ops, bare)
	}
	if known[0].Type().Family() == EnumFamily {
		target, ok := comparableEnums(known, true)
		return target(known[0]), ok
	}
	t := known[0].Type()
	for _, o := range known[1:] {
		switch {
		case o.Type().same(t):
		case category(argOID(o.Type())) != category(argOID(t)) || argOID(t) == 0:
			return Type{}, false
		case !preferred(t.OID) && implicit(t.OID, o.Type().OID) && !implicit(o.Type().OID, t.OID):
			t = o.Type()
		}
	}
	for _, o := range known {
		if !o.Type().same(t) && !implicit(argOID(o.Type()), argOID(t)) {
			return Type{}, false
		}
		switch {
		case len(known) < len(ops) || !o.Type().same(t) || o.Type().Mod != t.Mod:
			t = t.Unmodified()
		case o.Type().Domain != t.Domain || o.Type().Undeclared != t.Undeclared:
			t.Domain, t.Undeclared = catalog.Name{}, true
		}
	}
	return t, true
}
