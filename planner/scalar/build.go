package scalar

import (
	"slices"
	"strings"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// A builder combines expressions: it casts operands to the types that their place needs, and makes folds of constants that meet columns.
type builder struct {
	constants *Constants
	concealed bool
}

// unknown reports whether an expression is an untyped literal or sub-select.
func unknown(e Expr) bool { return e.Type().OID == pgtype.Unknown }

// bare reports whether an expression is a sub-select of unknown type.
func bare(e Expr) bool {
	t, ok := e.(*term)
	return ok && t.bare
}

func allFree(list []Expr) bool {
	return !slices.ContainsFunc(list, func(e Expr) bool { return !e.free() })
}

// withoutColumns returns the expressions of a list that have no columns.
func withoutColumns(list []Expr) []Expr {
	return slices.DeleteFunc(slices.Clone(list), func(e Expr) bool { return !e.free() })
}

// condition returns an expression as a condition, or refuses it if it is not boolean.
func (b *builder) condition(x Expr, err error) (Expr, error) {
	switch {
	case err != nil:
		return nil, err
	case unknown(x):
		return b.coerce(x, pgtype.Of(pgtype.Bool))
	case x.Type().Family() != pgtype.BoolFamily:
		return nil, pgerr.New(pgerr.NotAllowed, "a condition of type %s is not boolean", x.Type()).At(x.Pos()).
			WithHint("Compare it with something.")
	}
	return x, nil
}

// fold makes a fold of an expression without columns.
func (b *builder) fold(x Expr) (Expr, error) {
	switch {
	case !x.free():
		return x, nil
	case bare(x):
		return nil, untyped(x.Pos())
	case unknown(x):
		x = mirrorCast(x, pgtype.Of(pgtype.Text), x.Pos(), nil)
	case x.Type().Named():
		return nil, notAllowed("a constant of a user-defined type that is compared with no column of the type", x.Pos())
	}
	f := Fold{SQL: mirrorSQL(x), Type: x.Type(), At: x.Pos(), Concealed: b.concealed, Unknown: holdsUnknown(x)}
	return &constant{node{typ: f.Type, at: f.At}, b.constants.Add(f)}, nil
}

// beside folds the constants in a list with columns. A list without columns remains unchanged for the mirror, and free is true.
func (b *builder) beside(list []Expr) (folded []Expr, free bool, err error) {
	if allFree(list) {
		return list, true, nil
	}
	folded = make([]Expr, len(list))
	for i, x := range list {
		if folded[i], err = b.fold(x); err != nil {
			return nil, false, err
		}
	}
	return folded, false, nil
}

// coerce casts an expression implicitly to the type that its place needs. For a constant the type has no modifier, since nothing makes its
// value satisfy one.
func (b *builder) coerce(x Expr, t pgtype.Type) (Expr, error) {
	switch {
	case x.Type().Same(t) && !bare(x):
		return x, nil
	case !x.free():
		return b.cast(x, t, x.Pos(), nil)
	}
	t = t.Unmodified()
	t.Collation, t.Deterministic = pgtype.Of(0).Collation, true
	if bare(x) && t.Family() != pgtype.TextFamily && t.Family() != pgtype.EnumFamily {
		b.constants.assumed = true
		return mirrorTerm(mirrorSQL(x), t, x.Pos()), nil
	}
	return mirrorCast(x, t, x.Pos(), nil), nil
}

// coerceAll casts each expression of a list implicitly to the type that its place needs.
func (b *builder) coerceAll(list []Expr, to func(Expr) pgtype.Type) ([]Expr, error) {
	out := make([]Expr, len(list))
	for i, x := range list {
		var err error
		if out[i], err = b.coerce(x, to(x)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// cast converts an expression over columns.
func (b *builder) cast(x Expr, t pgtype.Type, at int, mods []int32) (Expr, error) {
	from := x.Type()
	if !convertible(from, t) {
		hint := "A cast must not be able to fail: cast the constant beside it instead."
		switch {
		case from.Dated() && t.Family() == pgtype.TextFamily:
			hint = "Use to_char()."
		case HasFields(from):
			hint = askForFields
		}
		return nil, pgerr.New(pgerr.NotAllowed, "a cast from %s to %s is not allowed on protected data", from, t).At(at).
			WithHint("%s", hint)
	}
	if t.Family() == pgtype.TextFamily {
		t.Collation, t.Deterministic = from.Collation, from.Deterministic
	}
	c := &cast{node: node{typ: t, at: at}, x: x, mods: mods, zone: -1}
	if from.Zoned() != t.Zoned() && (from.Dated() && t.Dated()) {
		c.zone = b.zone(at)
	}
	return c, nil
}

// zone returns the fold of the session's time zone.
func (b *builder) zone(at int) int {
	return b.constants.Add(Fold{SQL: "pg_catalog.current_setting('TimeZone')", Type: pgtype.Of(pgtype.Text), At: at})
}

// apply calls a function or an operator.
func (b *builder) apply(fn *function, args []Expr, at int) (Expr, error) {
	for i := range args {
		x, err := b.coerce(args[i], pgtype.Of(fn.args[i]))
		if err != nil {
			return nil, err
		}
		args[i] = x
	}
	if allFree(args) {
		return b.call(fn, pgtype.Of(fn.result), at, args...)
	}
	if fn.over == nil {
		return nil, pgerr.New(pgerr.NotAllowed, "%s over a column is not allowed on protected data", fn.title()).At(at).
			WithHint("It can be applied to constants alone.")
	}
	for i, x := range args {
		if !x.free() && (slices.Contains(fn.over.constants, i) || fn.args[i] == fn.over.constantOf) {
			return nil, pgerr.New(pgerr.NotAllowed, "argument %d of %s must be a constant on protected data", i+1, fn.title()).At(x.Pos()).
				WithHint("Write it as a literal or a parameter.")
		}
	}
	t := pgtype.Of(fn.result)
	if err := b.collate(&t, args, fn.over.texts, at); err != nil {
		return nil, err
	}
	return b.call(fn, t, at, args...)
}

// call makes a call with arguments of the expected types.
func (b *builder) call(fn *function, t pgtype.Type, at int, args ...Expr) (Expr, error) {
	args, free, err := b.beside(args)
	if err != nil {
		return nil, err
	}
	c := &call{node: node{t, at, free}, fn: fn, args: args, zone: -1}
	if !free && fn.over.zoned && slices.ContainsFunc(args, func(e Expr) bool { return e.Type().Zoned() }) {
		c.zone = b.zone(at)
	}
	return c, nil
}

// collate gives a text the collation of its columns, which must all have the same. If texts are compared or searched the collation must be
// deterministic, so that equal texts have the same bytes.
func (b *builder) collate(t *pgtype.Type, list []Expr, compared bool, at int) error {
	first := true
	for _, x := range list {
		of := x.Type()
		if x.free() || of.Family() != pgtype.TextFamily {
			continue
		}
		if !of.Deterministic && compared {
			return notAllowed("a function of a text with a non-deterministic collation", at)
		}
		if !first && t.Collation != of.Collation {
			return notAllowed("an expression of texts with different collations", at)
		}
		first = false
		t.Collation, t.Deterministic = of.Collation, of.Deterministic
	}
	if t.Family() != pgtype.TextFamily {
		t.Collation, t.Deterministic = pgtype.Of(0).Collation, true
	}
	return nil
}

// typesOf returns the types of expressions.
func typesOf(list []Expr) []pgtype.Type {
	types := make([]pgtype.Type, len(list))
	for i, x := range list {
		types[i] = x.Type()
	}
	return types
}

// oids returns the types of expressions as functions see them.
func oids(list []Expr) []uint32 {
	oids := make([]uint32, len(list))
	for i, x := range list {
		oids[i] = x.Type().Argument()
	}
	return oids
}

// signature writes the types of arguments, e.g. (date, unknown).
func signature(args []Expr) string {
	names := make([]string, len(args))
	for i, x := range args {
		names[i] = x.Type().String()
	}
	return "(" + strings.Join(names, ", ") + ")"
}
