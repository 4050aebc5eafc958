package scalar

import (
	"cmp"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// A UnitGroup is a grouping of rows by their privacy unit, and possibly by further keys.
type UnitGroup struct {
	// Keys are the grouping expressions.
	Keys []Expr
	// Rows bounds the rows of a unit that are aggregated. Counts and sums are clamped to the largest value for that many rows.
	Rows int64
}

// aggregate resolves an aggregate over the rows of a unit.
func (r *resolution) aggregate(e *ast.Aggregate) (Expr, error) {
	if r.Unit == nil {
		return nil, pgerr.New(pgerr.NotAllowed, "an aggregate is not allowed here").At(e.At).
			WithHint("Aggregate in a sub-select that is grouped by the privacy unit, or above the release.")
	}
	if e.Within != nil {
		return nil, notAllowed("WITHIN GROUP below a release", e.At)
	}
	rows := *r.Resolver
	rows.Unit, rows.Own = nil, nil
	a := &aggregate{node: node{at: e.At}, name: e.Func, distinct: e.Distinct, rows: r.Unit.Rows}
	if e.Filter != nil {
		var err error
		if a.filter, err = rows.Boolean(e.Filter); err != nil {
			return nil, err
		}
	}
	switch {
	case e.Func == "count" && e.Star:
	case len(e.Args) == 1:
		var err error
		if a.x, err = rows.Expr(e.Args[0]); err != nil {
			return nil, err
		}
	default:
		return nil, notAllowed("the aggregate "+e.Func+" of several values", e.At)
	}
	if err := a.resolve(); err != nil {
		return nil, err
	}
	return a, nil
}

// window resolves a window function.
func (r *resolution) window(e *ast.Window) (Expr, error) {
	if r.Own == nil {
		return nil, pgerr.New(pgerr.NotAllowed, "a window function is not allowed here").At(e.At).
			WithHint("Compute it in a sub-select in FROM without GROUP BY and DISTINCT, over the rows of one unit.")
	}
	rows := *r.Resolver
	rows.Own = nil
	a := &aggregate{node: node{at: e.At}, name: e.Func, rows: r.Own.Rows, over: &window{frame: e.Frame}}
	if err := a.over.resolve(&rows, e); err != nil {
		return nil, err
	}
	if err := a.arguments(&rows, e); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(a.over.partition, r.Own.IsUnit) {
		refused := pgerr.New(pgerr.Ownership, "a window function on protected rows can see rows of more than one %s", r.Own.Unit).At(e.At)
		if len(a.over.partition) == 0 { // the rows of one unit alone would be another question
			return nil, refused.WithHint("Aggregate the rows, and compute it of the result; " +
				"for a distribution: percentile_disc(ARRAY[0.25, 0.5, 0.75]) WITHIN GROUP (ORDER BY ...).")
		}
		return nil, refused.WithHint("%s", cmp.Or(r.Own.Hint(a.over.partition...),
			"Write PARTITION BY with the column that identifies the "+r.Own.Unit+"."))
	}
	a.over.ties = a.over.ties && !r.Own.Orders(a.over.exprs())
	return a, nil
}

// resolve sets the type of the result, as in Postgres.
func (e *aggregate) resolve() error {
	e.typ = pgtype.Of(pgtype.Int8)
	if e.name == "count" {
		if e.distinct && (e.x.Type().Family() == pgtype.NoFamily || !e.x.Type().Deterministic) {
			return notAllowed("count(DISTINCT) of values of type "+e.x.Type().String(), e.at)
		}
		return nil
	}
	if e.x == nil {
		return notAllowed("the aggregate "+e.name+" without a value", e.at)
	}
	t := e.x.Type()
	ok := false
	switch e.name {
	case "sum", "avg":
		ok = t.Number() && !e.distinct
		e.typ = pgtype.Sum(t)
		if e.name == "avg" {
			e.typ = pgtype.Mean(t)
		}
	case "min", "max":
		ok = ordered(t)
		e.typ = t.Unmodified()
		if t.OID == pgtype.Varchar {
			e.typ.OID = pgtype.Text
		}
	case "bool_and", "bool_or", "every":
		ok = t.Family() == pgtype.BoolFamily
		e.typ = pgtype.Of(pgtype.Bool)
	}
	if !ok {
		return pgerr.New(pgerr.NotAllowed, "the aggregate %s of values of type %s is not allowed below a release", e.name, t).At(e.at).
			WithHint("Use count, sum, avg, min, max, bool_and or bool_or.")
	}
	return nil
}

// ordered reports whether min and max are unique values of the type with one spelling.
func ordered(t pgtype.Type) bool {
	switch t.Family() {
	case pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily, pgtype.DateFamily, pgtype.InstantFamily, pgtype.TimeFamily,
		pgtype.EnumFamily:
		return true
	case pgtype.TextFamily:
		return t.Deterministic && t.OID != pgtype.Bpchar
	case pgtype.NoFamily, pgtype.BoolFamily, pgtype.UUIDFamily, pgtype.IntervalFamily:
	}
	return false
}

// grouped refuses a column that is neither grouped nor in an aggregate.
func (r *resolution) grouped(e Expr) error {
	if r.Unit == nil {
		return nil
	}
	return r.Unit.covers(e)
}

func (u *UnitGroup) covers(e Expr) error {
	for _, k := range u.Keys {
		if Equal(k, e) {
			return nil
		}
	}
	switch e := e.(type) { //nolint:gochecksumtype // the operands of the others decide
	case *aggregate:
		return nil
	case *Ref:
		return ungrouped(e.Column, e.At)
	case *Query:
		for _, c := range e.Uses {
			if err := u.covers(&Ref{c, e.At}); err != nil {
				return err
			}
		}
	}
	for _, o := range operands(e) {
		if err := u.covers(o); err != nil {
			return err
		}
	}
	return nil
}

func ungrouped(c *Column, at int) error {
	return pgerr.New(pgerr.NotAllowed, "column %q is neither grouped nor aggregated", c.Shown()).At(at).
		WithHint("Add the column to GROUP BY.")
}

// CountsRows reports whether an expression over groups depends on the number of rows in a group.
func CountsRows(e Expr) bool {
	if a, ok := e.(*aggregate); ok && (a.name == "count" || a.name == "sum" || a.limited) {
		return true
	}
	return slices.ContainsFunc(operands(e), CountsRows)
}
