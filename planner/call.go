package planner

import (
	"cmp"
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
	"dpproxy/planner/scalar"
	"dpproxy/planner/source"
)

type call struct {
	*ast.Aggregate
	resolver *scalar.Resolver
	rows     *source.Rows
	filter   scalar.Expr // nil if none
	// shown are the arguments in the name of the call; count(*) has none.
	shown []scalar.Expr
	// counts names the number that errors refer to, if it is not the value: "rows against ".
	counts string
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

const aggregatesHint = "Use count, sum, avg, variance, stddev, corr, bool_and, min, max, percentile_cont, percentile_disc or mode."

// plain refuses DISTINCT.
func (c *call) plain() error {
	if !c.Distinct {
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "%s(DISTINCT) of protected data is not supported", c.Func).At(c.At).
		WithHint("One row could add or remove any value. COUNT(DISTINCT column) is supported.")
}

// number resolves the only argument of an aggregate of numbers.
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
	// ordered are the families of types with an order and bounds.
	ordered = append(slices.Clip(numbers), pgtype.DateFamily, pgtype.InstantFamily)
)

// check refuses a call that counts rows without a unit, and an argument of another family.
func (c *call) check(x scalar.Expr, families []pgtype.Family) error {
	if err := c.onNullRows(x); err != nil {
		return err
	}
	t := x.Type()
	if slices.Contains(families, t.Family()) {
		return nil
	}
	refused := pgerr.New(pgerr.NotAllowed, "%s over type %s is not supported on protected data", c.Func, t).At(c.At)
	if c.Func == "percentile_disc" {
		return refused.WithHint("Use percentile_disc over a number or a date. The most frequent value is mode() WITHIN GROUP (ORDER BY x).")
	}
	return refused.WithHint("Use %s over a number.", c.Func)
}

// onNullRows refuses aggregates that count the rows without a match in an outer join whose public side declares the keys: such rows belong
// to no unit and are left out.
func (c *call) onNullRows(x scalar.Expr) error {
	if !c.rows.DeclaresKeys() {
		return nil
	}
	if x != nil {
		if column, plain := scalar.PlainColumn(x); plain && c.rows.OfUnit(column) {
			return nil
		}
	}
	return pgerr.New(pgerr.Ownership, "this aggregate also counts rows of the outer join that belong to nobody").At(c.At).
		WithHint("Aggregate a column of the protected table: count(column) instead of count(*).")
}

// label names the call for people. It abridges expressions and conditions.
func (c *call) label() (s string, abridged bool) {
	arg, abridged := "*", c.filter != nil
	for i, x := range c.shown {
		name := scalar.NameOf(x)
		if column, plain := scalar.PlainColumn(x); plain {
			name = column.Shown()
		}
		abridged = abridged || name == ""
		name = cmp.Or(name, "...")
		if i == 0 {
			arg = name
			continue
		}
		arg += ", " + name
	}
	if c.Distinct {
		arg = "DISTINCT " + arg
	}
	s = c.counts + c.Func + "(" + arg + ")"
	if c.filter != nil {
		s += " FILTER"
	}
	return s, abridged
}
