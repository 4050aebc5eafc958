package scalar

import (
	"slices"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// unify casts operands that are compared with each other to types with a common comparison. It casts integers to numeric or float, and
// constants, but nothing that could raise: a numeric column that is compared with a float needs bounds.
func (b *builder) unify(ops []Expr, at int) ([]Expr, error) {
	target, ok := together(ops)
	if !ok {
		return nil, mismatch(ops, at)
	}
	var ignored pgtype.Type
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

// together returns the type that each operand has in a comparison of all operands; it returns false if they cannot be compared.
func together(ops []Expr) (func(Expr) pgtype.Type, bool) {
	known := slices.DeleteFunc(slices.Clone(ops), unknown)
	if len(known) == 0 {
		return func(Expr) pgtype.Type { return pgtype.Of(pgtype.Text) }, !slices.ContainsFunc(ops, bare)
	}
	families := map[pgtype.Family]bool{}
	for _, o := range known {
		families[o.Type().Family()] = true
	}
	first := known[0].Type()
	ownType := func(o Expr) pgtype.Type {
		if unknown(o) {
			return first
		}
		return o.Type()
	}
	switch {
	case families[pgtype.NoFamily]:
		return nil, false
	case families[pgtype.EnumFamily]:
		t, ok := pgtype.CommonEnum(typesOf(known))
		return func(Expr) pgtype.Type { return t }, ok && len(families) == 1
	case only(families, pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily):
		return comparableNumbers(families, ownType), true
	case only(families, pgtype.TextFamily):
		return comparableTexts(known), true
	case only(families, pgtype.DateFamily, pgtype.InstantFamily) && families[pgtype.InstantFamily]:
		return func(Expr) pgtype.Type { return pgtype.Of(pgtype.Timestamptz) }, true
	}
	return ownType, len(families) == 1
}

func only(families map[pgtype.Family]bool, allowed ...pgtype.Family) bool {
	for f := range families {
		if !slices.Contains(allowed, f) {
			return false
		}
	}
	return true
}

func comparableNumbers(families map[pgtype.Family]bool, ownType func(Expr) pgtype.Type) func(Expr) pgtype.Type {
	return func(o Expr) pgtype.Type {
		t := ownType(o)
		switch {
		case families[pgtype.FloatFamily] && t.Family() != pgtype.FloatFamily:
			return pgtype.Of(pgtype.Float8)
		case families[pgtype.NumericFamily] && t.Family() == pgtype.IntFamily:
			return pgtype.Of(pgtype.Numeric)
		}
		return t
	}
}

// comparableTexts follows Postgres: character(n) is compared with text as text, and with varchar as character(n), without trailing spaces.
func comparableTexts(known []Expr) func(Expr) pgtype.Type {
	has := func(oid uint32) bool {
		return slices.ContainsFunc(known, func(o Expr) bool { return o.Type().OID == oid })
	}
	target := pgtype.Of(pgtype.Text)
	if has(pgtype.Bpchar) && !has(pgtype.Text) {
		target = pgtype.Of(pgtype.Bpchar)
	}
	return func(o Expr) pgtype.Type {
		if o.Type().OID == pgtype.Varchar && target.OID == pgtype.Text && !o.free() {
			return o.Type()
		}
		t := target
		t.Collation, t.Deterministic = o.Type().Collation, o.Type().Deterministic
		return t
	}
}

// common returns the common type of the results of CASE, COALESCE, GREATEST or LEAST. A sub-select of unknown type needs an operand of
// known type.
func common(ops []Expr) (pgtype.Type, bool) {
	t, ok := pgtype.Common(typesOf(ops))
	known := slices.ContainsFunc(ops, func(e Expr) bool { return !unknown(e) })
	return t, ok && (known || !slices.ContainsFunc(ops, bare))
}
