package planner

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/scalar"
)

// An aggregate is one aggregate call of a block, resolved. What is read for it is
// decided when constants have values (measures.go).
type aggregate struct {
	kind aggregateKind
	arg  scalar.Expr // nil for count(*)
	// fraction is the direct argument of a percentile, a constant; array says that it
	// has several.
	fraction scalar.Expr
	array    bool
	// descending is the order of WITHIN GROUP.
	descending bool
	filter     scalar.Expr // nil if none
	result     scalar.Type
	// report is the error that is asked for instead of the value, empty for the value; level
	// is its confidence, 0 for that of the statement.
	report string
	level  float64
	label  string // as the analyst would write it, for EXPLAIN and notices
	at     int
}

type aggregateKind uint8

const (
	countStar aggregateKind = iota + 1
	countArg
	countUnits    // COUNT(DISTINCT unit)
	countDistinct // COUNT(DISTINCT anything else)
	sumOf
	averageOf
	varPop
	varSamp
	stddevPop
	stddevSamp
	minimum
	maximum
	percentileCont
	percentileDisc
)

// kinds are the aggregates by name, as far as the name says.
var kinds = map[string]aggregateKind{
	"count": countArg, "sum": sumOf, "avg": averageOf, "min": minimum, "max": maximum,
	"var_pop": varPop, "var_samp": varSamp, "variance": varSamp,
	"stddev_pop": stddevPop, "stddev_samp": stddevSamp, "stddev": stddevSamp,
	"percentile_cont": percentileCont, "percentile_disc": percentileDisc,
}

const aggregatesHint = "Use count, sum, avg, variance, stddev, min, max, percentile_cont or percentile_disc."

func newAggregate(r *scalar.Resolver, src *source, a *ast.Aggregate) (*aggregate, error) {
	kind, ok := kinds[a.Func]
	if !ok {
		return nil, pgerr.New(pgerr.NotAllowed, "the aggregate %s is not supported on protected data", a.Func).At(a.At).
			WithHint(aggregatesHint)
	}
	out := &aggregate{kind: kind, at: a.At}
	var err error
	if a.Filter != nil {
		if out.filter, err = r.Boolean(a.Filter); err != nil {
			return nil, err
		}
	}
	switch {
	case a.Star:
		out.kind = countStar
	case kind == percentileCont || kind == percentileDisc:
		err = out.percentile(r, a)
	case len(a.Args) != 1 || a.Within != nil:
		return nil, pgerr.New(pgerr.NotAllowed, "the aggregate %s with these arguments is not supported on protected data", a.Func).At(a.At).
			WithHint(aggregatesHint)
	default:
		out.arg, err = r.Expr(a.Args[0])
	}
	if err != nil {
		return nil, err
	}
	if err := out.distinct(src, a); err != nil {
		return nil, err
	}
	if err := out.onNullRows(src); err != nil {
		return nil, err
	}
	out.label = label(a, out)
	if err := out.typed(a.Func); err != nil || a.Report == "" {
		return out, err
	}
	return out, out.reports(a)
}

// distinct refuses DISTINCT but in COUNT, where it counts units or values. In MIN and
// MAX it means nothing.
func (a *aggregate) distinct(src *source, call *ast.Aggregate) error {
	switch {
	case !call.Distinct || a.kind == minimum || a.kind == maximum:
		return nil
	case a.kind == countArg && src.isUnit(a.arg):
		a.kind = countUnits
		return nil
	case a.kind == countArg && len(a.arg.Columns()) > 0:
		a.kind = countDistinct
		if t := a.arg.Type(); t.Family() == scalar.NoFamily || !t.Deterministic {
			return pgerr.New(pgerr.NotAllowed, "values of type %s cannot be counted once each on protected data", a.arg.Type()).At(a.at).
				WithHint("Cast the value to text or numeric.")
		}
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "%s(DISTINCT) of protected data is not supported", call.Func).At(a.at).
		WithHint("One row could add or remove any value. COUNT(DISTINCT column) is supported.")
}

