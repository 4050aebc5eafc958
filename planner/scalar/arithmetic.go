package scalar

import "slices"

// Arithmetic reports whether arithmetic made the bounds of an expression out of those of its columns, so that they can be far wider
// than its values are: a difference of two dates of ten years is within twenty. Bounds that a statement writes itself, by LEAST or
// GREATEST, are none of these.
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

// Combined reports whether arithmetic made the bounds of an expression out of those of several operands that have columns: values are
// then often far nearer to each other than bounds are, as a difference of two dates is. A number less a column is as wide as that.
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
	}
	return false
}
