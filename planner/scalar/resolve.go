package scalar

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// operand is an expression on its way: over columns, or a constant that may still
// become part of a larger one.
type operand struct {
	x    Expr   // nil for a constant
	sql  string // of a constant
	typ  Type   // unknown for untyped literals and sub-selects
	bare bool   // a sub-select, whose type nobody has said
	at   int
}

func (o operand) free() bool    { return o.x == nil }
func (o operand) unknown() bool { return o.typ.OID == oidUnknown }

func (o operand) isBare() bool { return o.bare }

func over(x Expr) operand { return operand{x: x, typ: x.Type(), at: x.Pos()} }

func free(sql string, t Type, at int) operand { return operand{sql: sql, typ: t, at: at} }

func allFree(ops []operand) bool {
	return !slices.ContainsFunc(ops, func(o operand) bool { return !o.free() })
}

// Expr resolves an expression of any type.
func (r *Resolver) Expr(e ast.Expr) (Expr, error) {
	o, err := r.resolve(e)
	if err != nil {
		return nil, err
	}
	x, err := r.expr(o)
	if err != nil {
		return nil, err
	}
	return x, r.grouped(x)
}

// Literal resolves a constant without a type as one of a type.
func (r *Resolver) Literal(e ast.Expr, t Type) (Expr, error) {
	o, err := r.resolve(e)
	if err == nil {
		o, err = r.coerce(o, t)
	}
	if err != nil {
		return nil, err
	}
	return r.expr(o)
}

// Boolean resolves a condition; an expression of another type is refused.
func (r *Resolver) Boolean(e ast.Expr) (Expr, error) {
	o, err := r.resolve(e)
	if err != nil {
		return nil, err
	}
	x, err := r.boolean(o)
	if err != nil {
		return nil, err
	}
	return x, r.grouped(x)
}

// boolean makes an operand a condition.
func (r *Resolver) boolean(o operand) (Expr, error) {
	o, err := r.condition(o)
	if err != nil {
		return nil, err
	}
	return r.expr(o)
}

func (r *Resolver) condition(o operand) (operand, error) {
	if o.unknown() {
		return r.coerce(o, typ(oidBool))
	}
	if o.typ.Family() != BoolFamily {
		return operand{}, pgerr.New(pgerr.NotAllowed, "a condition of type %s is not boolean", o.typ).At(o.at).
			WithHint("Compare it with something.")
	}
	return o, nil
}

// expr makes an operand an expression: a constant becomes a fold.
func (r *Resolver) expr(o operand) (Expr, error) {
	if !o.free() {
		return o.x, nil
	}
	if o.bare {
		return nil, untyped(o.at)
	}
	if o.unknown() {
		o.sql, o.typ = castSQL(o.sql, typ(oidText)), typ(oidText)
	}
	if o.typ.named() {
		return nil, notAllowed("a constant of a user-defined type that is compared with no column of the type", o.at)
	}
	return &constant{node{o.typ, o.at}, r.Constants.Add(Fold{SQL: o.sql, Type: o.typ, At: o.at, Concealed: r.Concealed})}, nil
}

func untyped(at int) error {
	return pgerr.New(pgerr.NotAllowed, "the type of this constant is not known before it is computed, or not that of what is beside it").At(at).
		WithHint("Cast it: CAST((SELECT ...) AS integer).")
}

func castSQL(sql string, t Type) string { return "CAST(" + sql + " AS " + t.SQL() + ")" }

// coerce gives an operand the type that its place needs, by an implied cast. A constant
// has no modifier then: nothing makes its value one of that.
func (r *Resolver) coerce(o operand, t Type) (operand, error) {
	if o.typ.same(t) && !o.bare {
		return o, nil
	}
	if !o.free() {
		return r.cast(o, t, o.at)
	}
	t = t.Unmodified()
	t.Collation, t.Deterministic = typ(0).Collation, true
	if o.bare && t.Family() != TextFamily && t.Family() != EnumFamily {
		r.Constants.assumed = true
		return free(o.sql, t, o.at), nil
	}
	return free(castSQL(o.sql, t), t, o.at), nil
}

