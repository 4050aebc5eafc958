package scalar

import (
	"slices"
	"strings"

	"dpproxy/planner/pgtype"
)

// The costs of texts: of reading and comparing them, and of looking for something in them.

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

// reading is the cost of reading texts from end to end, which functions, LIKE and an order by a
// collation do, whatever they make of them.
func (c *costing) reading(list ...Expr) (n int64) {
	for _, e := range list {
		if !isConstant(e) && e.Type().Family() == pgtype.TextFamily {
			n = added(n, c.octets(e))
		}
	}
	return n
}

// besideLong leaves out the columns whose cost is that of reading them.
func besideLong(list ...Expr) []Expr {
	return slices.DeleteFunc(slices.Clone(list), func(e Expr) bool {
		ref, plain := e.(*Ref)
		return plain && ref.Column.long()
	})
}

// searching is the cost of looking for so many octets in a text. Any text can be like itself, so
// that they nearly occur at every place of it. Postgres 15 takes 5 ns for a place and 1.2 ns for
// each octet of LIKE that it compares there, 3 and 0.5 of strpos: measured with repeat('a', 65536)
// and one letter a, or 1 to 250 of them, before a b that is nowhere.
func (c *costing) searching(x Expr, sought int) int64 {
	const (
		place    = 4   // octets that take as long to compare
		compared = 240 // octets in a step
	)
	if sought == 0 {
		return 0
	}
	return int64(c.env.textLength(x, characters)) * int64(sought+place) / compared
}

// searchCost is that of a function that looks for its second argument in the first.
func searchCost(c *costing, e *call) int64 {
	return added(functionCost(c, e), c.searching(e.args[0], c.env.octets(e.args[1])))
}

// trimCost is that of comparing each character of a text with each of a set: any text can
// consist of those that stand last in it.
func trimCost(c *costing, e *call) int64 {
	const compared = 64 // octets of the set in a step
	return c.each(e, compared)
}

// translateCost is that of looking up each character, of which Postgres finds each anew where it ends.
func translateCost(c *costing, e *call) int64 {
	const compared = 32
	return added(c.each(e, compared), int64(e.fn.over.length(c.env, e, octets))/octetsPerStep)
}

// each is the cost of comparing each character of a text with each octet of a set, of which a step compares so many.
func (c *costing) each(e *call, compared int64) int64 {
	const place = 2 // octets that take as long to compare as it takes to come to the next character
	x, set := e.args[0], e.args[1]
	return added(c.arguments(e), int64(c.env.textLength(x, characters))*int64(c.env.textLength(set, octets)+place)/compared)
}

// likeCost is that of reading a text for LIKE, and of looking in it for the part behind
// the first wildcard for any text. Wildcards for one character take longest.
func likeCost(c *costing, e *call) int64 {
	const lowered = 6 // reads that lower() takes as long as, of a text that is not long
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

// madeColumn is madeLength of a column of a derived table.
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

// madeLength bounds the octets of a text that are not a column's own.
func (c *costing) madeLength(e Expr) (n int) {
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // of the others, the longest operand
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
			return 0 // no text of a number or a date is long and even
		}
	}
	for _, o := range list {
		if o.Type().Family() == pgtype.TextFamily {
			n = max(n, c.madeLength(o))
		}
	}
	return n
}

// madeOfAll is the made length of a text that all arguments are part of.
func madeOfAll(c *costing, e *call) (n int) {
	for _, a := range e.args {
		n += c.madeLength(a)
	}
	return n
}

// equality is the cost of reading both texts: unless one is a constant, whose length the
// other must have.
func (c *costing) equality(list ...Expr) int64 {
	if variable(list) < 2 {
		return 0
	}
	return c.reading(besideLong(list...)...)
}

// order is the cost of reading texts as far as they are alike. Beside a constant that is
// no longer than the constant; but the whole text is copied.
func (c *costing) order(list ...Expr) int64 {
	const copies = 32 // characters that are copied while one is compared
	n := c.reading(list...)
	if variable(list) < 2 {
		n /= copies
	}
	return n
}

// variable counts expressions that are no constants.
func variable(list []Expr) (n int) {
	for _, e := range list {
		if !isConstant(e) {
			n++
		}
	}
	return n
}
