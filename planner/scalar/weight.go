package scalar

import (
	"bytes"
	"encoding/binary"
	"math"
)

// charsPerStep is how many characters of a text count as one step of work.
const charsPerStep = 64

// queryWeight is the weight of a sub-select, beside that of the conditions in it: for the one
// row that a condition picks, it can read a table.
const queryWeight = 1 << 13

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
		return env.columnWeight(e.Column)
	case *Query:
		return queryWeight
	case *constant:
		switch {
		case e.typ.Array:
			n = added(n, env.arrayWeight(e))
		case e.typ.Family() == TextFamily:
			n += int64(env.textLength(e)) / charsPerStep
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
			n += int64(env.castLength(e)) / charsPerStep
		}
	}
	for _, o := range operands(e) {
		n = added(n, env.Weight(o))
	}
	return n
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
	return added(int64(len(env.Values[c.fold].Bytes))/charsPerStep, n)
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
	if len(c.Of) == 0 {
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
