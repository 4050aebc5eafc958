package planner

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

// An aggregate is one aggregate call of a block, resolved. What is read for it is decided
// when constants have values (Part.outputs).
type aggregate struct {
	form   form
	result pgtype.Type // of what is shown: the form's own, or a double for an error
	// array says that what is shown is an array of the result type.
	array bool
	// report is the error that is asked for instead of the value, empty for the value; level
	// is its confidence, 0 for that of the statement.
	report string
	level  float64
	label  string // as the analyst would write it, for EXPLAIN and notices
	at     int
}

// A form is a resolved aggregate function with its arguments: an aggregate as a value. All that
// sets one aggregate apart from the others is in its form and the estimator that it becomes.
type form interface {
	// resultType is the type that Postgres gives the value, and whether it is an array of it.
	resultType() (t pgtype.Type, array bool)
	// reports says which errors of the value can be asked for.
	reports() reports
	// overRows are the expressions that are computed for each row.
	overRows() []scalar.Expr
	// specialize adds the statistics that the value is computed from to a grouping set, for known constants.
	specialize(sp *specializer, p *GroupingSet) (estimator, error)
}

// An overRow is what most forms have: an argument that is computed for each row, nil for none,
// and a filter, nil for none.
type overRow struct {
	arg, filter scalar.Expr
	at          int
}

func (f overRow) overRows() []scalar.Expr { return []scalar.Expr{f.arg, f.filter} }

// A function resolves calls of one aggregate function.
type function func(*call) (form, error)

// functions are the aggregates by name. Each is in a file with its form.
var functions = map[string]function{
	"count":           newCount,
	"sum":             newSum,
	"avg":             newAverage,
	"var_pop":         spreads(spreadOf{}),
	"var_samp":        spreads(spreadOf{sample: true}),
	"variance":        spreads(spreadOf{sample: true}),
	"stddev_pop":      spreads(spreadOf{root: true}),
	"stddev_samp":     spreads(spreadOf{sample: true, root: true}),
	"stddev":          spreads(spreadOf{sample: true, root: true}),
	"bool_and":        bools(false),
	"every":           bools(false),
	"bool_or":         bools(true),
	"covar_pop":       pairs(covarPop),
	"covar_samp":      pairs(covarSamp),
	"corr":            pairs(corr),
	"regr_slope":      pairs(regrSlope),
	"regr_intercept":  pairs(regrIntercept),
	"regr_r2":         pairs(regrR2),
	"regr_count":      newPairCount,
	"regr_avgx":       pairAverages(true),
	"regr_avgy":       pairAverages(false),
	"min":             extremes(true),
	"max":             extremes(false),
	"percentile_cont": percentiles(false),
	"percentile_disc": percentiles(true),
}

const aggregatesHint = "Use count, sum, avg, variance, stddev, corr, bool_and, min, max, percentile_cont or percentile_disc."

// A call is an aggregate call while it is resolved.
type call struct {
	*ast.Aggregate
	resolver *scalar.Resolver
	source   *source.Source
	filter   scalar.Expr // nil if none
	// shown are the arguments that name the call, none for count(*).
	shown []scalar.Expr
	// counts names the number that errors are of, if it is not the value: "rows against ".
	counts string
}

func newAggregate(r *scalar.Resolver, src *source.Source, a *ast.Aggregate) (*aggregate, error) {
	resolve, ok := functions[a.Func]
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "the aggregate %s is not supported on protected data", a.Func).At(a.At).
			WithHint(aggregatesHint)
	}
	c := &call{Aggregate: a, resolver: r, source: src}
	var err error
	if a.Filter != nil {
		if c.filter, err = r.Boolean(a.Filter); err != nil {
			return nil, err
		}
	}
	out := &aggregate{at: a.At}
	if out.form, err = resolve(c); err != nil {
		return nil, err
	}
	out.result, out.array = out.form.resultType()
	out.label = c.label()
	if a.Report == "" {
		return out, nil
	}
	return out, out.asReport(a)
}

// argument resolves the only argument.
func (c *call) argument() (scalar.Expr, error) {
	if c.Star || len(c.Args) != 1 || c.Within != nil {
		return nil, c.wrongArguments()
	}
	x, err := c.resolver.Expr(c.Args[0])
	c.shown = []scalar.Expr{x}
	return x, err
}

func (c *call) wrongArguments() error {
	return pgerr.New(pgerr.NotAllowed, "the aggregate %s with these arguments is not supported on protected data", c.Func).At(c.At).
		WithHint(aggregatesHint)
}

// plain refuses DISTINCT.
func (c *call) plain() error {
	if !c.Distinct {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "%s(DISTINCT) of protected data is not supported", c.Func).At(c.At).
		WithHint("One row could add or remove any value. COUNT(DISTINCT column) is supported.")
}

// number resolves the only argument of a function of numbers.
func (c *call) number() (scalar.Expr, error) {
	x, err := c.argument()
	if err != nil {
		return nil, err
	}
	if err := c.plain(); err != nil {
		return nil, err
	}
	return x, c.check(x, numbers)
}

var (
	numbers = []pgtype.Family{pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily}
	// ordered are the families of what has bounds and an order.
	ordered = append(slices.Clip(numbers), pgtype.DateFamily, pgtype.InstantFamily)
)

// check refuses a call over rows that belong to nobody, and an argument of another family.
func (c *call) check(x scalar.Expr, families []pgtype.Family) error {
	if err := c.onNullRows(x); err != nil {
		return err
	}
	if t := x.Type(); !slices.Contains(families, t.Family()) {
		return pgerr.New(pgerr.NotAllowed, "%s over type %s is not supported on protected data", c.Func, t).At(c.At).
			WithHint("Use %s over a number.", c.Func)
	}
	return nil
}

// onNullRows refuses, where a public table declares the keys by an outer join, aggregates
// that count the rows without a partner: those are nobody's, and are left out.
func (c *call) onNullRows(x scalar.Expr) error {
	if !c.source.DeclaresKeys() {
		return nil
	}
	if x != nil {
		if column, plain := scalar.PlainColumn(x); plain && c.source.OfUnit(column) {
			return nil
		}
	}
	return pgerr.New(pgerr.Ownership, "this aggregate also counts rows of the outer join that belong to nobody").At(c.At).
		WithHint("Aggregate a column of the protected table: count(column) instead of count(*).")
}

// label names the call for people.
func (c *call) label() string {
	arg := "*"
	for i, x := range c.shown {
		name := "..."
		if column, plain := scalar.PlainColumn(x); plain {
			name = column.Shown()
		}
		if i == 0 {
			arg = name
			continue
		}
		arg += ", " + name
	}
	if c.Distinct {
		arg = "DISTINCT " + arg
	}
	s := c.counts + c.Func + "(" + arg + ")"
	if c.filter != nil {
		s += " FILTER"
	}
	return s
}
