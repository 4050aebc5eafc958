package scalar

import (
	"encoding/binary"
	"math"
	"math/big"

	"dpproxy/planner/pgtype"
)

// pointOf returns the value of a constant; null says that it is NULL. It returns false if the value is not known, or if constants of the
// type are not compared in the order of points.
func pointOf(env *Env, c *constant) (p point, null, ok bool) {
	if c.fold >= len(env.Values) || env.Unsettled(c) || c.typ.Array {
		return p, false, false
	}
	v := env.Values[c.fold]
	if v.Bytes == nil {
		return p, true, true
	}
	if v.tooLong(c) != nil {
		return p, false, false
	}
	p, ok = pointFrom(c.typ, v)
	return p, false, ok
}

func pointFrom(t pgtype.Type, v Value) (p point, ok bool) {
	switch {
	case t.Enum.Name != "":
		return point{text: string(v.Bytes)}, !t.Array
	case plainText(t):
		return point{text: string(v.Bytes)}, len(v.Bytes) < briefLength
	case t.Family() == pgtype.UUIDFamily:
		return point{text: string(v.Bytes)}, v.Binary
	case !v.Binary || !t.Number() && !t.Dated() && t.OID != pgtype.Bool:
		return p, false
	}
	d, ok := decodeBinary(t.OID, v.Bytes)
	if !ok {
		return p, false
	}
	if d.number != nil {
		return point{number: d.number}, true
	}
	return point{class: classOf(t.OID, v.Bytes)}, true
}

// classOf returns the class of a number, date or time that is not finite, in the binary format.
func classOf(oid uint32, b []byte) class {
	negative := false
	switch oid {
	case pgtype.Float4:
		return classOfFloat(float64(math.Float32frombits(binary.BigEndian.Uint32(b))))
	case pgtype.Float8:
		return classOfFloat(math.Float64frombits(binary.BigEndian.Uint64(b)))
	case pgtype.Numeric:
		const nan, minus = 0xc000, 0xf000
		sign := binary.BigEndian.Uint16(b[4:])
		if sign == nan {
			return notANumber
		}
		negative = sign == minus
	default: // the first bit of the smallest date or time is its sign
		negative = b[0]&0x80 != 0
	}
	if negative {
		return minusInfinity
	}
	return plusInfinity
}

func classOfFloat(f float64) class {
	switch {
	case math.IsNaN(f):
		return notANumber
	case math.IsInf(f, -1):
		return minusInfinity
	}
	return plusInfinity
}

// pointsOf returns the elements of a constant array; null says that one is NULL.
func pointsOf(env *Env, array *constant) (list []point, null, ok bool) {
	if env.Unsettled(array) {
		return nil, false, false
	}
	items, ok := env.items(array)
	element := array.typ.Element()
	if !ok || element.Enum.Name != "" || len(items) > longestList {
		return nil, false, false
	}
	for _, b := range items {
		if b == nil {
			null = true
			continue
		}
		v := Value{OID: element.OID, Binary: true, Bytes: b}
		if v.tooLong(&constant{node: node{typ: element, at: array.at}}) != nil {
			return nil, false, false
		}
		p, known := pointFrom(element, v)
		if !known {
			return nil, false, false
		}
		list = append(list, p)
	}
	return list, null, true
}

// A raster says which values of a type lie between two points, so that edges between the same values are one edge.
type raster struct {
	step      *big.Rat // finite values are its multiples; nil if they can lie as close as can be
	low, high *big.Rat // the ends of finite values, or nil
	infinite  bool     // there are infinite values
	nan       bool
}

// rasterOf returns the raster of the values of an expression.
func rasterOf(e Expr) (r raster, ok bool) {
	t := e.Type()
	col, plain := PlainColumn(e)
	plain = plain && !col.derived()
	switch {
	case t.Array:
		return r, false
	case t.OID == pgtype.Bool:
		return raster{step: rat(1), low: rat(0), high: rat(1)}, true
	case t.Whole():
		r.step = rat(1)
		if plain {
			end := power2(pgtype.Bits(t.OID) - 1)
			r.low, r.high = new(big.Rat).Neg(end), new(big.Rat).Sub(end, rat(1))
		}
		return r, true
	case t.Dated():
		return raster{step: rat(1), infinite: true}, true
	case t.Decimal() && plain && t.Scale() >= 0: // a type with a scale has no infinite values
		return raster{step: power10(-t.Scale()), nan: true}, true
	case t.Decimal(), t.Float():
		return raster{infinite: true, nan: true}, true
	}
	return raster{}, t.Enum.Name != "" || plainText(t) || t.Family() == pgtype.UUIDFamily
}

// settled moves an edge to the one that stands for all between the same two values.
func (r raster) settled(c edge) edge {
	start, end := edge{at: point{class: beforeAll}}, edge{at: point{class: behindAll}}
	first, last := start, end // of finite values
	if r.nan {
		last = edge{at: point{class: notANumber}}
	}
	if r.infinite {
		first, last = edge{at: point{class: minusInfinity}, after: true}, edge{at: point{class: plusInfinity}}
	}
	switch {
	case c.compare(edge{at: point{class: minusInfinity}}) <= 0:
		return start
	case c.at.class == minusInfinity:
		return first
	case c.at.class == plusInfinity && !c.after:
		return last
	case c.at.class == plusInfinity, c.at.class == notANumber && !c.after:
		if r.nan {
			return edge{at: point{class: notANumber}}
		}
		return end
	case c.at.class > finite:
		return end
	case c.at.number == nil || r.step == nil:
		return c
	}
	n := new(big.Rat).Quo(c.at.number, r.step)
	if c.after {
		n = n.Add(floor(n), rat(1))
	} else {
		n = ceil(n)
	}
	n = n.Mul(n, r.step)
	switch {
	case r.low != nil && n.Cmp(r.low) <= 0:
		return first
	case r.high != nil && n.Cmp(r.high) > 0:
		return last
	}
	return edge{at: point{number: n}}
}
