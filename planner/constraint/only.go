package constraint

import (
	"math/big"
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// Only reports whether the constraints exclude every value that is not listed, NULL aside.
func (c *Column) Only(values []string) bool {
	var ends []value
	for _, text := range values {
		v, ok := c.value(text)
		if !ok {
			return false
		}
		ends = append(ends, v)
	}
	return c.none(ends, func(v value) bool { return slices.ContainsFunc(ends, func(e value) bool { return e.compare(v) == 0 }) })
}

// Within reports whether the constraints exclude every value outside [low, high], NULL aside. The unit of dates and times is a microsecond
// since 2000-01-01. It is false for types without an order here.
func (c *Column) Within(low, high *big.Rat) bool {
	switch c.fam { //nolint:exhaustive // others are in no order
	case pgtype.IntFamily, pgtype.NumericFamily, pgtype.FloatFamily, pgtype.DateFamily, pgtype.InstantFamily:
	default:
		return false
	}
	return c.none([]value{{at: low}, {at: high}}, func(v value) bool { return v.at.Cmp(low) >= 0 && v.at.Cmp(high) <= 0 })
}

// none reports whether the constraints exclude every value that is not inside. The truth of a condition changes only at the constants in
// it, and inside changes only at the ends, so a sample between any two neighbours suffices.
func (c *Column) none(ends []value, inside func(value) bool) bool {
	return !slices.ContainsFunc(c.samples(append(c.constants(), ends...)), func(v value) bool { return !inside(v) && c.admits(v) })
}

// samples returns values of the column at the given places, and, as far as there are any, below and above all of them and between each two
// neighbours.
func (c *Column) samples(at []value) (all []value) {
	switch c.fam { //nolint:exhaustive // others are numbers and moments
	case pgtype.BoolFamily:
		return []value{{text: "false"}, {text: "true"}}
	case pgtype.EnumFamily:
		for _, label := range c.labels {
			all = append(all, value{text: label})
		}
		return all
	case pgtype.TextFamily:
		texts := []string{"?"}
		for _, v := range at {
			texts = append(texts, v.text)
		}
		return append(at, value{text: strings.Join(texts, "") + "?"}) // a text longer than each of them
	}
	places := make([]*big.Rat, len(at))
	for i, v := range at {
		places[i] = v.at
	}
	slices.SortFunc(places, (*big.Rat).Cmp)
	if unit := c.unit(); unit != nil {
		for _, p := range places {
			all = append(all, value{at: below(p, unit)}, value{at: above(p, unit)})
			if isMultiple(p, unit) {
				all = append(all, value{at: p})
			}
		}
		return all
	}
	for i, p := range places {
		next := new(big.Rat).Add(p, big.NewRat(1, 1))
		if i+1 < len(places) {
			next = places[i+1]
		}
		between := new(big.Rat).Add(p, next)
		all = append(all, value{at: p}, value{at: between.Quo(between, big.NewRat(2, 1))})
	}
	if len(places) > 0 {
		all = append(all, value{at: new(big.Rat).Sub(places[0], big.NewRat(1, 1))})
	}
	return all
}

// unit is a number of which every value of the column is a multiple; nil if there is none.
func (c *Column) unit() *big.Rat {
	switch {
	case c.typ.OID == pgtype.Date:
		return big.NewRat(pgtype.MicrosPerDay, 1)
	case c.typ.Whole(), c.typ.Dated():
		return big.NewRat(1, 1)
	case c.typ.Scale() >= 0:
		return new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.typ.Scale())), nil))
	}
	return nil
}

func isMultiple(r, unit *big.Rat) bool { return new(big.Rat).Quo(r, unit).IsInt() }

// below is the largest multiple of a unit that is smaller than r.
func below(r, unit *big.Rat) *big.Rat {
	n := new(big.Rat).Quo(r, unit)
	down := new(big.Int).Div(n.Num(), n.Denom()) // rounded down: the denominator is positive
	if n.IsInt() {
		down.Sub(down, big.NewInt(1))
	}
	return n.Mul(unit, new(big.Rat).SetInt(down))
}

// above is the smallest multiple of a unit that is larger than r.
func above(r, unit *big.Rat) *big.Rat {
	opposite := below(new(big.Rat).Neg(r), unit)
	return opposite.Neg(opposite)
}

// longestRange is the largest difference between the ends of a range of whole numbers that is listed.
const longestRange = 1000

// Listed returns the values that the constraints admit, NULL aside. It is nil if the constraints do not determine a finite list, or if the
// list is a range longer than longestRange.
func (c *Column) Listed() []string {
	var texts []string
	switch {
	case c.typ.Family() == pgtype.BoolFamily:
		texts = []string{"false", "true"}
	case c.labels != nil:
		texts = c.labels
	case c.typ.Family() == pgtype.IntFamily:
		texts = between(c.constants())
	default:
		for _, v := range c.constants() {
			texts = append(texts, v.text)
		}
	}
	if len(texts) == 0 || !c.Only(texts) {
		return nil
	}
	var all []string
	for _, text := range texts {
		if c.Admits(text) && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// between lists the whole numbers from the smallest value, rounded down, to the largest; nil if there are none or too many.
func between(values []value) (all []string) {
	if len(values) == 0 {
		return nil
	}
	byPlace := func(a, b value) int { return a.at.Cmp(b.at) }
	one := big.NewRat(1, 1)
	n, end := above(slices.MinFunc(values, byPlace).at, one), above(slices.MaxFunc(values, byPlace).at, one)
	for n.Sub(n, one); n.Cmp(end) < 0; n.Add(n, one) {
		if len(all) > longestRange {
			return nil
		}
		all = append(all, n.Num().String())
	}
	return all
}
