package planner

import (
	"slices"

	"dpproxy/parser"
	"dpproxy/pgerr"
)

// pred is a condition over one row, resolved. Every kind is total: it cannot
// raise, whatever the row holds, because columns are only ever compared with
// values of their own family.
type pred interface{ pred() }

type (
	// comparison compares two operands with = <> < <= > >=.
	comparison struct {
		op          string
		left, right operand
		at          int
	}
	// distinct is IS [NOT] DISTINCT FROM.
	distinct struct {
		left, right operand
		not         bool
		at          int
	}
	// like matches a column with a constant pattern.
	like struct {
		col     *column
		pattern int // fold
		not     bool
		at      int
	}
	// null is IS [NOT] NULL of a column or constant.
	null struct {
		x   operand
		not bool
	}
	// truth is a boolean operand as a condition.
	truth struct {
		x  operand
		at int
	}
	// truthTest is IS [NOT] TRUE, FALSE or UNKNOWN.
	truthTest struct {
		x    pred
		kind string
	}
	// logic is AND, OR or NOT.
	logic struct {
		kind parser.BoolKind
		args []pred
	}
)

func (*comparison) pred() {}
func (*distinct) pred()   {}
func (*like) pred()       {}
func (*null) pred()       {}
func (*truth) pred()      {}
func (*truthTest) pred()  {}
func (*logic) pred()      {}

// operand is a column, or a fold by its index.
type operand struct {
	col  *column
	fold int
}

var comparisons = []string{"=", "<>", "<", "<=", ">", ">="}

func (r *resolver) predicate(e parser.Expr) (pred, error) {
	if parser.ColumnFree(e) {
		f, err := r.constant(e, nil)
		return &truth{operand{fold: f}, e.Pos()}, err
	}
	switch e := e.(type) {
	case *parser.Column:
		col, err := r.column(e)
		return &truth{operand{col: col}, e.At}, err
	case *parser.Bool:
		return r.logic(e)
	case *parser.Op:
		return r.operator(e)
	case *parser.In:
		return r.in(e)
	case *parser.Between:
		return r.between(e)
	case *parser.IsNull:
		x, err := r.operand(e.X, nil)
		return &null{x, e.Not}, err
	case *parser.BoolTest:
		x, err := r.predicate(e.X)
		return &truthTest{x, e.Kind}, err
	case *parser.Distinct:
		left, right, err := r.pair(e.Left, e.Right)
		return &distinct{left, right, e.Not, e.At}, err
	case *parser.Cast, *parser.Const, *parser.Func, *parser.Param, *parser.ValueFunc: // over a column, no condition
	}
	return nil, notSupported(describe(e), e.Pos())
}

func (r *resolver) logic(e *parser.Bool) (pred, error) {
	l := &logic{kind: e.Kind}
	for _, arg := range e.Args {
		p, err := r.predicate(arg)
		if err != nil {
			return nil, err
		}
		l.args = append(l.args, p)
	}
	return l, nil
}

func (r *resolver) operator(e *parser.Op) (pred, error) {
	switch {
	case e.Name == "~~" || e.Name == "!~~":
		return r.like(e)
	case slices.Contains(comparisons, e.Name) && e.Left != nil:
		left, right, err := r.pair(e.Left, e.Right)
		return &comparison{e.Name, left, right, e.At}, err
	}
	return nil, notSupported(describe(e), e.At)
}

func (r *resolver) in(e *parser.In) (pred, error) {
	either := &logic{kind: parser.Or}
	for _, item := range e.List {
		left, right, err := r.pair(e.X, item)
		if err != nil {
			return nil, err
		}
		either.args = append(either.args, &comparison{"=", left, right, e.At})
	}
	if e.Not {
		return &logic{parser.Not, []pred{either}}, nil
	}
	return either, nil
}

func (r *resolver) between(e *parser.Between) (pred, error) {
	x, low, err := r.pair(e.X, e.Low)
	if err != nil {
		return nil, err
	}
	_, high, err := r.pair(e.X, e.High)
	if err != nil {
		return nil, err
	}
	within := func(low, high operand) pred {
		return &logic{parser.And, []pred{&comparison{">=", x, low, e.At}, &comparison{"<=", x, high, e.At}}}
	}
	p := within(low, high)
	if e.Symmetric {
		p = &logic{parser.Or, []pred{p, within(high, low)}}
	}
	if e.Not {
		p = &logic{parser.Not, []pred{p}}
	}
	return p, nil
}

func (r *resolver) like(e *parser.Op) (pred, error) {
	ref, ok := e.Left.(*parser.Column)
	if !ok || !parser.ColumnFree(e.Right) {
		return nil, notSupported("LIKE of anything but a column and a constant pattern", e.At)
	}
	col, err := r.column(ref)
	if err != nil {
		return nil, err
	}
	if columnFamily(col.Type) != textFamily {
		return nil, notSupported("LIKE on a column of type "+col.Type.Display, e.At)
	}
	f, err := r.constant(e.Right, nil) // a pattern is text, whatever the column is
	return &like{col, f, e.Name == "!~~", e.At}, err
}

// pair resolves the two sides of a comparison; an untyped literal takes the type
// of the column on the other side.
func (r *resolver) pair(a, b parser.Expr) (left, right operand, err error) {
	if parser.ColumnFree(a) {
		if right, err = r.operand(b, nil); err == nil {
			left, err = r.operand(a, right.col)
		}
		return left, right, err
	}
	if left, err = r.operand(a, nil); err == nil {
		right, err = r.operand(b, left.col)
	}
	return left, right, err
}

