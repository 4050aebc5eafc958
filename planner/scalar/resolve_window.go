package scalar

import (
	"slices"
	"strconv"

	"dpproxy/parser/ast"
	"dpproxy/planner/pgtype"
)

// OwnRows is what is known of the rows of window functions: all rows of a partition belong to one unit.
type OwnRows struct {
	// Unit is the name of the unit.
	Unit string
	// Rows bounds the rows of a unit that count: counts and sums are clamped to the largest value for that many rows.
	Rows int64
	// IsUnit reports whether an expression is the unit.
	IsUnit func(Expr) bool
	// Hint says why none of several expressions is the unit, if that is known; otherwise it is "".
	Hint func(...Expr) string
	// Orders reports whether expressions distinguish all rows of a unit.
	Orders func([]Expr) bool
}

// resolve resolves the window after OVER.
func (o *window) resolve(r *Resolver, e *ast.Window) error {
	for _, p := range e.Partition {
		x, err := r.Sorted(p)
		if err != nil {
			return err
		}
		if len(x.Columns()) > 0 {
			o.partition = append(o.partition, x)
		}
	}
	list, err := r.sorts(e.Order)
	if o.order = list; err != nil {
		return err
	}
	return o.distances(r.resolution(), e)
}

// distances resolves the ends of a frame by distance.
func (o *window) distances(r *resolution, e *ast.Window) error {
	for _, d := range e.Ends {
		at := d.X.Pos()
		if len(o.order) != 1 || len(e.Order) != 1 {
			return notAllowed("a frame by distance in another order than that of one value", at).WithHint("Leave the rest of ORDER BY out.")
		}
		by, t := o.order[0], o.order[0].x.Type()
		x, err := r.resolve(d.X)
		switch {
		case err != nil:
			return err
		case unknown(x) && t.Dated():
			x = mirrorCast(x, pgtype.Of(pgtype.Interval), at, nil)
		case unknown(x):
			x = mirrorCast(x, t.Unmodified(), at, nil)
		}
		moved := operators[map[bool]string{true: "+", false: "-"}[d.After != by.descending]]
		fn, ok := pgtype.PickOperator(moved, oids([]Expr{by.x, x}))
		exact := func(t pgtype.Type) bool { return t.Whole() || t.Decimal() }
		f := x.Type()
		if moves := t.Dated() && f.OID == pgtype.Interval || exact(t) && exact(f); !ok || !x.free() || !moves {
			return notAllowed("a distance of type "+f.String()+" between values of type "+t.String(), at).
				WithHint("Order by a date and write a constant interval, or by a number and write a constant; cast a double to numeric.")
		}
		value, err := r.apply(fn, []Expr{by.x, x}, at)
		if err != nil {
			return err
		}
		o.ends = append(o.ends, distance{value.(*call), d.After})
	}
	return nil
}

// sorts resolves ORDER BY, and drops constants, which order nothing.
func (r *Resolver) sorts(list []ast.Sort) (out []sort, err error) {
	for _, s := range list {
		x, err := r.Sorted(s.X)
		if err != nil {
			return nil, err
		}
		if len(x.Columns()) > 0 {
			out = append(out, sort{x, s.Descending, s.NullsFirst})
		}
	}
	return out, nil
}

// Order resolves ORDER BY.
func (r *Resolver) Order(list []ast.Sort) (*Order, error) {
	sorts, err := r.sorts(list)
	return &Order{sorts}, err
}

// Sorted resolves an expression of ORDER BY or PARTITION BY.
func (r *Resolver) Sorted(e ast.Expr) (Expr, error) {
	x, err := r.Expr(e)
	if err == nil && len(x.Columns()) > 0 && (x.Type().Family() == pgtype.NoFamily || !x.Type().Deterministic || x.Type().Array) {
		err = notAllowed("an order of values of type "+x.Type().String(), e.Pos())
	}
	return x, err
}

// arguments resolves the arguments of the function, and its type.
func (e *aggregate) arguments(r *Resolver, call *ast.Window) (err error) {
	if call.Filter != nil {
		if e.filter, err = r.Boolean(call.Filter); err != nil {
			return err
		}
	}
	args := call.Args
	switch e.name {
	case "row_number", "rank", "dense_rank", "percent_rank", "cume_dist":
		e.over.ties, e.over.frame = e.name == "row_number", nil
		if e.typ = pgtype.Of(pgtype.Int8); e.shares() {
			e.typ = pgtype.Of(pgtype.Float8)
		}
		if len(args) > 0 || call.Star || e.filter != nil {
			return notAllowed("an argument of "+e.name, e.at)
		}
		return nil
	case "ntile":
		return e.tiles(call)
	case "lag", "lead":
		if e.over.frame = nil; len(args) > 2 {
			return notAllowed(e.name+" of more than three values", e.at)
		}
		e.over.offset = 1
		if len(args) == 2 {
			if e.over.offset, err = rowsAway(args[1]); err != nil {
				return err
			}
		}
		e.over.ties, args = true, args[:min(len(args), 1)]
	case "first_value", "last_value", "nth_value":
		if args, err = e.placed(args); err != nil {
			return err
		}
	case "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every":
		e.over.ties = e.over.counts()
	default:
		return notAllowed("the window function "+e.name, e.at).
			WithHint("Use row_number, rank, dense_rank, percent_rank, cume_dist, ntile, lag, lead, first_value, last_value, nth_value, " +
				"count, sum, avg, min, max, bool_and or bool_or.")
	}
	if err := e.bounded(); err != nil {
		return err
	}
	return e.argument(r, args, call)
}

