package scalar

import (
	"strconv"
	"strings"
)

// test writes a condition.
func (w *Writer) test(e Expr) (string, error) {
	parts, err := w.compared(e)
	if err != nil {
		return "", err
	}
	switch e := e.(type) { //nolint:gochecksumtype // dispatch hands over these alone
	case *comparison:
		return operatorSQL(e.op, parts[0], parts[1], e.typ).sql, nil
	case *distinct:
		return "(" + parts[0] + " IS" + negated(e.not) + " DISTINCT FROM " + parts[1] + ")", nil
	case *among:
		return inSQL(parts, e.not), nil
	case *between:
		return betweenSQL(parts, e.not, e.symmetric), nil
	case *anyOf:
		return anySQL(parts[0], e.op, parts[1], e.all), nil
	case *logic:
		return logicSQL(e.kind, parts), nil
	case *null:
		return nullSQL(e.x.Type(), parts[0], e.not), nil
	case *truth:
		return "(" + parts[0] + " IS " + e.kind + ")", nil
	}
	return "", notAllowed("this condition", e.Pos())
}

// storedFields bounds the bytes, as they are stored, of a composite value whose fields are
// looked at. One without a value in any field has fewer.
const storedFields = 2048

// nullSQL writes IS [NOT] NULL. Of a composite value Postgres looks at the fields, and reads
// all of it for that: so a large one is neither NULL nor has a field that is.
func nullSQL(t Type, x string, not bool) string {
	test := "(" + x + " IS" + negated(not) + " NULL)"
	if t.Family() != NoFamily {
		return test
	}
	return "CASE WHEN pg_catalog.pg_column_size(" + x + ") OPERATOR(pg_catalog.>) " + strconv.Itoa(storedFields) + " THEN " + strings.ToUpper(strconv.FormatBool(not)) + " ELSE " + test + " END"
}

// compared writes operands that are compared as they are: what they are computed in
// compares within each family, and an instant is compared as one.
func (w *Writer) compared(e Expr) ([]string, error) {
	list := operands(e)
	parts := make([]string, len(list))
	for i, o := range list {
		f, err := w.tested(e, o, list)
		if err != nil {
			return nil, err
		}
		parts[i] = w.instant(f).sql
	}
	return parts, nil
}

// tested writes an operand of a condition.
func (w *Writer) tested(e, o Expr, list []Expr) (fragment, error) {
	switch e.(type) { //nolint:gochecksumtype // the others take their operands as they are
	case *null:
		ref, plain := o.(*Ref)
		if _, key := w.grouped(o, exact); plain && !key {
			return fragment{sql: ref.Column.Presence(), typ: o.Type()}, nil
		}
	case *comparison, *distinct, *among, *between, *anyOf:
		f, err := w.comparand(o, list, equality(e))
		if byOrder(e) {
			f = unestimated(o, f)
		}
		return f, err
	}
	return w.write(o, exact)
}

// oneOf writes an expression whose value is one of several.
func (w *Writer) oneOf(e Expr, m mode) (fragment, error) {
	t, m := w.Env.physical(e), cutting(e, m)
	result := func(o Expr) (string, error) {
		f, err := w.write(o, m)
		if err != nil {
			return "", err
		}
		return w.as(f, t, o.Pos())
	}
	switch e := e.(type) { //nolint:gochecksumtype // dispatch hands over these alone
	case *choice:
		return w.choose(e, t, result)
	case *nullIf:
		left, err := result(e.left)
		if err != nil {
			return fragment{}, err
		}
		right, err := w.write(e.right, cutting(e.right, exact))
		return fragment{sql: "NULLIF(" + left + ", " + w.instant(right).sql + ")", typ: t}, err
	case *branches:
		return w.branches(e, t, result)
	}
	return fragment{}, notAllowed("this choice", e.Pos())
}

func (w *Writer) choose(e *choice, t Type, result func(Expr) (string, error)) (fragment, error) {
	parts := make([]string, len(e.args))
	for i, a := range e.args {
		var err error
		if parts[i], err = result(a); err != nil {
			return fragment{}, err
		}
	}
	return fragment{sql: strings.ToUpper(e.kind) + "(" + strings.Join(parts, ", ") + ")", typ: t}, nil
}

func (w *Writer) branches(e *branches, t Type, result func(Expr) (string, error)) (fragment, error) {
	var tested, results []string
	compared := e.compared()
	add := func(o Expr) error {
		f, err := w.comparand(o, compared, false)
		tested = append(tested, w.instant(f).sql)
		return err
	}
	if e.x != nil {
		if err := add(e.x); err != nil {
			return fragment{}, err
		}
	}
	otherwise, err := result(e.otherwise)
	if err != nil {
		return fragment{}, err
	}
	results = append(results, otherwise)
	for _, wh := range e.whens {
		if err := add(wh.cond); err != nil {
			return fragment{}, err
		}
		then, err := result(wh.then)
		if err != nil {
			return fragment{}, err
		}
		results = append(results, then)
	}
	return fragment{sql: "(" + caseSQL(e.x != nil, tested, results) + ")", typ: t}, nil
}
