package scalar

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// choice resolves COALESCE, GREATEST and LEAST.
func (b *builder) choice(kind choiceKind, args []Expr, at int) (Expr, error) {
	args, t, err := b.alike(args, at)
	if err != nil {
		return nil, err
	}
	args, free, err := b.beside(args)
	return &choice{node: node{t, at, free}, kind: kind, results: args}, err
}

// alike casts the possible results of an expression to one type.
func (b *builder) alike(list []Expr, at int) ([]Expr, pgtype.Type, error) {
	t, ok := common(list)
	if !ok || len(list) == 0 {
		return nil, pgtype.Type{}, pgerr.New(pgerr.NotAllowed, "the results %s have no common type on protected data", signature(list)).
			At(at).
			WithHint("Cast them to one type.")
	}
	if !allFree(list) && t.Family() == pgtype.NoFamily {
		return nil, pgtype.Type{}, notAllowed("a choice between values of type "+t.String(), at)
	}
	out, err := b.coerceAll(list, func(Expr) pgtype.Type { return t })
	if err != nil {
		return nil, pgtype.Type{}, err
	}
	return out, t, b.collate(&t, out, false, at)
}

// nullIf resolves NULLIF. Its result is the left side, in the type of the comparison.
func (b *builder) nullIf(args []Expr, at int) (Expr, error) {
	left := args[0].Type()
	args, err := b.unify(args, at)
	if err != nil {
		return nil, err
	}
	if left.Dated() && !left.Same(args[0].Type()) { // Postgres compares these without a cast
		return nil, notAllowed("NULLIF of a "+left.String()+" and an instant", at)
	}
	if args[0].Type().OID == pgtype.Varchar { // varchar is compared as text
		if args[0], err = b.coerce(args[0], pgtype.Of(pgtype.Text)); err != nil {
			return nil, err
		}
	}
	t := args[0].Type().Below()
	if err := b.collate(&t, args, false, at); err != nil {
		return nil, err
	}
	args, free, err := b.beside(args)
	if err != nil {
		return nil, err
	}
	return &choice{node: node{t, at, free}, kind: nullIf, results: args[:1:1], tests: args[1:]}, nil
}

// concat is || that ignores NULL.
func (b *builder) concat(args []Expr, at int) (Expr, error) {
	fn := &function{name: "concat", result: pgtype.Text, over: concatenate}
	for i, x := range args {
		f := x.Type().Family()
		if x.Type().OID == pgtype.Bpchar || !unknown(x) && f != pgtype.TextFamily && f != pgtype.IntFamily && f != pgtype.NumericFamily {
			return nil, notAllowed("concat() of a value of type "+x.Type().String(), at)
		}
		var err error
		if args[i], err = b.coerce(x, pgtype.Of(pgtype.Text)); err != nil {
			return nil, err
		}
		fn.args = append(fn.args, pgtype.Text)
	}
	return b.apply(fn, args, at)
}

// caseOf resolves CASE. Postgres considers the ELSE first when it determines the type.
func (r *resolution) caseOf(e *ast.Case) (Expr, error) {
	var conds, thens []ast.Expr
	for _, w := range e.Whens {
		conds, thens = append(conds, w.If), append(thens, w.Then)
	}
	tests, simple, err := r.tested(e, conds)
	if err != nil {
		return nil, err
	}
	results := []Expr{mirrorTerm("NULL", pgtype.Of(pgtype.Unknown), e.At)}
	if e.Else != nil {
		if results, err = r.resolveAll(e.Else); err != nil {
			return nil, err
		}
	}
	list, err := r.resolveAll(thens...)
	if err != nil {
		return nil, err
	}
	results, t, err := r.alike(append(results, list...), e.At)
	if err != nil {
		return nil, err
	}
	return r.branches(simple, tests, results, node{typ: t, at: e.At})
}

// tested resolves the tests of CASE; for a simple CASE the operand comes first.
func (r *resolution) tested(e *ast.Case, conds []ast.Expr) (tests []Expr, simple bool, err error) {
	if e.X == nil {
		tests, err = r.conditions(conds)
		return tests, false, err
	}
	if tests, err = r.resolveAll(append([]ast.Expr{e.X}, conds...)...); err != nil {
		return nil, false, err
	}
	return r.whens(tests, e.At)
}

// branches makes a CASE from its tests, with the operand of a simple CASE first, and its results, with the ELSE first.
func (b *builder) branches(simple bool, tests, results []Expr, n node) (Expr, error) {
	n.forMirror = allFree(tests) && allFree(results)
	c := &choice{node: n, kind: caseWhen}
	for _, list := range [][]Expr{tests, results} {
		for i := range list {
			if n.forMirror {
				break
			}
			x, err := b.fold(list[i])
			if err != nil {
				return nil, err
			}
			list[i] = x
		}
	}
	if simple {
		c.x, tests = tests[0], tests[1:]
	}
	c.tests, c.results = tests, slices.Concat(results[1:], results[:1])
	return c, nil
}
