package scalar

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A window makes a function a window function: it is computed for each row, over rows of the row's partition.
type window struct {
	partition []Expr
	order     []sort
	frame     *ast.Frame // nil is the default frame
	ends      []distance // of a frame by distance
	offset    int        // of lag, lead and nth_value, in rows; for ntile, the number of tiles
	// ties says that rows which the order does not distinguish must be ordered nevertheless, since the function or the frame counts single
	// rows.
	ties bool
}

// A sort is an item of ORDER BY.
type sort struct {
	x                      Expr
	descending, nullsFirst bool
}

// A distance is where a frame by distance begins or ends: a constant before or after the value of ORDER BY in the current row.
type distance struct {
	value *call // the value of ORDER BY, moved by the constant
	after bool
}

// An Order is ORDER BY.
type Order struct{ list []sort }

// Exprs returns the expressions of ORDER BY.
func (o *Order) Exprs() (list []Expr) {
	if o == nil {
		return nil
	}
	for _, s := range o.list {
		list = append(list, s.x)
	}
	return list
}

// Within returns the order of rows that agree in the expressions of DISTINCT ON. As in Postgres, other expressions must come after all of
// these.
func (o *Order) Within(keys []Expr) (*Order, error) {
	rest := &Order{}
	var have []Expr
	missing := func() bool {
		return slices.ContainsFunc(keys, func(k Expr) bool {
			return len(k.Columns()) > 0 && !slices.ContainsFunc(have, func(x Expr) bool { return Equal(k, x) })
		})
	}
	for _, s := range o.list {
		key := slices.ContainsFunc(keys, func(k Expr) bool { return Equal(k, s.x) })
		switch {
		case key && len(rest.list) == 0:
			have = append(have, s.x)
		case key && !slices.ContainsFunc(have, func(x Expr) bool { return Equal(s.x, x) }), !key && missing():
			return nil, pgerr.New(pgerr.Syntax, "SELECT DISTINCT ON expressions must match initial ORDER BY expressions").At(s.x.Pos()).
				WithHint("Begin ORDER BY with the expressions of DISTINCT ON.")
		case !key:
			rest.list = append(rest.list, s)
		}
	}
	return rest, nil
}

// exprs returns the expressions that PARTITION BY, ORDER BY and a frame by distance compare.
func (o *window) exprs() []Expr {
	all := slices.Clone(o.partition)
	for _, s := range o.order {
		all = append(all, s.x)
	}
	for _, e := range o.ends {
		all = append(all, e.value)
	}
	return all
}

// picks reports whether the value is the argument in another row.
func (e *aggregate) picks() bool {
	return slices.Contains([]string{"lag", "lead", "first_value", "last_value", "nth_value"}, e.name)
}

// numbers reports whether the function numbers rows, from 1.
func (e *aggregate) numbers() bool {
	return slices.Contains([]string{"row_number", "rank", "dense_rank"}, e.name)
}

// shares reports whether the function returns the fraction of the rows that come before a row.
func (e *aggregate) shares() bool { return e.name == "percent_rank" || e.name == "cume_dist" }

// counts reports whether the frame counts single rows.
func (o *window) counts() bool {
	return o.frame != nil && len(o.ends) == 0 && *o.frame != ast.Frame{From: ast.FirstRow, To: ast.LastRow}
}

// apart reports whether the frame begins at a distance.
func (o *window) apart() bool {
	return o != nil && o.frame != nil && o.frame.From != ast.FirstRow && len(o.ends) > 0
}

// Windows returns the window functions in an expression that order rows which their ORDER BY does not distinguish.
func Windows(e Expr) []*Window {
	var out []*Window
	if a, ok := e.(*aggregate); ok && a.over != nil && a.over.ties {
		out = append(out, &Window{a})
	}
	for _, o := range operands(e) {
		out = append(out, Windows(o)...)
	}
	return out
}

// A Window is a window function.
type Window struct{ call *aggregate }

// Pos is the position in the statement.
func (w *Window) Pos() int { return w.call.at }

// SameOrder reports whether two windows have the same rows in the same order.
func (w *Window) SameOrder(v *Window) bool {
	a, b := w.call.over, v.call.over
	return slices.EqualFunc(a.partition, b.partition, Equal) && slices.EqualFunc(a.order, b.order, equalSorts)
}

func equalSorts(a, b sort) bool {
	return a.descending == b.descending && a.nullsFirst == b.nullsFirst && Equal(a.x, b.x)
}

// same compares two windows without their operands.
func (o *window) same(p *window) bool {
	if o == nil || p == nil {
		return o == p
	}
	return len(o.partition) == len(p.partition) && o.offset == p.offset && o.ties == p.ties && (o.frame == nil) == (p.frame == nil) &&
		(o.frame == nil || *o.frame == *p.frame) &&
		slices.EqualFunc(o.ends, p.ends, func(a, b distance) bool { return a.after == b.after }) &&
		slices.EqualFunc(o.order, p.order, func(a, b sort) bool { return a.descending == b.descending && a.nullsFirst == b.nullsFirst })
}

// Windowed reports whether there is a window function in an expression, so that its value depends on other rows.
func Windowed(e Expr) bool {
	a, ok := e.(*aggregate)
	return ok && a.over != nil || slices.ContainsFunc(operands(e), Windowed)
}

// Numbered returns the partitions of an expression that gives each row of a partition its own number; ok is false for other expressions.
func Numbered(e Expr) (partition []Expr, ok bool) {
	a, ok := e.(*aggregate)
	if !ok || a.over == nil || a.name != "row_number" {
		return nil, false
	}
	return a.over.partition, true
}

// Partitions returns the PARTITION BY of each window function in an expression.
func Partitions(e Expr) (list [][]Expr) {
	if a, ok := e.(*aggregate); ok && a.over != nil {
		list = append(list, a.over.partition)
	}
	for _, o := range operands(e) {
		list = append(list, Partitions(o)...)
	}
	return list
}

// rowsOfFrame is the number of rows that are read for a row. If the beginning of a frame moves these are all of its rows, since Postgres
// computes most aggregates over them anew. A frame that begins at a distance is two frames of up to three aggregates.
func (o *window) rowsOfFrame() int64 {
	switch {
	case o == nil || o.frame == nil || o.frame.From == ast.FirstRow:
		return 1
	case o.apart():
		return 6
	}
	return int64(max(o.frame.To-o.frame.From, 0)) + 1
}

func edgeSQL(row int) string {
	switch {
	case row == ast.FirstRow:
		return "UNBOUNDED PRECEDING"
	case row == ast.LastRow:
		return "UNBOUNDED FOLLOWING"
	case row < 0:
		return strconv.Itoa(-row) + " PRECEDING"
	case row > 0:
		return strconv.Itoa(row) + " FOLLOWING"
	}
	return "CURRENT ROW"
}