// placed resolves which row of the frame is meant. A frame that ends with the current row and its ties is refused: once ties are ordered it
// would end elsewhere.
func (e *aggregate) placed(args []ast.Expr) ([]ast.Expr, error) {
	e.over.ties = true
	if len(e.over.ends) > 0 {
		return nil, notAllowed(e.name+" of a frame by distance", e.at).WithHint("Count the rows of the frame by ROWS.")
	}
	if e.over.frame == nil && e.name != "first_value" && len(e.over.order) > 0 {
		reversed := map[string]string{"last_value": "first_value with the order reversed, or "}[e.name]
		return nil, notAllowed(e.name+" of the rows up to the current one", e.at).
			WithHint("Write %sROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING.", reversed)
	}
	if e.name != "nth_value" {
		return args, nil
	}
	if len(args) != 2 {
		return nil, notAllowed("nth_value of other than two values", e.at)
	}
	var err error
	if e.over.offset, err = rowsAway(args[1]); err == nil && e.over.offset < 1 {
		err = notAllowed("nth_value of less than the first row", args[1].Pos()).WithHint("Write a whole number from 1 to 100.")
	}
	return args[:1], err
}

// tiles resolves ntile. Rows that the order does not distinguish are divided among tiles by their size.
func (e *aggregate) tiles(call *ast.Window) (err error) {
	if len(call.Args) != 1 || call.Star || e.filter != nil {
		return notAllowed("ntile of other than one value, or with FILTER", e.at)
	}
	if e.over.offset, err = rowsAway(call.Args[0]); err == nil && e.over.offset < 1 {
		err = notAllowed("ntile of less than one tile", call.Args[0].Pos())
	}
	e.over.ties, e.over.frame, e.typ = true, nil, pgtype.Of(pgtype.Int4)
	return err
}

// argument resolves the argument of the function.
func (e *aggregate) argument(r *Resolver, args []ast.Expr, call *ast.Window) (err error) {
	switch {
	case call.Star && e.name == "count":
		return e.resolve()
	case call.Star || len(args) != 1:
		return notAllowed("the window function "+e.name+" of other than one value", e.at)
	}
	if e.x, err = r.Expr(args[0]); err != nil {
		return err
	}
	if !e.picks() {
		return e.resolve()
	}
	if e.filter != nil || e.x.Type().Family() == pgtype.NoFamily || e.x.Type().Array {
		return notAllowed("the window function "+e.name+" of values of type "+e.x.Type().String()+", or with FILTER", e.at)
	}
	e.typ = e.x.Type().Unmodified()
	return nil
}

// rowsAway returns the number of rows of lag, lead and nth_value, or of tiles.
func rowsAway(e ast.Expr) (int, error) {
	const most = 100
	c, ok := e.(*ast.Const)
	if ok && c.Kind == ast.Integer {
		if n, err := strconv.Atoi(c.Text); err == nil && n >= 0 && n <= most {
			return n, nil
		}
	}
	return 0, notAllowed("a number of rows or tiles other than a literal up to 100", e.Pos()).
		WithHint("Write a whole number from 0 to 100.")
}

// bounded refuses a frame whose work per row grows with the rows of a unit: when rows leave a frame, Postgres may compute it from the
// beginning.
func (e *aggregate) bounded() error {
	o := e.over
	switch {
	case o.frame == nil || o.frame.From == ast.FirstRow:
		return nil
	case o.frame.To == ast.LastRow:
		return notAllowed("a frame that ends with the last row and does not begin with the first", e.at).
			WithHint("Reverse the order, and begin the frame with UNBOUNDED PRECEDING.")
	case o.apart() && !slices.Contains([]string{"count", "sum", "avg"}, e.name):
		return notAllowed(e.name+" of a frame that begins at a distance", e.at).
			WithHint("Use count, also with FILTER, sum or avg, begin the frame with UNBOUNDED PRECEDING, or count its rows by ROWS.")
	}
	return nil
}
