package scalar

import (
	"slices"

	"dpproxy/catalog"
	"dpproxy/pgerr"
)

// unify gives operands that are compared with each other types with a common
// comparison. It casts integers to numeric or float, and constants, but nothing that
// could raise: a numeric column beside a float needs bounds.
func (r *Resolver) unify(ops []operand, at int) ([]operand, error) {
	target, ok := together(ops)
	if !ok {
		return nil, mismatch(ops, at)
	}
	var ignored Type
	if err := r.collate(&ignored, ops, false, at); err != nil {
		return nil, err
	}
	out := make([]operand, len(ops))
	for i, o := range ops {
		var err error
		if out[i], err = r.coerce(o, target(o)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func mismatch(ops []operand, at int) error {
	name := func(o operand) string {
		if o.free() {
			return "a constant of type " + o.typ.String()
		}
		return "a value of type " + o.typ.String()
	}
	one := ops[0]
	for _, o := range ops[1:] {
		if !o.unknown() && (one.unknown() || o.typ.Family() != one.typ.Family() || o.typ.Enum != one.typ.Enum) {
			return pgerr.New(pgerr.NotAllowed, "a comparison of %s with %s is not allowed on protected data", name(one), name(o)).At(at).
				WithHint("Cast the constant to the column's type.")
		}
	}
	return pgerr.New(pgerr.NotAllowed, "a comparison of %s is not allowed on protected data", name(one)).At(at).
		WithHint("Values of this type can only be counted, or tested for NULL.")
}

// together returns the type that each operand takes in a comparison of all, or
// false if they do not compare.
func together(ops []operand) (func(operand) Type, bool) {
	known := slices.DeleteFunc(slices.Clone(ops), operand.unknown)
	if len(known) == 0 {
		return func(operand) Type { return typ(oidText) }, !slices.ContainsFunc(ops, operand.isBare)
	}
	families := map[Family]bool{}
	for _, o := range known {
		families[o.typ.Family()] = true
	}
	first := known[0].typ
	asIs := func(o operand) Type {
		if o.unknown() {
			return first
		}
		return o.typ
	}
	switch {
	case families[NoFamily]:
		return nil, false
	case families[EnumFamily]:
		return comparableEnums(known, len(families) == 1)
	case only(families, IntFamily, NumericFamily, FloatFamily):
		return comparableNumbers(families, asIs), true
	case only(families, TextFamily):
		return comparableTexts(known), true
	case only(families, DateFamily, InstantFamily) && families[InstantFamily]:
		return func(operand) Type { return typ(oidTimestamptz) }, true
	}
	return asIs, len(families) == 1
}

func only(families map[Family]bool, allowed ...Family) bool {
	for f := range families {
		if !slices.Contains(allowed, f) {
			return false
		}
	}
	return true
}

func comparableNumbers(families map[Family]bool, asIs func(operand) Type) func(operand) Type {
	return func(o operand) Type {
		t := asIs(o)
		switch {
		case families[FloatFamily] && t.Family() != FloatFamily:
			return typ(oidFloat8)
		case families[NumericFamily] && t.Family() == IntFamily:
			return typ(oidNumeric)
		}
		return t
	}
}

// comparableTexts follows Postgres: character(n) beside text is text, beside
// varchar it compares as character(n), without trailing spaces.
func comparableTexts(known []operand) func(operand) Type {
	has := func(oid uint32) bool {
		return slices.ContainsFunc(known, func(o operand) bool { return o.typ.OID == oid })
	}
	target := typ(oidText)
	if has(oidBpchar) && !has(oidText) {
		target = typ(oidBpchar)
	}
	return func(o operand) Type {
		if o.typ.OID == oidVarchar && target.OID == oidText && !o.free() {
			return o.typ
		}
		t := target
		t.Collation, t.Deterministic = o.typ.Collation, o.typ.Deterministic
		return t
	}
}

// comparableEnums takes operands of one enum type. A constant of a type that the analyst has
// made may have a cast to any type on the mirror: only a cast there makes it one of the enum.
func comparableEnums(known []operand, enums bool) (func(operand) Type, bool) {
	target := known[0].typ
	for _, o := range known {
		if !o.typ.named() {
			target = o.typ
		}
	}
	ok := enums
	for _, o := range known {
		ok = ok && (o.typ.same(target) || o.typ.named() && o.typ.mayBe(target))
	}
	return func(operand) Type { return target }, ok
}

// common returns the type that the results of CASE, COALESCE, GREATEST and LEAST have
// together (select_common_type in src/backend/parser/parse_coerce.c).
func common(ops []operand) (Type, bool) {
	known := slices.DeleteFunc(slices.Clone(ops), operand.unknown)
	if len(known) == 0 {
		return typ(oidText), !slices.ContainsFunc(ops, operand.isBare)
	}
	if known[0].typ.Family() == EnumFamily {
		target, ok := comparableEnums(known, true)
		return target(known[0]), ok
	}
	t := known[0].typ
	for _, o := range known[1:] {
		switch {
		case o.typ.same(t):
		case category(argOID(o.typ)) != category(argOID(t)) || argOID(t) == 0:
			return Type{}, false
		case !preferred(t.OID) && implicit(t.OID, o.typ.OID) && !implicit(o.typ.OID, t.OID):
			t = o.typ
		}
	}
	for _, o := range known {
		if !o.typ.same(t) && !implicit(argOID(o.typ), argOID(t)) {
			return Type{}, false
		}
		switch {
		case len(known) < len(ops) || !o.typ.same(t) || o.typ.Mod != t.Mod:
			t = t.Unmodified()
		case o.typ.Domain != t.Domain || o.typ.Undeclared != t.Undeclared:
			t.Domain, t.Undeclared = catalog.Name{}, true
		}
	}
	return t, true
}
