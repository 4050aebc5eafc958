package scalar

import (
	"strings"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// choice resolves COALESCE, GREATEST and LEAST.
func (r *Resolver) choice(kind string, ops []operand, at int) (operand, error) {
	ops, t, err := r.alike(ops, at)
	if err != nil {
		return operand{}, err
	}
	if allFree(ops) {
		return free(strings.ToUpper(kind)+"("+strings.Join(texts(ops), ", ")+")", t, at), nil
	}
	args, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	return over(&choice{node{t, at}, kind, args}), nil
}

// alike gives the possible results of an expression one type.
func (r *Resolver) alike(ops []operand, at int) ([]operand, Type, error) {
	t, ok := common(ops)
	if !ok || len(ops) == 0 {
		return nil, Type{}, pgerr.New(pgerr.NotAllowed, "the results %s have no common type on protected data", signature(ops)).At(at).
			WithHint("Cast them to one type.")
	}
	if !allFree(ops) && t.Family() == NoFamily {
		return nil, Type{}, notAllowed("a choice between values of type "+t.String(), at)
	}
	out := make([]operand, len(ops))
	for i, o := range ops {
		var err error
		if out[i], err = r.coerce(o, t); err != nil {
			return nil, Type{}, err
		}
	}
	return out, t, r.collate(&t, out, false, at)
}

// nullIf resolves NULLIF: its result is the left side as it is compared.
func (r *Resolver) nullIf(ops []operand, at int) (operand, error) {
	left := ops[0].typ
	ops, err := r.unify(ops, at)
	if err != nil {
		return operand{}, err
	}
	if moment(left) && !left.same(ops[0].typ) { // Postgres compares them without a cast
		return operand{}, notAllowed("NULLIF of a "+left.String()+" and an instant", at)
	}
	if ops[0].typ.OID == oidVarchar { // compared as text
		if ops[0], err = r.coerce(ops[0], typ(oidText)); err != nil {
			return operand{}, err
		}
	}
	if allFree(ops) {
		return free("NULLIF("+ops[0].sql+", "+ops[1].sql+")", ops[0].typ, at), nil
	}
	args, err := r.exprs(ops)
	if err != nil {
		return operand{}, err
	}
	t := ops[0].typ.Below()
	if err := r.collate(&t, ops, false, at); err != nil {
		return operand{}, err
	}
	return over(&nullIf{node{t, at}, args[0], args[1]}), nil
}

// concat is || that passes NULL over.
func (r *Resolver) concat(ops []operand, at int) (operand, error) {
	fn := &function{name: "concat", result: oidText, over: concatenate}
	for i, o := range ops {
		f := o.typ.Family()
		if o.typ.OID == oidBpchar || !o.unknown() && f != TextFamily && f != IntFamily && f != NumericFamily {
			return operand{}, notAllowed("concat() of a value of type "+o.typ.String(), at)
		}
		var err error
		if ops[i], err = r.coerce(o, typ(oidText)); err != nil {
			return operand{}, err
		}
		fn.args = append(fn.args, oidText)
	}
	return r.apply(fn, ops, at)
}

// caseOf resolves CASE. Postgres takes the ELSE first when it looks for the type.
func (r *Resolver) caseOf(e *ast.Case) (operand, error) {
	var conds, results []ast.Expr
	if e.Else != nil {
		results = append(results, e.Else)
	}
	for _, w := range e.Whens {
		conds, results = append(conds, w.If), append(results, w.Then)
	}
	tested, simple, err := r.tested(e, conds)
	if err != nil {
		return operand{}, err
	}
	ops, err := r.all(results...)
	if err != nil {
		return operand{}, err
	}
	if e.Else == nil {
		ops = append([]operand{free("NULL", typ(oidUnknown), e.At)}, ops...)
	}
	ops, t, err := r.alike(ops, e.At)
	if err != nil {
		return operand{}, err
	}
	if allFree(tested) && allFree(ops) {
		return free(caseSQL(simple, texts(tested), texts(ops)), t, e.At), nil
	}
	return r.branches(simple, tested, ops, node{t, e.At})
}

// tested resolves what CASE compares or tests: first the operand if it is a simple CASE.
func (r *Resolver) tested(e *ast.Case, conds []ast.Expr) (ops []operand, simple bool, err error) {
	if e.X == nil {
		ops, err := r.all(conds...)
		for i := range ops {
			if err == nil {
				ops[i], err = r.condition(ops[i])
			}
		}
		return ops, false, err
	}
	if ops, err = r.all(append([]ast.Expr{e.X}, conds...)...); err != nil {
		return nil, false, err
	}
	return severally{r, e.At}.whens(ops)
}

func (r *Resolver) branches(simple bool, tested, results []operand, n node) (operand, error) {
	conds, err := r.exprs(tested)
	if err != nil {
		return operand{}, err
	}
	thens, err := r.exprs(results)
	if err != nil {
		return operand{}, err
	}
	b := &branches{node: n, otherwise: thens[0]}
	if simple {
		b.x, conds = conds[0], conds[1:]
	}
	for i, c := range conds {
		b.whens = append(b.whens, when{c, thens[i+1]})
	}
	return over(b), nil
}

// caseSQL writes CASE; of results the first is the ELSE.
func caseSQL(operand bool, tested, results []string) string {
	var b strings.Builder
	b.WriteString("CASE")
	if operand {
		b.WriteString(" " + tested[0])
		tested = tested[1:]
	}
	for i, c := range tested {
		b.WriteString(" WHEN " + c + " THEN " + results[i+1])
	}
	return b.String() + " ELSE " + results[0] + " END"
}
