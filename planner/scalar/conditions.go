package scalar

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

// operator resolves an operator: a comparison, LIKE, or an operator that computes.
func (r *resolution) operator(e *ast.Op) (Expr, error) {
	list := []ast.Expr{e.Right}
	if e.Left != nil {
		list = []ast.Expr{e.Left, e.Right}
	}
	args, err := r.resolveAll(list...)
	if err != nil {
		return nil, err
	}
	switch {
	case e.Left != nil && slices.Contains(comparisons, e.Name):
		return r.compare(e.Name, args, e.At)
	case e.Left != nil && strings.Contains(e.Name, "~"):
		return r.like(e.Name, args, e.At)
	case e.Left != nil && slices.Contains(arrayOperators, e.Name):
		return r.arrayTest(e, args)
	}
	if e.Name == "||" && len(args) == 2 {
		if args, err = r.joined(args, e.At); err != nil {
			return nil, err
		}
	}
	if slices.Contains([]string{"+", "-", "*", "/", "%"}, e.Name) {
		if args, err = r.boundedNumbers(args); err != nil {
			return nil, err
		}
	}
	fn, ok := pgtype.PickOperator(operators[e.Name], oids(args))
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "the operator %s%s is not allowed on protected data", e.Name, signature(args)).At(e.At).
			WithHint("Cast the operands to types that the operator takes.")
	}
	return r.apply(fn, args, e.At)
}

