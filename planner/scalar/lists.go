package scalar

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"dpproxy/planner/pgtype"
)

const (
	// shortList is the number of constants that IN compares one by one. Longer lists are a constant array, as in Postgres.
	shortList = 100
	// longestList bounds the number of constants of IN.
	longestList = 10_000
	// MaxListed bounds the rows of a relation of constants. The mirror lists at most one more.
	MaxListed = longestList
)

// items returns the elements of a constant array in binary; nil is NULL.
func (values Values) items(c *constant) (list [][]byte, ok bool) {
	if c.fold >= len(values) || !values[c.fold].Binary {
		return nil, false
	}
	const header, dimension, length = 12, 8, 4 // array_send in src/backend/utils/adt/arrayfuncs.c
	b := values[c.fold].Bytes
	if len(b) < header || uint64(header)+dimension*uint64(binary.BigEndian.Uint32(b)) > uint64(len(b)) {
		return nil, false
	}
	b = b[header+dimension*int(binary.BigEndian.Uint32(b)):]
	for len(b) >= length {
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[length:]
		switch {
		case n < 0:
			list = append(list, nil)
			continue
		case n > len(b):
			return nil, false
		}
		list, b = append(list, b[:n:n]), b[n:]
	}
	return list, len(b) == 0
}

// elements returns the number of elements of a constant array.
func (values Values) elements(c *constant) int64 {
	if c.fold >= len(values) {
		return math.MaxInt64
	}
	v := values[c.fold]
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

func (values Values) hull(c *constant) Interval {
	element := &constant{node: node{typ: c.typ.Element(), at: c.at}}
	items, ok := values.items(c)
	if !ok || len(items) > longestList || !element.typ.Number() && !element.typ.Dated() {
		return Interval{}
	}
	list := make([]Interval, 0, len(items))
	for _, b := range items {
		if b == nil {
			continue
		}
		if err := (Value{Binary: true, Bytes: b}).tooLong(element); err != nil {
			return Interval{}
		}
		d, known := decodeBinary(element.typ.OID, b)
		if !known || d.number == nil {
			return Interval{}
		}
		list = append(list, Interval{Low: d.number, High: d.number})
	}
	return hull(list...)
}

// allNull reports whether a constant array is known to contain only NULL.
func (values Values) allNull(c *constant) bool {
	items, ok := values.items(c)
	return ok && !slices.ContainsFunc(items, func(b []byte) bool { return b != nil })
}

// short reports whether a constant, or each element of a constant array, is a text shorter than briefLength, or NULL.
func (values Values) short(c *constant) bool {
	if c.fold >= len(values) {
		return false
	}
	if items, ok := values.items(c); ok && c.typ.Array {
		return !slices.ContainsFunc(items, func(b []byte) bool { return len(b) >= briefLength })
	}
	return len(values[c.fold].Bytes) < briefLength
}

// Listed returns the number of values of a constant array, and whether none is NULL. The number is negative if the array cannot be read.
func (values Values) Listed(list Expr) (n int64, notNull bool) {
	items, ok := values.listed(list)
	if !ok {
		return -1, false
	}
	return int64(len(items)), values.Unsettled(list) || !slices.ContainsFunc(items, func(b []byte) bool { return b == nil })
}

// Repeats returns how many rows of constant arrays, read as columns, have the same bytes in all columns and no NULL, of those that most
// have.
func (values Values) Repeats(lists []Expr) (most int64, known bool) {
	var rows []string
	null := map[int]bool{}
	for i, l := range lists {
		items, ok := values.listed(l)
		if !ok || values.Unsettled(l) || i > 0 && len(items) != len(rows) {
			return 0, false
		}
		if i == 0 {
			rows = make([]string, len(items))
		}
		for at, b := range items {
			rows[at] += strconv.Quote(string(b))
			null[at] = null[at] || b == nil
		}
	}
	times := make(map[string]int64, len(rows))
	for at, row := range rows {
		if !null[at] {
			times[row]++
			most = max(most, times[row])
		}
	}
	return most, true
}

// Different reports whether constant arrays of equal length, read as rows, have no two rows with the same bytes.
func (values Values) Different(lists []Expr) bool {
	var rows []string
	for i, l := range lists {
		items, ok := values.listed(l)
		if !ok || i > 0 && len(items) != len(rows) {
			return false
		}
		if i == 0 {
			rows = make([]string, len(items))
		}
		for at, b := range items {
			rows[at] += strconv.Quote(string(b))
		}
	}
	slices.Sort(rows)
	return len(slices.Compact(rows)) == len(rows)
}

// longest returns the bytes of the longest text in the list of a column; false if the column has none, or it cannot be read.
func (values Values) longest(c *Column) (n int, ok bool) {
	if c.List == nil || c.Type.Family() != pgtype.TextFamily {
		return 0, false
	}
	items, ok := values.listed(c.List)
	for _, b := range items {
		n = max(n, len(b))
	}
	return n, ok && !values.Unsettled(c.List)
}

// listed returns the values of a constant array; a NULL array has none.
func (values Values) listed(list Expr) (items [][]byte, ok bool) {
	c, ok := list.(*constant)
	if !ok || c.fold >= len(values) {
		return nil, false
	}
	if values[c.fold].Bytes == nil {
		return nil, true
	}
	return values.items(c)
}
