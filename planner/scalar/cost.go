package scalar

import (
	"math"
	"slices"

	"dpproxy/planner/pgtype"
)

// octetsPerStep is the number of octets of a text that count as one step of work, which is at most 0.3 µs. Postgres 15 takes 2 ns per octet
// in md5, 3 ns in lower and reverse, and 4 ns if left has to find the end of a long text.
const octetsPerStep = 64

// The cost of reading a text of unbounded length, if its whole value matters, and if something is looked for in it, whose cost is added.
const (
	longCost     = cutBytes / octetsPerStep
	searchedCost = longCost * 5 / 8
)

// queryCost is the cost of a sub-select without its conditions: it may read a table for the one row that a condition picks.
const queryCost = 1 << 13

// briefCost is the cost of reading the beginning of a long text that is compared with short constants.
const briefCost = 1 << 6

// fieldsCost is the cost of reading the fields of a composite value, which may be stored compressed.
const fieldsCost = 1 << 8

// costing computes costs of expressions; each column and each time zone is counted once.
type costing struct {
	env *Env
	// columns has the costs of derived columns, and made the number of their octets that do not come from stored columns.
	columns map[*Column]int64
	made    map[*Column]int
	// zones are the time zones whose first use is counted.
	zones map[string]bool
}

func (env *Env) costs() *costing {
	if env.costing == nil {
		env.costing = &costing{env: env, columns: map[*Column]int64{}, made: map[*Column]int{}, zones: map[string]bool{}}
	}
	return env.costing
}

// EvalCost bounds the work of computing e for a row, in steps: its nodes, the nodes of derived columns for each reference (Postgres
// inlines them), the texts that are made or read, and long arithmetic. A condition can direct all of this work at one row.
func (env *Env) EvalCost(e Expr) int64 { return env.costs().expr(e) }

// HashCost is the cost of hashing a computed column to choose among the rows of a unit, in addition to the cost of reading it.
func (env *Env) HashCost(c *Column) int64 {
	const (
		hashed = 8 // octets per step
		sent   = 4 // multiple of the cost of reading an array
	)
	if c.Type.Array {
		return sent * longCost
	}
	if len(c.Of) == 0 || c.Type.Family() != pgtype.TextFamily {
		return 0
	}
	return int64(env.costs().madeLength(&Ref{Column: c})) / hashed
}

func (c *costing) expr(e Expr) int64 {
	n, times := int64(1), int64(1)
	switch e := e.(type) { //nolint:gochecksumtype // the others cost their operands
	case *Ref:
		return added(c.column(e.Column), c.readColumn(e.Column))
	case *Query:
		return queryCost
	case *constant:
		switch {
		case e.typ.Array:
			n = added(n, c.array(e))
		case e.typ.Family() == pgtype.TextFamily:
			n += c.octets(e)
		}
	case *call:
		n = added(n, c.call(e))
	case *aggregate:
		times = e.over.rowsOfFrame()
	case *bounded: // it is written a second time, in the test for NULL
		times = 2
	case *choice:
		n = added(n, c.choice(e))
	case *cast:
		if e.typ.OID == pgtype.Bpchar || e.x.Type().Decimal() && e.typ.Family() == pgtype.TextFamily {
			n += c.octets(e)
		}
	}
	for _, o := range operands(e) {
		n = added(n, c.operand(e, o))
	}
	return product(n, times)
}

// octets is the cost of the octets that a text can have.
func (c *costing) octets(e Expr) int64 { return int64(c.env.textLength(e, octets)) / octetsPerStep }

// call is the cost of a call without its arguments.
func (c *costing) call(e *call) int64 {
	if cost := e.fn.over.cost; cost != nil {
		return cost(c, e)
	}
	return functionCost(c, e)
}

// functionCost is the cost of reading the arguments and of making a text.
func functionCost(c *costing, e *call) int64 {
	n := c.arguments(e)
	if length := e.fn.over.length; length != nil {
		n = added(n, int64(length(c.env, e, octets))/octetsPerStep)
	}
	return n
}

func (c *costing) arguments(e *call) int64 {
	return added(c.reading(besideLong(e.args...)...), c.digits(e))
}

// choice is the cost of the comparisons in CASE, NULLIF, GREATEST and LEAST.
func (c *costing) choice(e *choice) (n int64) {
	switch e.kind {
	case greatest, least:
		return c.order(e.results...)
	case nullIf:
		return c.equality(e.results[0], e.tests[0])
	case caseWhen:
		for _, t := range e.tests {
			if e.x != nil {
				n = added(n, c.equality(e.x, t))
			}
		}
	case coalesce:
	}
	return n
}

// operand is the cost of the operand o of e, which need not read a long text to its end.
func (c *costing) operand(e, o Expr) int64 {
	var compared []Expr
	reads := readsAll
	switch e := e.(type) { //nolint:gochecksumtype // the others read their operands
	case *call:
		if reads = e.fn.over.reads; reads == readsCompared {
			compared = e.args
		}
		if reads == readsFirst && o != e.args[0] {
			reads = readsAll
		}
	case *choice:
		compared = e.compared()
	}
	ref, plain := o.(*Ref)
	switch {
	case plain && reads == readsFirst && ref.Column.long():
		return added(c.column(ref.Column), searchedCost)
	case plain && reads == readsPresence:
		return c.column(ref.Column)
	case slices.Contains(compared, o) && briefColumn(c.env.Values, o, compared) != nil:
		return briefCost
	}
	return c.expr(o)
}

// readColumn is the cost of reading a text of unbounded length, or an array. An array is counted first, and so is fetched twice.
func (c *costing) readColumn(col *Column) int64 {
	longest, listed := c.env.Values.longest(col)
	switch {
	case col.Type.Array:
		return 2 * longCost
	case col.Reach == InDocument && col.Type.OID == pgtype.Text:
		return textFieldCost
	case col.Reach == InDocument:
		return fieldCost
	case listed:
		return int64(min(longest, cutBytes)) / octetsPerStep
	case col.long(), col.Reach == Short:
		return longCost
	}
	return 0
}

// array is a step for each element of a constant array, and the cost of its texts: ALL compares a value with the elements one by one.
func (c *costing) array(e *constant) int64 {
	if e.fold >= len(c.env.Values) {
		return math.MaxInt64
	}
	n := c.env.elements(e)
	if e.typ.Enum.Name != "" { // enums are read from texts for each row
		n = product(n, 8)
	}
	return added(int64(len(c.env.Values[e.fold].Bytes))/octetsPerStep, n)
}

func (c *costing) column(col *Column) int64 {
	if len(col.Of) == 0 || col.long() {
		return 1
	}
	if n, ok := c.columns[col]; ok {
		return n
	}
	n := int64(0)
	for _, e := range col.Of {
		n = added(n, c.expr(e))
	}
	c.columns[col] = n
	return n
}

// digits is the cost of arithmetic with long numerics, which is proportional to the square of their digits.
func (c *costing) digits(e *call) int64 {
	const digitsPerStep = 32
	longest := 0
	for _, o := range append([]Expr{e}, e.args...) {
		if !o.Type().Number() || o.Type().Float() {
			continue
		}
		if i := c.env.interval(o); i.finite() {
			longest = max(longest, len(i.magnitude().FloatString(0))+decimals(i.Least))
		}
	}
	return int64(longest/digitsPerStep) * int64(longest/digitsPerStep)
}

// added returns the sum of non-negative numbers, saturated at the largest int64.
func added(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// product returns the product of non-negative numbers, saturated at the largest int64.
func product(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