func (r *resolver) operand(e parser.Expr, beside *column) (operand, error) {
	if ref, ok := e.(*parser.Column); ok {
		col, err := r.column(ref)
		return operand{col: col}, err
	}
	if parser.ColumnFree(e) {
		f, err := r.constant(e, beside)
		return operand{fold: f}, err
	}
	return operand{}, notSupported(describe(e), e.Pos())
}

// constant registers a column-free expression; beside is the column it is
// compared with, or nil.
func (r *resolver) constant(e parser.Expr, beside *column) (int, error) {
	if err := foldable(e); err != nil {
		return 0, err
	}
	sql := parser.Print(e)
	if c, ok := e.(*parser.Const); ok && beside != nil {
		fam := columnFamily(beside.Type)
		untyped := c.Kind == parser.String || c.Kind == parser.Null
		number := c.Kind == parser.Integer || c.Kind == parser.Number
		switch {
		case untyped && fam == noFamily:
			return 0, notSupported("a comparison of a column of type "+beside.Type.Display, e.Pos())
		case untyped:
			sql = "CAST(" + sql + " AS " + mirrorType(beside) + ")"
		case number && fam == floatFamily:
			sql = "CAST(" + sql + " AS pg_catalog.float8)"
		}
	}
	return r.q.fold(sql, e.Pos()), nil
}

// mirrorType names the type that an untyped literal takes beside a column.
func mirrorType(c *column) string {
	if c.Type.Kind == 'e' {
		return parser.QuoteIdent(c.Type.Name.Schema) + "." + parser.QuoteIdent(c.Type.Name.Name)
	}
	return builtinName(baseOID(c.Type))
}

// foldFunctions may stand in a column-free expression: their value is the same
// throughout a statement, so that evaluating them once means the same.
var foldFunctions = []string{
	"now", "transaction_timestamp", "statement_timestamp", "date_trunc", "date_part", "extract", "make_date", "make_time", "make_timestamp",
	"make_timestamptz", "make_interval", "to_date", "to_timestamp", "to_number", "timezone", "lower", "upper", "initcap", "btrim", "ltrim", "rtrim",
	"substring", "substr", "left", "right", "length", "replace", "concat", "abs", "round", "floor", "ceil", "ceiling", "trunc", "mod", "power", "sqrt",
}

// foldable allows the nodes of column-free expressions.
func foldable(e parser.Expr) error {
	var parts []parser.Expr
	switch e := e.(type) {
	case *parser.Const, *parser.Param, *parser.ValueFunc:
		return nil
	case *parser.Cast:
		parts = []parser.Expr{e.X}
	case *parser.Op:
		if e.Left != nil {
			parts = append(parts, e.Left)
		}
		parts = append(parts, e.Right)
	case *parser.Func:
		if !slices.Contains(foldFunctions, e.Name) {
			return pgerr.New(pgerr.NotAllowed, "the function %s() is not allowed in a condition on protected data", e.Name).At(e.At).
				WithHint("Compute the value first and write it as a constant.")
		}
		parts = e.Args
	case *parser.Bool:
		parts = e.Args
	case *parser.In:
		parts = append([]parser.Expr{e.X}, e.List...)
	case *parser.Between:
		parts = []parser.Expr{e.X, e.Low, e.High}
	case *parser.IsNull:
		parts = []parser.Expr{e.X}
	case *parser.BoolTest:
		parts = []parser.Expr{e.X}
	case *parser.Distinct:
		parts = []parser.Expr{e.Left, e.Right}
	case *parser.Column:
		return notSupported(describe(e), e.At)
	default:
		return notSupported("this expression", e.Pos())
	}
	for _, p := range parts {
		if err := foldable(p); err != nil {
			return err
		}
	}
	return nil
}

// conjuncts returns the conditions that must all be true.
func conjuncts(p pred) []pred {
	l, ok := p.(*logic)
	if !ok || l.kind != parser.And {
		return []pred{p}
	}
	var all []pred
	for _, arg := range l.args {
		all = append(all, conjuncts(arg)...)
	}
	return all
}

// excludesNull reports whether p is never true where col is NULL.
func excludesNull(p pred, col *column) bool {
	switch p := p.(type) {
	case *comparison:
		return p.left.col == col || p.right.col == col
	case *like:
		return p.col == col
	case *null:
		return p.not && p.x.col == col
	case *truth:
		return p.x.col == col
	case *logic:
		if p.kind == parser.Not {
			return falseOrNull(p.args[0], col)
		}
		return every(p.args, p.kind == parser.Or, func(arg pred) bool { return excludesNull(arg, col) })
	}
	return false
}

// falseOrNull reports whether NOT p is never true where col is NULL: p is a
// comparison of the column itself, or an OR with such a part (IN).
func falseOrNull(p pred, col *column) bool {
	if l, ok := p.(*logic); ok && l.kind != parser.Not {
		return every(l.args, l.kind == parser.And, func(arg pred) bool { return falseOrNull(arg, col) })
	}
	switch p.(type) {
	case *comparison, *like, *truth:
		return excludesNull(p, col)
	}
	return false
}

// every reports whether all (or, unless all, some) of the predicates satisfy f.
func every(ps []pred, all bool, f func(pred) bool) bool {
	if all {
		return !slices.ContainsFunc(ps, func(p pred) bool { return !f(p) })
	}
	return slices.ContainsFunc(ps, f)
}