// boundedNumbers bounds row numbers of windows by the number of rows of a unit that count, where they are used in arithmetic. Columns of
// row numbers are not bounded: after an outer join they can be NULL, and LEAST would replace NULL by the bound. The numbers themselves
// remain as in Postgres.
func (r *resolution) boundedNumbers(args []Expr) ([]Expr, error) {
	out := slices.Clone(args)
	for i, x := range args {
		a, ok := x.(*aggregate)
		if !ok || a.over == nil || !a.numbers() {
			continue
		}
		most := literal(&ast.Const{Kind: ast.Integer, Text: strconv.FormatInt(min(a.rows, math.MaxInt32), 10), At: x.Pos()})
		number := *a
		number.limited = true
		var err error
		if out[i], err = r.choice(least, []Expr{&number, most}, x.Pos()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// syntax resolves the conditions that have a syntax of their own.
func (r *resolution) syntax(e ast.Expr) (Expr, error) {
	switch e := e.(type) { //nolint:gochecksumtype // resolve passes only these
	case *ast.Bool:
		return r.logic(e)
	case *ast.In:
		return r.listTest(e)
	case *ast.Between:
		return r.rangeTest(e)
	case *ast.IsNull:
		return r.isNull(e)
	case *ast.BoolTest:
		return r.truth(e)
	case *ast.Distinct:
		return r.distinct(e)
	case *ast.AnyOf:
		return r.anyOf(e)
	}
	return nil, notAllowed("this condition", e.Pos())
}

// conditions resolves a list of conditions.
func (r *resolution) conditions(list []ast.Expr) ([]Expr, error) {
	out, err := r.resolveAll(list...)
	for i := range out {
		if err == nil {
			out[i], err = r.condition(out[i], nil)
		}
	}
	return out, err
}

func (r *resolution) logic(e *ast.Bool) (Expr, error) {
	args, err := r.conditions(e.Args)
	if err != nil {
		return nil, err
	}
	return r.combined(e.Kind, args, e.At)
}

func (r *resolution) rangeTest(e *ast.Between) (Expr, error) {
	args, err := r.resolveAll(e.X, e.Low, e.High)
	if err != nil {
		return nil, err
	}
	if apart(args, args[:2], []Expr{args[0], args[2]}) {
		return r.inTwo(e, args)
	}
	word := negated(e.Not, "BETWEEN")
	if e.Symmetric {
		word += " SYMMETRIC"
	}
	return r.compared(&function{name: word, syntax: rangeSQL, over: inRange, strict: 1}, args, e.At)
}

func (r *resolution) isNull(e *ast.IsNull) (Expr, error) {
	x, err := r.resolve(e.X)
	if err != nil {
		return nil, err
	}
	return r.test(testForNull(e.Not), e.At, x)
}

func (r *resolution) truth(e *ast.BoolTest) (Expr, error) {
	x, err := r.condition(r.resolve(e.X))
	if err != nil {
		return nil, err
	}
	if !slices.Contains([]string{"TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"}, e.Kind) {
		return nil, notAllowed("IS "+e.Kind, e.At)
	}
	return r.test(&function{name: "IS " + e.Kind, syntax: postfixSQL, over: truthTest}, e.At, x)
}

func (r *resolution) distinct(e *ast.Distinct) (Expr, error) {
	args, err := r.resolveAll(e.Left, e.Right)
	if err != nil {
		return nil, err
	}
	return r.compared(&function{name: "IS " + negated(e.Not, "DISTINCT FROM"), syntax: infixSQL, over: distinctness}, args, e.At)
}

func (r *resolution) anyOf(e *ast.AnyOf) (Expr, error) {
	if !slices.Contains(comparisons, e.Op) {
		return nil, notAllowed("the operator "+e.Op+" with ANY or ALL", e.At)
	}
	args, err := r.resolveAll(e.Left, e.Array)
	if err != nil {
		return nil, err
	}
	x, array := args[0], args[1]
	if !array.free() && array.Type().Array {
		return r.anyElement(e, x, array)
	}
	if !array.free() || !unknown(array) && !array.Type().Array || unknown(x) {
		return nil, notAllowed("ANY or ALL of anything but a constant array", e.At)
	}
	element := &term{node: node{array.Type().Element(), array.Pos(), true}, bare: bare(array)}
	both, err := r.unify([]Expr{x, element}, e.At)
	if err != nil {
		return nil, err
	}
	t := both[1].Type()
	t.Array = true
	if array, err = r.coerce(array, t); err != nil {
		return nil, err
	}
	return r.test(elements(e.Op, e.All), e.At, both[0], array)
}

// searched is the text that the tests for a regular expression read. A value without columns is computed once.
func (r *resolution) searched(e *ast.Searched) (Expr, error) {
	x, err := r.resolve(e.X)
	if err != nil {
		return nil, err
	}
	t := x.Type()
	switch {
	case !unknown(x) && t.Family() != pgtype.TextFamily:
		return nil, notAllowed("a regular expression on a value of type "+t.String(), e.At)
	case x.free():
		if x, err = r.coerce(x, pgtype.Of(pgtype.Text)); err != nil {
			return nil, err
		}
		return r.fold(x)
	case !t.Deterministic:
		return nil, notAllowed("a regular expression on a text with a non-deterministic collation", e.At)
	case e.Folded && t.Collation != pgtype.Of(0).Collation && !plainCollation(t):
		return nil, notAllowed("a regular expression that ignores case on a text with a collation of its own", e.At).
			WithHint("Write both cases: [Aa] with ~ instead of ~*.")
	case t.OID == pgtype.Bpchar && (t.Length() < 0 || t.Length() > cutLength):
		return nil, notAllowed("a regular expression on a bpchar without a short length", e.At)
	case t.OID == pgtype.Bpchar || e.Wide:
		return r.call(searchedFunction(t.OID), pgtype.Of(pgtype.Text), e.At, x)
	}
	return r.coerce(x, pgtype.Of(pgtype.Text))
}

// anyElement resolves x op ANY (column) and x op ALL (column). The elements are compared as they are.
func (r *resolution) anyElement(e *ast.AnyOf, x, array Expr) (Expr, error) {
	ref, err := arrayOf(array)
	if err != nil {
		return nil, err
	}
	element := &Ref{Column: &Column{Type: ref.Column.Type.Element().Below()}, At: array.Pos()}
	if unknown(x) && !bare(x) {
		if x, err = r.coerce(x, element.Type()); err != nil {
			return nil, err
		}
	}
	both, err := r.unify([]Expr{x, element}, e.At)
	if err != nil {
		return nil, err
	}
	if both[1] != Expr(element) {
		const refusal = "a comparison of a value of type %s with the elements of an array of type %s is not allowed on protected data"
		return nil, pgerr.New(pgerr.NotAllowed, refusal, x.Type(), array.Type()).At(e.At).
			WithHint("Cast the value to the type of the elements.")
	}
	return r.test(elements(e.Op, e.All), e.At, both[0], array)
}

// arrayTest resolves @>, <@ and && of a column and a constant array.
func (r *resolution) arrayTest(e *ast.Op, args []Expr) (Expr, error) {
	column := 0
	if args[0].free() {
		column = 1
	}
	if !args[1-column].free() {
		return nil, pgerr.New(pgerr.NotAllowed, "the operator %s of two columns is not allowed on protected data", e.Name).At(e.At).
			WithHint("Compare the column with a constant array.")
	}
	if args[column].free() {
		return nil, pgerr.New(pgerr.NotAllowed, "the operator %s of constants is not allowed on protected data", e.Name).At(e.At).
			WithHint("Compare a column with a constant array.")
	}
	ref, err := arrayOf(args[column])
	if err != nil {
		return nil, err
	}
	other := args[1-column]
	if t := other.Type(); !unknown(other) && (!t.Array || t.Element().Family() != ref.Type().Element().Family()) {
		return nil, mismatch(args, e.At)
	}
	if args[1-column], err = r.coerce(other, ref.Type().Unmodified()); err != nil {
		return nil, err
	}
	return r.test(&function{name: e.Name, operator: true, over: overlap, strict: 2}, e.At, args...)
}
