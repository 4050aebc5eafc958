package scalar

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// octetsPerStep is how many octets of a text count as one step of work, which is 0.3 µs at most:
// Postgres 15 takes 2 ns for an octet in md5, 3 in lower and reverse, 4 where left finds where
// a long text ends.
const octetsPerStep = 64

// The weight of reading a text that may have any length, wherever its value matters, and where
// it is looked for something whose weight comes beside.
const (
	longWeight     = cutBytes / octetsPerStep
	searchedWeight = longWeight * 5 / 8
)

// queryWeight is the weight of a sub-select, beside that of the conditions in it: for the one
// row that a condition picks, it can read a table.
const queryWeight = 1 << 13

// briefWeight is the weight of reading what matters of a long text beside short constants.
const briefWeight = 1 << 6

// fieldsWeight is the weight of looking at the fields of a composite value, which can be
// stored compressed.
const fieldsWeight = 1 << 8

// Weight bounds the work of computing e for one row, in steps: its nodes, those of derived
// columns at each of their references (Postgres puts them there), the texts that are made or
// read, and long arithmetic. A condition can aim all of it at one row.
func (env *Env) Weight(e Expr) int64 {
	n := int64(1)
	switch e := e.(type) { //nolint:gochecksumtype // the others weigh what is below them
	case *Ref:
		return added(env.columnWeight(e.Column), readWeight(e.Column))
	case *Query:
		return queryWeight
	case *constant:
		switch {
		case e.typ.Array:
			n = added(n, env.arrayWeight(e))
		case e.typ.Family() == TextFamily:
			n += int64(env.textLength(e, octets)) / octetsPerStep
		}
	case *call:
		n = added(n, env.callWeight(e))
	case *null:
		if e.x.Type().Family() == NoFamily {
			n = added(n, fieldsWeight)
		}
	case *like:
		n = added(n, env.likeWeight(e))
	case *comparison, *distinct, *between, *choice, *anyOf, *among, *nullIf, *branches:
		n = added(n, env.comparisonWeight(e))
	case *cast:
		if e.typ.OID == oidBpchar || e.x.Type().decimal() && e.typ.Family() == TextFamily {
			n += int64(env.castLength(e, octets)) / octetsPerStep
		}
	}
	for _, o := range operands(e) {
		n = added(n, env.operandWeight(e, o))
	}
	return n
}

// operandWeight is the weight of o below e, which need not read all of a long text.
func (env *Env) operandWeight(e, o Expr) int64 {
	if ref, plain := o.(*Ref); plain && ref.Column.long() && searches(e, o) {
		return added(env.columnWeight(ref.Column), searchedWeight)
	}
	list := operands(e)
	switch e := e.(type) { //nolint:gochecksumtype // the others read their operands
	case *null:
		if ref, ok := o.(*Ref); ok {
			return env.columnWeight(ref.Column)
		}
		list = nil
	case *comparison, *distinct, *among, *between, *anyOf:
	case *branches:
		list = e.compared()
	default:
		list = nil
	}
	if slices.Contains(list, o) && env.brief(o, list) != nil {
		return briefWeight
	}
	return env.Weight(o)
}

// readWeight is the weight of reading a text that may have any length.
func readWeight(c *Column) int64 {
	if !c.long() && c.Reach != Short {
		return 0
	}
	return longWeight
}

// searches reports whether e looks for something in o.
func searches(e, o Expr) bool {
	switch e := e.(type) { //nolint:gochecksumtype // the others read their operands
	case *like:
		return o == e.x
	case *call:
		return o == e.args[0] && (e.fn.over == find || e.fn.over == replace || e.fn.over == splitPart)
	}
	return false
}

// arrayWeight is a step for each element of a constant array, and for the texts in it: ALL
// compares a value with one after the other.
func (env *Env) arrayWeight(c *constant) int64 {
	if c.fold >= len(env.Values) {
		return math.MaxInt64
	}
	n := env.elements(c)
	if c.typ.Enum.Name != "" { // read as texts for each row
		n = product(n, 8)
	}
	return added(int64(len(env.Values[c.fold].Bytes))/octetsPerStep, n)
}

// elements counts those of a constant array.
func (env *Env) elements(c *constant) int64 {
	if c.fold >= len(env.Values) {
		return math.MaxInt64
	}
	v := env.Values[c.fold]
	if !v.Binary {
		return int64(bytes.Count(v.Bytes, []byte(","))) + 1
	}
	const header, dimension = 12, 8 // array_send in src/backend/utils/adt/arrayfuncs.c
	n := int64(0)
	for i := header; i+dimension <= len(v.Bytes) && i < header+dimension*int(binary.BigEndian.Uint32(v.Bytes)); i += dimension {
		n = max(n, 1) * int64(binary.BigEndian.Uint32(v.Bytes[i:]))
	}
	return n
}

func (env *Env) columnWeight(c *Column) int64 {
	if len(c.Of) == 0 || c.long() {
		return 1
	}
	if n, ok := env.weights[c]; ok {
		return n
	}
	n := int64(0)
	for _, e := range c.Of {
		n = added(n, env.Weight(e))
	}
	if env.weights == nil {
		env.weights = map[*Column]int64{}
	}
	env.weights[c] = n
	return n
}

// added is the sum of numbers that are not negative, or the largest number.
func added(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
