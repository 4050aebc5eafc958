package scalar

import (
	"math"
	"slices"

	"dpproxy/planner/pgtype"
)

// octetsPerStep is how many octets of a text count as one step of work, which is 0.3 µs at most:
// Postgres 15 takes 2 ns for an octet in md5, 3 in lower and reverse, 4 where left finds where
// a long text ends.
const octetsPerStep = 64

// The cost of reading a text that may have any length, wherever its value matters, and where
// it is looked for something whose cost comes beside.
const (
	longCost     = cutBytes / octetsPerStep
	searchedCost = longCost * 5 / 8
)

// queryCost is the cost of a sub-select, beside that of the conditions in it: for the one
// row that a condition picks, it can read a table.
const queryCost = 1 << 13

// briefCost is the cost of reading the beginning of a long text beside short constants.
const briefCost = 1 << 6

// fieldsCost is the cost of looking at the fields of a composite value, which can be
// stored compressed.
const fieldsCost = 1 << 8

// costing computes costs of expressions, of each column and time zone once.
type costing struct {
	env *Env
	// columns are the costs of derived columns, made the octets of them that the statement has made.
	columns map[*Column]int64
	made    map[*Column]int
	// zones are the time zones whose first use was counted.
	zones map[string]bool
}

func (env *Env) costs() *costing {
	if env.costing == nil {
		env.costing = &costing{env: env, columns: map[*Column]int64{}, made: map[*Column]int{}, zones: map[string]bool{}}
	}
	return env.costing
}

// EvalCost bounds the work of computing e for one row, in steps: its nodes, those of derived
// columns at each of their references (Postgres puts them there), the texts that are made or
// read, and long arithmetic. A condition can aim all of it at one row.
func (env *Env) EvalCost(e Expr) int64 { return env.costs().expr(e) }

// HashCost is that of hashing a column that the statement has made, where rows of a unit
// are chosen, beside that of reading it.
func (env *Env) HashCost(c *Column) int64 {
	const (
		hashed = 8 // octets in a step
		sent   = 4 // times the cost of reading an array
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
	switch e := e.(type) { //nolint:gochecksumtype // the others cost what is below them
	case *Ref:
		return added(c.column(e.Column), columnReadCost(e.Column))
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
	case *bounded: // is written beside the test whether it is NULL
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

// call is the cost that a call adds to the cost of its arguments.
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

// choice is the cost of comparing the values that CASE, NULLIF, GREATEST and LEAST compare.
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

// operand is the cost of o below e, which need not read all of a long text.
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

// columnReadCost is the cost of reading a text that may have any length, or an array, which is counted first and so is fetched
// twice.
func columnReadCost(c *Column) int64 {
	switch {
	case c.Type.Array:
		return 2 * longCost
	case c.long(), c.Reach == Short:
		return longCost
	}
	return 0
}

// array is a step for each element of a constant array, and for the texts in it: ALL
// compares a value with one after the other.
func (c *costing) array(e *constant) int64 {
	if e.fold >= len(c.env.Values) {
		return math.MaxInt64
	}
	n := c.env.elements(e)
	if e.typ.Enum.Name != "" { // read as texts for each row
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

// digits is the cost of arithmetic on long numerics: it takes the square of their digits.
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

// added is the sum of numbers that are not negative, or the largest number.
func added(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// product is that of numbers that are not negative, or the largest number.
func product(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}