// onNullRows refuses, where a public table declares the keys by an outer join,
// aggregates that count the rows without a partner: those are nobody's, and are left out.
func (a *aggregate) onNullRows(src *source) error {
	if !src.declaresKeys() {
		return nil
	}
	if a.arg != nil {
		if c, plain := scalar.PlainColumn(a.arg); plain && src.ofUnit(c) {
			return nil
		}
	}
	return pgerr.New(pgerr.Ownership, "this aggregate also counts rows of the outer join that belong to nobody").At(a.at).
		WithHint("Aggregate a column of the protected table: count(column) instead of count(*).")
}

// percentile resolves percentile_cont(fraction) WITHIN GROUP (ORDER BY x).
func (a *aggregate) percentile(r *scalar.Resolver, call *ast.Aggregate) (err error) {
	if call.Within == nil || len(call.Args) != 1 || !ast.ColumnFree(call.Args[0]) {
		return pgerr.New(pgerr.NotAllowed, "%s needs constant fractions and WITHIN GROUP (ORDER BY ...) of one expression", call.Func).At(call.At)
	}
	if a.arg, err = r.Expr(call.Within); err != nil {
		return err
	}
	a.descending = call.Descending
	if a.fraction, a.array, err = r.Fractions(call.Args[0]); err != nil {
		return err
	}
	return nil
}

// typed gives the aggregate the result type that Postgres gives it, or refuses its
// argument.
func (a *aggregate) typed(name string) error {
	switch a.kind {
	case countStar, countArg, countUnits, countDistinct:
		a.result = scalar.Builtin(oidInt8)
		return nil
	case sumOf, averageOf, varPop, varSamp, stddevPop, stddevSamp, minimum, maximum, percentileCont, percentileDisc:
	}
	arg := a.arg.Type()
	families := []scalar.Family{scalar.IntFamily, scalar.NumericFamily, scalar.FloatFamily}
	ordered := a.kind == minimum || a.kind == maximum || a.kind == percentileDisc
	if ordered {
		families = append(families, scalar.DateFamily, scalar.InstantFamily)
	}
	if !slices.Contains(families, arg.Family()) {
		return pgerr.New(pgerr.NotAllowed, "%s over type %s is not supported on protected data", name, arg).At(a.at).
			WithHint("Use %s over a number.", name)
	}
	switch {
	case a.kind == sumOf:
		a.result = scalar.Builtin(sumType(arg.OID))
	case a.kind == percentileCont:
		a.result = scalar.Builtin(oidFloat8)
	case a.kind == percentileDisc && arg.Domain.Name != "" && arg.Mod >= 0: // the result is of the domain, with its modifier
		return pgerr.New(pgerr.NotAllowed, "%s over a domain is not supported on protected data", name).At(a.at).
			WithHint("Cast the value to the type below the domain, as in CAST(x AS numeric).")
	case ordered:
		a.result = arg.Unmodified()
	default:
		a.result = scalar.Builtin(meanType(arg.OID))
	}
	return nil
}

// sumType is the result type of Postgres's sum over a type.
func sumType(oid uint32) uint32 {
	switch oid {
	case oidInt2, oidInt4:
		return oidInt8
	case oidFloat4, oidFloat8:
		return oid
	}
	return oidNumeric
}

// meanType is the result type of avg, variance and stddev over a type.
func meanType(oid uint32) uint32 {
	if oid == oidFloat4 || oid == oidFloat8 {
		return oidFloat8
	}
	return oidNumeric
}

// label names an aggregate for people.
func label(a *ast.Aggregate, out *aggregate) string {
	arg := "*"
	if out.arg != nil {
		arg = "..."
		if c, plain := scalar.PlainColumn(out.arg); plain {
			arg = c.Name
		}
	}
	if a.Distinct {
		arg = "DISTINCT " + arg
	}
	s := a.Func + "(" + arg + ")"
	if out.filter != nil {
		s += " FILTER"
	}
	return s
}