// cast converts an operand over columns.
func (r *Resolver) cast(o operand, t Type, at int) (operand, error) {
	if !convertible(o.typ, t) {
		hint := "A cast must not be able to fail: cast the constant beside it instead."
		if moment(o.typ) && t.Family() == TextFamily {
			hint = "Use to_char()."
		}
		return operand{}, pgerr.New(pgerr.NotAllowed, "a cast from %s to %s is not allowed on protected data", o.typ, t).At(at).WithHint("%s", hint)
	}
	if t.Family() == TextFamily {
		t.Collation, t.Deterministic = o.typ.Collation, o.typ.Deterministic
	}
	c := &cast{node: node{t, at}, x: o.x, zone: -1}
	if zoned(o.typ) != zoned(t) && (moment(o.typ) && moment(t)) {
		c.zone = r.zone(at)
	}
	return over(c), nil
}

// moment reports whether values are dates or points in time.
func moment(t Type) bool { return t.Family() == DateFamily || t.Family() == InstantFamily }

func zoned(t Type) bool { return t.Family() == InstantFamily }

// zone returns the fold with the session's time zone.
func (r *Resolver) zone(at int) int {
	return r.Constants.Add(Fold{SQL: "pg_catalog.current_setting('TimeZone')", Type: typ(oidText), At: at})
}

// all resolves a list.
func (r *Resolver) all(list ...ast.Expr) ([]operand, error) {
	ops := make([]operand, len(list))
	for i, e := range list {
		o, err := r.resolve(e)
		if err != nil {
			return nil, err
		}
		ops[i] = o
	}
	return ops, nil
}

// exprs makes operands expressions.
func (r *Resolver) exprs(ops []operand) ([]Expr, error) {
	list := make([]Expr, len(ops))
	for i, o := range ops {
		x, err := r.expr(o)
		if err != nil {
			return nil, err
		}
		list[i] = x
	}
	return list, nil
}

func (r *Resolver) resolve(e ast.Expr) (operand, error) {
	switch e := e.(type) {
	case nil:
		return operand{}, pgerr.New(pgerr.Internal, "an expression with a gap")
	case *ast.Column:
		c, err := r.Column(e)
		if err != nil {
			return operand{}, err
		}
		return over(&Ref{c, e.At}), nil
	case *ast.Const:
		return literal(e), nil
	case *ast.Param:
		return r.param(e)
	case *ast.ValueFunc:
		return valueFunction(e)
	case *ast.Subquery:
		return operand{sql: e.Text, typ: typ(oidUnknown), bare: true, at: e.At}, nil
	case *ast.Cast:
		return r.explicit(e)
	case *ast.Op:
		return r.operator(e)
	case *ast.Func:
		return r.function(e)
	case *ast.Case:
		return r.caseOf(e)
	case *ast.Array:
		return r.array(e)
	case *ast.InQuery, *ast.Exists:
		return r.query(e)
	case *ast.Aggregate:
		return r.aggregate(e)
	case *ast.Bool, *ast.In, *ast.Between, *ast.IsNull, *ast.BoolTest, *ast.Distinct, *ast.AnyOf:
		return r.test(e)
	}
	return operand{}, notAllowed("this expression", e.Pos())
}

func notAllowed(what string, at int) *pgerr.Error {
	return pgerr.New(pgerr.NotAllowed, "%s is not allowed on protected data", what).At(at).
		WithHint("Write the condition without it, or apply it to the result of the aggregate.")
}

func (r *Resolver) query(e ast.Expr) (operand, error) {
	if r.Condition == nil {
		return operand{}, notAllowed("a sub-select here", e.Pos())
	}
	x, err := r.Condition(e)
	if err != nil {
		return operand{}, err
	}
	return over(x), nil
}

