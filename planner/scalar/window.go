package scalar

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A window is what makes an aggregate, or a function like one, one over the rows of its partition, for each of them.
type window struct {
	partition []Expr
	order     []sort
	frame     *ast.Frame // nil is that of the standard
	offset    int        // of lag, lead and nth_value, in rows; of ntile, how many tiles there are
	// ties says that rows which the order does not tell apart are ordered all the same: the function, or the frame,
	// counts single rows.
	ties bool
}

// A sort is an item of ORDER BY.
type sort struct {
	x                      Expr
	descending, nullsFirst bool
}

// An Order is ORDER BY.
type Order struct{ list []sort }

// Exprs are what rows are ordered by.
func (o *Order) Exprs() (list []Expr) {
	if o == nil {
		return nil
	}
	for _, s := range o.list {
		list = append(list, s.x)
	}
	return list
}

// Within returns how rows are ordered that agree in some expressions, those of DISTINCT ON. Others may stand before
// all of them as little as in Postgres.
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

// told are the expressions that tell rows of a unit apart where the window does.
func (o *window) told() []Expr {
	all := slices.Clone(o.partition)
	for _, s := range o.order {
		all = append(all, s.x)
	}
	return all
}

// picks reports whether the value is that of an argument in another row.
func (e *aggregate) picks() bool {
	return slices.Contains([]string{"lag", "lead", "first_value", "last_value", "nth_value"}, e.name)
}

// numbers reports whether the function numbers rows from 1 on.
func (e *aggregate) numbers() bool {
	return slices.Contains([]string{"row_number", "rank", "dense_rank"}, e.name)
}

// shares reports whether the function tells which share of the rows comes before one.
func (e *aggregate) shares() bool { return e.name == "percent_rank" || e.name == "cume_dist" }

// counts reports whether the frame counts single rows.
func (o *window) counts() bool {
	return o.frame != nil && *o.frame != ast.Frame{From: ast.FirstRow, To: ast.LastRow}
}

// Windows returns the window functions in an expression that order rows which nothing tells apart, each with what it
// orders by.
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

// Pos is its place in the statement.
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
		slices.EqualFunc(o.order, p.order, func(a, b sort) bool { return a.descending == b.descending && a.nullsFirst == b.nullsFirst })
}

// Windowed reports whether there is a window function in an expression: its value is not one of its columns alone.
func Windowed(e Expr) bool {
	a, ok := e.(*aggregate)
	return ok && a.over != nil || slices.ContainsFunc(operands(e), Windowed)
}

// Numbered returns what partitions the rows that an expression numbers, each with a number of its own; ok is false of
// any other expression.
func Numbered(e Expr) (partition []Expr, ok bool) {
	a, ok := e.(*aggregate)
	if !ok || a.over == nil || a.name != "row_number" {
		return nil, false
	}
	return a.over.partition, true
}

// Partitions returns the expressions that partition the rows of each window function in an expression.
func Partitions(e Expr) (list [][]Expr) {
	if a, ok := e.(*aggregate); ok && a.over != nil {
		list = append(list, a.over.partition)
	}
	for _, o := range operands(e) {
		list = append(list, Partitions(o)...)
	}
	return list
}

// rowsOfFrame is how many rows are looked at for one: of a frame whose beginning moves all of them, since Postgres computes most
// aggregates over them anew.
func (o *window) rowsOfFrame() int64 {
	if o == nil || o.frame == nil || o.frame.From == ast.FirstRow {
		return 1
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
