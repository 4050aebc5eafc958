package scalar

import "slices"

// Arithmetic reports whether the bounds of an expression result from arithmetic with the bounds of its columns, and so can be far wider
// than its values: the difference of two dates within ten years is within twenty. Bounds that a statement writes by LEAST or GREATEST do
// not count.
func Arithmetic(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others compute no number
	case *Ref:
		return slices.ContainsFunc(e.Column.Of, Arithmetic)
	case *call:
		if len(e.Columns()) == 0 {
			return false
		}
		if slices.Contains([]string{"+", "-", "*", "/", "%", "^"}, e.fn.name) && len(e.args) > 1 {
			return true
		}
		return slices.ContainsFunc(e.args, Arithmetic)
	case *cast:
		return Arithmetic(e.x)
	case *choice:
		if e.kind == least || e.kind == greatest {
			return false
		}
		return slices.ContainsFunc(e.results, Arithmetic)
	case *aggregate:
		return e.name == "sum" || e.x != nil && Arithmetic(e.x)
	}
	return false
}

// Combined reports whether the bounds of an expression result from arithmetic with several operands that have columns. Its values are then
// often much closer together than its bounds, as for a difference of two dates. A number minus a column is only as wide as the column.
func Combined(e Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others compute no number
	case *Ref:
		return slices.ContainsFunc(e.Column.Of, Combined)
	case *call:
		several := 0
		for _, x := range e.args {
			if len(x.Columns()) > 0 {
				several++
			}
		}
		return several > 1 && Arithmetic(e) || slices.ContainsFunc(e.args, Combined)
	case *cast:
		return Combined(e.x)
	case *choice:
		return e.kind != least && e.kind != greatest && slices.ContainsFunc(e.results, Combined)
	case *aggregate:
		return e.name == "sum" || e.x != nil && Combined(e.x)
	case *bounded: // constraints say less than a policy does
		return e.by.Text == "" && Combined(e.x)
	}
	return false
}
