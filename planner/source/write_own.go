package source

import (
	"math/big"
	"slices"

	"dpproxy/planner/scalar"
)

// ownConditions are those on rows of one relation alone, and those that others imply.
type ownConditions struct {
	env  *scalar.Env
	list []scalar.Expr
	sql  []string
}

// mostShare is the least part of the declared bounds at which conditions count as leaving most rows. From about a half on a
// join is read as fast whole, which several processes can do.
var mostShare = big.NewRat(3, 4)

// fewShare is the largest part at which they count as leaving few. Up to about a twelfth a table is joined as fast by looking
// up in its index what each row refers to.
var fewShare = big.NewRat(1, 25)

// most reports whether conditions leave most rows, if values are spread evenly over their bounds. Of ranges alone that is
// likely.
func (o ownConditions) most() bool {
	share, ranges, known := scalar.Share(o.env, o.list)
	return len(o.list) > 0 && known && ranges && share.Cmp(mostShare) >= 0
}

// few reports whether conditions leave few rows. Of one value of a column with decimals that is not known.
func (o ownConditions) few() bool {
	share, _, known := scalar.Share(o.env, o.list)
	return len(o.list) > 0 && known && share.Sign() > 0 && share.Cmp(fewShare) <= 0
}

// own returns the conditions of a relation. Rows that are kept are chosen from those that meet them.
func (p *sourceWriter) own(r *relation, conds []condition) (ownConditions, error) {
	o := ownConditions{env: p.w.Env}
	has := func(c *scalar.Column) bool { return slices.Contains(r.columns, c) }
	for _, c := range conds {
		if c.query {
			continue
		}
		x := scalar.Within(c.x, has)
		if x == nil {
			continue
		}
		o.list = append(o.list, x)
	}
	if len(o.list) == 0 {
		return o, nil
	}
	var err error
	o.sql, err = p.w.All(o.list)
	return o, err
}
