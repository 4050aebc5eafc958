package scalar

import (
	"slices"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// operator resolves an operator: a comparison, LIKE, or one that computes.
func (r *Resolver) operator(e *ast.Op) (operand, error) {
	list := []ast.Expr{e.Right}
	if e.Left != nil {
		list = []ast.Expr{e.Left, e.Right}
	}
	ops, err := r.all(list...)
	if err != nil {
		return operand{}, err
	}
	switch {
	case e.Left != nil && slices.Contains(comparisons, e.Name):
		return r.compare(e.Name, ops, e.At)
	case e.Left != nil && strings.Contains(e.Name, "~"):
		return r.like(e.Name, ops, e.At)
	}
	if e.Name == "||" && len(ops) == 2 {
		if ops, err = r.joined(ops, e.At); err != nil {
			return operand{}, err
		}
	}
	fn := pickOperator(keep(operators[e.Name], func(f *function) bool { return len(f.args) == len(ops) }), types(ops))
	if fn == nil {
		return operand{}, pgerr.New(pgerr.NotAllowed, "the operator %s%s is not allowed on protected data", e.Name, signature(ops)).At(e.At).
			WithHint("Cast the operands to types that the operator takes.")
	}
	return r.apply(fn, ops, e.At)
}

// joined casts to text what is beside a text in ||, as anynonarray || text does.
func (r *Resolver) joined(ops []operand, at int) ([]operand, error) {
	for i, o := range ops {
		other := ops[1-i].typ
		if o.free() || o.typ.Family() == TextFamily || other.Family() != TextFamily && argOID(other) != oidUnknown {
			continue
		}
		text, err := r.convert(o, ast.TypeName{Schema: "pg_catalog", Name: "text"}, at)
		if err != nil {
			return nil, err
		}
		ops[i] = text
	}
	return ops, nil
}

func (r *Resolver) compare(op string, ops []operand, at int) (operand, error) {
	ops, err := r.unify(ops, at)
	if err != nil {
		return operand{}, err
	}
	if allFree(ops) {
		return condition("("+ops[0].sql+" OPERATOR(pg_catalog."+op+") "+ops[1].sql+")", at), nil
	}
	list, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&comparison{boolean(at), op, list[0], list[1]}), nil
}

func boolean(at int) node { return node{typ(oidBool), at} }

// condition is a constant condition.
func condition(sql string, at int) operand { return free(sql, typ(oidBool), at) }

// test resolves the conditions that have a syntax of their own.
func (r *Resolver) test(e ast.Expr) (operand, error) {
	switch e := e.(type) { //nolint:gochecksumtype // resolve hands over these alone
	case *ast.Bool:
		return r.logic(e)
	case *ast.In:
		return severally{r, e.At}.in(e)
	case *ast.Between:
		return severally{r, e.At}.between(e)
	case *ast.IsNull:
		return r.isNull(e)
	case *ast.BoolTest:
		return r.truth(e)
	case *ast.Distinct:
		return r.distinct(e)
	case *ast.AnyOf:
		return r.anyOf(e)
	}
	return operand{}, notAllowed("this condition", e.Pos())
}

func (r *Resolver) logic(e *ast.Bool) (operand, error) {
	ops, err := r.all(e.Args...)
	if err != nil {
		return operand{}, err
	}
	for i := range ops {
		if ops[i], err = r.condition(ops[i]); err != nil {
			return operand{}, err
		}
	}
	return r.combined(e.Kind, ops, e.At)
}

// combined joins conditions.
func (r *Resolver) combined(kind ast.BoolKind, ops []operand, at int) (operand, error) {
	if allFree(ops) {
		return condition(logicSQL(kind, texts(ops)), at), nil
	}
	args, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&logic{boolean(at), kind, args}), nil
}

func logicSQL(kind ast.BoolKind, parts []string) string {
	switch kind {
	case ast.Not:
		return "(NOT " + parts[0] + ")"
	case ast.And:
		return "(" + strings.Join(parts, " AND ") + ")"
	case ast.Or:
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

func inSQL(parts []string, not bool) string {
	return "(" + parts[0] + negated(not) + " IN (" + strings.Join(parts[1:], ", ") + "))"
}

func negated(not bool) string {
	if not {
		return " NOT"
	}
	return ""
}

func betweenSQL(parts []string, not, symmetric bool) string {
	word := " BETWEEN "
	if symmetric {
		word = " BETWEEN SYMMETRIC "
	}
	return "(" + parts[0] + negated(not) + word + parts[1] + " AND " + parts[2] + ")"
}

func (r *Resolver) isNull(e *ast.IsNull) (operand, error) {
	o, err := r.resolve(e.X)
	if err != nil {
		return operand{}, err
	}
	if o.free() {
		return condition("("+o.sql+" IS"+negated(e.Not)+" NULL)", e.At), nil
	}
	return over(&null{boolean(e.At), o.x, e.Not}), nil
}

func (r *Resolver) truth(e *ast.BoolTest) (operand, error) {
	o, err := r.resolve(e.X)
	if err == nil {
		o, err = r.condition(o)
	}
	if err != nil {
		return operand{}, err
	}
	if !slices.Contains([]string{"TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"}, e.Kind) {
		return operand{}, notAllowed("IS "+e.Kind, e.At)
	}
	if o.free() {
		return condition("("+o.sql+" IS "+e.Kind+")", e.At), nil
	}
	return over(&truth{boolean(e.At), o.x, e.Kind}), nil
}

func (r *Resolver) distinct(e *ast.Distinct) (operand, error) {
	ops, err := r.all(e.Left, e.Right)
	if err == nil {
		ops, err = r.unify(ops, e.At)
	}
	if err != nil {
		return operand{}, err
	}
	if allFree(ops) {
		return condition("("+ops[0].sql+" IS"+negated(e.Not)+" DISTINCT FROM "+ops[1].sql+")", e.At), nil
	}
	list, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&distinct{boolean(e.At), list[0], list[1], e.Not}), nil
}

func (r *Resolver) anyOf(e *ast.AnyOf) (operand, error) {
	if !slices.Contains(comparisons, e.Op) {
		return operand{}, notAllowed("the operator "+e.Op+" with ANY or ALL", e.At)
	}
	ops, err := r.all(e.Left, e.Array)
	if err != nil {
		return operand{}, err
	}
	x, array := ops[0], ops[1]
	if !array.free() || !array.unknown() && !array.typ.Array || x.unknown() {
		return operand{}, notAllowed("ANY or ALL of anything but a constant array", e.At)
	}
	elem := array
	elem.typ.Array = false
	both, err := r.unify([]operand{x, elem}, e.At)
	if err != nil {
		return operand{}, err
	}
	t := both[1].typ
	t.Array = true
	if array, err = r.coerce(array, t); err != nil {
		return operand{}, err
	}
	if both[0].free() {
		return condition(anySQL(both[0].sql, e.Op, array.sql, e.All), e.At), nil
	}
	list, err := r.exprs([]operand{both[0], array})
	if err != nil {
		return operand{}, err
	}
	return over(&anyOf{boolean(e.At), e.Op, list[0], list[1], e.All, false}), nil
}

func anySQL(x, op, array string, all bool) string {
	word := " ANY ("
	if all {
		word = " ALL ("
	}
	return "(" + x + " OPERATOR(pg_catalog." + op + ")" + word + array + "))"
}
