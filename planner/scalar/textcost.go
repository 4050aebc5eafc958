package scalar

import (
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// The costs of texts: of reading, comparing and searching them.

// zone is the cost of the first use of a time zone in a session, which reads a file.
func (c *costing) zone(zone Expr) int64 {
	const load = 1 << 11
	s, err := c.env.text(zone)
	if err != nil || s == nil || c.zones[*s] {
		return 0
	}
	c.zones[*s] = true
	return load
}

// reading is the cost of reading texts from end to end, as functions, LIKE and orders by a collation do.
func (c *costing) reading(list ...Expr) (n int64) {
	for _, e := range list {
		if !isConstant(e) && e.Type().Family() == pgtype.TextFamily {
			n = added(n, c.octets(e))
		}
	}
	return n
}

// besideLong removes the columns whose cost is the cost of reading them.
func besideLong(list ...Expr) []Expr {
	return slices.DeleteFunc(slices.Clone(list), func(e Expr) bool {
		ref, plain := e.(*Ref)
		return plain && ref.Column.long()
	})
}

// searching is the cost of searching a text for a number of octets. In the worst case they nearly match at every place of it. Postgres 15
// takes 5 ns per place and 1.2 ns per octet that LIKE compares there, and 3 and 0.5 ns for strpos: measured with repeat('a', 65536) and 1
// to 250 letters a before a b that does not occur.
func (c *costing) searching(x Expr, sought int) int64 {
	const (
		place    = 4   // octets that take as long to compare as a place takes
		compared = 240 // octets per step
	)
	if sought == 0 {
		return 0
	}
	return int64(c.env.textLength(x, characters)) * int64(sought+place) / compared
}

// searchCost is the cost of a function that searches its first argument for its second.
func searchCost(c *costing, e *call) int64 {
	return added(functionCost(c, e), c.searching(e.args[0], c.env.octets(e.args[1])))
}

// trimCost is the cost of comparing each character of a text with each character of a set: all characters of a text can be the last of the
// set.
func trimCost(c *costing, e *call) int64 {
	const compared = 64 // octets of the set per step
	return c.each(e, compared)
}

// translateCost is the cost of looking up each character, whose end Postgres finds again for each.
func translateCost(c *costing, e *call) int64 {
	const compared = 32
	return added(c.each(e, compared), int64(e.fn.over.length(c.env, e, octets))/octetsPerStep)
}

// each is the cost of comparing each character of a text with each octet of a set, at compared octets per step.
func (c *costing) each(e *call, compared int64) int64 {
	const place = 2 // octets that take as long to compare as moving to the next character
	x, set := e.args[0], e.args[1]
	return added(c.arguments(e), int64(c.env.textLength(x, characters))*int64(c.env.textLength(set, octets)+place)/compared)
}

// likeCost is the cost of reading a text for LIKE, and of searching it for the part after the first %. The wildcard _ takes longest.
func likeCost(c *costing, e *call) int64 {
	const lowered = 6 // lower() takes as long as so many reads of a text that is not long
	x := e.args[0]
	n := c.reading(besideLong(x)...)
	if e.fn.ignoresCase() {
		n = added(product(n, lowered-1), c.reading(x))
	}
	s, err := c.env.text(e.args[1])
	if err != nil || s == nil {
		return n
	}
	if i := strings.Index(*s, "%"); i >= 0 && i < len(*s)-1 {
		n = added(n, c.searching(x, len(strings.ReplaceAll(*s, "%", ""))))
	}
	return added(n, int64(c.env.textLength(x, characters))*int64(strings.Count(*s, "_"))/octetsPerStep)
}

// madeColumn is madeLength for a column of a derived table.
func (c *costing) madeColumn(col *Column) (n int) {
	if n, known := c.made[col]; known {
		return n
	}
	for _, e := range col.Of {
		if e.Type().Family() == pgtype.TextFamily {
			n = max(n, c.madeLength(e))
		}
	}
	c.made[col] = n
	return n
}

// madeLength bounds the octets of a text that do not come from a stored column.
func (c *costing) madeLength(e Expr) (n int) {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // the longest operand of the others
	case *Ref:
		if e.Column.Type.OID == pgtype.Bpchar && len(e.Column.Of) == 0 { // padded with blanks
			return c.env.textLength(e, octets)
		}
		return c.madeColumn(e.Column)
	case *constant:
		return c.env.textLength(e, octets)
	case *call:
		switch {
		case e.fn.over.makes != nil:
			return e.fn.over.makes(c, e)
		case len(list) > 0:
			return min(c.madeLength(list[0]), c.env.textLength(e, octets))
		}
	case *cast:
		switch {
		case e.typ.OID == pgtype.Bpchar && e.typ.Length() >= 0: // padded with blanks
			return c.env.textLength(e, octets)
		case e.x.Type().Family() != pgtype.TextFamily:
			return 0 // texts of numbers and dates are not both long and uniform
		}
	}
	for _, o := range list {
		if o.Type().Family() == pgtype.TextFamily {
			n = max(n, c.madeLength(o))
		}
	}
	return n
}

// madeOfAll is the made length of a text that contains all arguments.
func madeOfAll(c *costing, e *call) (n int) {
	for _, a := range e.args {
		n += c.madeLength(a)
	}
	return n
}

// equality is the cost of reading both texts. It is 0 if one is a constant: the other must have its length.
func (c *costing) equality(list ...Expr) int64 {
	if variable(list) < 2 {
		return 0
	}
	return c.reading(besideLong(list...)...)
}

// order is the cost of reading texts as far as they are equal. With a constant that is no farther than the constant, but the whole text is
// copied.
func (c *costing) order(list ...Expr) int64 {
	const copies = 32 // characters that are copied in the time in which one is compared
	n := c.reading(list...)
	if variable(list) < 2 {
		n /= copies
	}
	return n
}

// variable counts the expressions that are not constants.
func variable(list []Expr) (n int) {
	for _, e := range list {
		if !isConstant(e) {
			n++
		}
	}
	return n
}
