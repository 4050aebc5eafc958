package scalar

import (
	"encoding/binary"
	"slices"
	"strings"

	"dpproxy/pgerr"
)

const (
	// shortList is how many constants IN takes one by one. More of them are one constant array,
	// as for Postgres.
	shortList = 100
	// longestList is how many it takes at all.
	longestList = 10_000
)

// longList compares with a long list of constants as with an array; ok is false for another list.
func (r *Resolver) longList(ops []operand, not bool, at int) (x operand, ok bool, err error) {
	list := ops[1:]
	if len(list) <= shortList || ops[0].free() || !allFree(list) {
		return operand{}, false, nil
	}
	if len(list) > longestList {
		return operand{}, false, pgerr.New(pgerr.ProgramLimitExceeded, "IN over protected rows has a list of %d values, at most %d are allowed", len(list), longestList).At(at).
			WithHint("Use fewer values, or a range.")
	}
	t, ok := common(list)
	if !ok || t.Array {
		return operand{}, false, nil
	}
	parts := slices.Clone(list)
	for i := range parts {
		if parts[i], err = r.coerce(parts[i], t); err != nil {
			return operand{}, false, err
		}
	}
	t = t.Unmodified()
	t.Array = true
	args, err := r.exprs([]operand{ops[0], free("CAST(ARRAY["+strings.Join(texts(parts), ", ")+"] AS "+t.SQL()+")", t, at)})
	if err != nil {
		return operand{}, false, err
	}
	op := "="
	if not {
		op = "<>"
	}
	return over(&anyOf{boolean(at), op, args[0], args[1], not, true}), true, nil
}

// items returns the elements of a constant array in binary, nil for NULL.
func (env *Env) items(c *constant) (list [][]byte, ok bool) {
	if c.fold >= len(env.Values) || !env.Values[c.fold].Binary {
		return nil, false
	}
	const header, dimension, length = 12, 8, 4 // array_send in src/backend/utils/adt/arrayfuncs.c
	b := env.Values[c.fold].Bytes
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

// holdsNull reports whether an element of a constant array may be NULL.
func (env *Env) holdsNull(array Expr) bool {
	c, ok := array.(*constant)
	if !ok {
		return true
	}
	items, ok := env.items(c)
	return !ok || slices.ContainsFunc(items, func(b []byte) bool { return b == nil })
}

// elementHull bounds the elements of a constant array, found once; without ends where they are
// too many, too long, or not finite.
func (env *Env) elementHull(c *constant) Interval {
	in, known := env.hulls[c.fold]
	if !known {
		in = env.hullOf(c)
		if env.hulls == nil {
			env.hulls = map[int]Interval{}
		}
		env.hulls[c.fold] = in
	}
	return in
}

func (env *Env) hullOf(c *constant) Interval {
	element := &constant{node: node{c.typ.element(), c.at}}
	items, ok := env.items(c)
	if !ok || len(items) > longestList || !element.typ.number() && !moment(element.typ) {
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

// short reports whether a constant, and each element of an array, is a short text, or NULL.
func (env *Env) short(c *constant) bool {
	if c.fold >= len(env.Values) {
		return false
	}
	if items, ok := env.items(c); ok && c.typ.Array {
		return !slices.ContainsFunc(items, func(b []byte) bool { return len(b) >= briefLength })
	}
	return len(env.Values[c.fold].Bytes) < briefLength
}
