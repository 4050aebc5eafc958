package scalar

import (
	"slices"

	"dpproxy/planner/pgtype"
)

// logic writes AND, OR and NOT.
func (w *Writer) logic(e *logic) (fragment, error) {
	parts := make([]string, len(e.args))
	for i, x := range e.args {
		f, err := w.write(x, asIs)
		if err != nil {
			return fragment{}, err
		}
		parts[i] = f.sql
	}
	return fragment{sql: composed(e, parts), typ: e.typ}, nil
}

// choice writes a choice among results of a type.
func (w *Writer) choice(e *choice, m mode) (fragment, error) {
	t, m := w.Env.physical(e), cutting(e, m)
	result := func(o Expr) (string, error) {
		f, err := w.write(o, m)
		if err != nil {
			return "", err
		}
		return w.convertTo(f, t, o.Pos())
	}
	if e.kind == caseWhen {
		return w.branches(e, t, result)
	}
	var parts []string
	for _, x := range e.results {
		sql, err := result(x)
		if err != nil {
			return fragment{}, err
		}
		parts = append(parts, sql)
	}
	for _, x := range e.tests {
		f, err := w.write(x, cutting(x, asIs))
		if err != nil {
			return fragment{}, err
		}
		parts = append(parts, w.instant(f).sql)
	}
	return fragment{sql: composed(e, parts), typ: t}, nil
}

func (w *Writer) branches(e *choice, t pgtype.Type, result func(Expr) (string, error)) (fragment, error) {
	var parts []string
	compared := e.compared()
	test := func(o Expr) error {
		f, err := w.comparand(o, compared, false)
		parts = append(parts, w.instant(f).sql)
		return err
	}
	if e.x != nil {
		if err := test(e.x); err != nil {
			return fragment{}, err
		}
	}
	otherwise, err := result(e.results[len(e.tests)])
	if err != nil {
		return fragment{}, err
	}
	for i, cond := range e.tests {
		if err := test(cond); err != nil {
			return fragment{}, err
		}
		then, err := result(e.results[i])
		if err != nil {
			return fragment{}, err
		}
		parts = append(parts, then)
	}
	return fragment{sql: "(" + composed(e, append(slices.Clip(parts), otherwise)) + ")", typ: t}, nil
}