func (r *Resolver) function(e *ast.Func) (operand, error) {
	ops, err := r.all(e.Args...)
	if err != nil {
		return operand{}, err
	}
	switch e.Name {
	case "coalesce", "greatest", "least":
		return r.choice(e.Name, ops, e.At)
	case "nullif":
		if len(ops) != 2 {
			return operand{}, notAllowed("NULLIF of other than two values", e.At)
		}
		return r.nullIf(ops, e.At)
	case "concat":
		return r.concat(ops, e.At)
	}
	candidates := functions[e.Name]
	if candidates == nil && len(ops) == 1 && slices.Contains(castFunctions, e.Name) {
		return r.convert(ops[0], ast.TypeName{Schema: "pg_catalog", Name: e.Name}, e.At)
	}
	if candidates == nil {
		return operand{}, pgerr.New(pgerr.NotAllowed, "the function %s() is not allowed on protected data", e.Name).At(e.At).
			WithHint("Apply it to the result of the aggregate, or compute the value first and write it as a constant.")
	}
	fn := pick(candidates, types(ops))
	if fn == nil {
		return operand{}, pgerr.New(pgerr.NotAllowed, "no function %s%s is allowed on protected data", e.Name, signature(ops)).At(e.At).
			WithHint("Cast the arguments to the types that the function takes.")
	}
	return r.apply(fn, ops, e.At)
}

func types(ops []operand) []uint32 {
	oids := make([]uint32, len(ops))
	for i, o := range ops {
		oids[i] = argOID(o.typ)
	}
	return oids
}

// signature writes the types of arguments, e.g. (date, unknown).
func signature(ops []operand) string {
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = o.typ.String()
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// apply calls a function or an operator.
func (r *Resolver) apply(fn *function, ops []operand, at int) (operand, error) {
	for i := range ops {
		o, err := r.coerce(ops[i], typ(fn.args[i]))
		if err != nil {
			return operand{}, err
		}
		ops[i] = o
	}
	if allFree(ops) {
		return free(fn.sql(texts(ops)...), typ(fn.result), at), nil
	}
	if fn.over == nil {
		return operand{}, pgerr.New(pgerr.NotAllowed, "%s over a column is not allowed on protected data", fn.title()).At(at).
			WithHint("It can be applied to constants alone.")
	}
	return r.call(fn, ops, at)
}

func (r *Resolver) call(fn *function, ops []operand, at int) (operand, error) {
	for i, o := range ops {
		if !o.free() && (slices.Contains(fn.over.constants, i) || fn.args[i] == fn.over.constantOf) {
			return operand{}, pgerr.New(pgerr.NotAllowed, "argument %d of %s must be a constant on protected data", i+1, fn.title()).At(o.at).
				WithHint("Write it as a literal or a parameter.")
		}
	}
	t := typ(fn.result)
	if err := r.collate(&t, ops, fn.over.texts, at); err != nil {
		return operand{}, err
	}
	args, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	c := &call{node: node{t, at}, fn: fn, args: args, zone: -1}
	if fn.over.zoned && slices.ContainsFunc(args, func(e Expr) bool { return zoned(e.Type()) }) {
		c.zone = r.zone(at)
	}
	return over(c), nil
}

// collate gives a text the collation of the columns in it, which must have the same,
// and one where equal texts are the same bytes if texts are compared or searched.
func (r *Resolver) collate(t *Type, ops []operand, compared bool, at int) error {
	first := true
	for _, o := range ops {
		if o.free() || o.typ.Family() != TextFamily {
			continue
		}
		if !o.typ.Deterministic && compared {
			return notAllowed("a function of a text with a non-deterministic collation", at)
		}
		if !first && t.Collation != o.typ.Collation {
			return notAllowed("an expression of texts with different collations", at)
		}
		first = false
		t.Collation, t.Deterministic = o.typ.Collation, o.typ.Deterministic
	}
	if t.Family() != TextFamily {
		t.Collation, t.Deterministic = typ(0).Collation, true
	}
	return nil
}

func texts(ops []operand) []string {
	s := make([]string, len(ops))
	for i, o := range ops {
		s[i] = o.sql
	}
	return s
}
