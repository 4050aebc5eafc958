package scalar

import (
	"encoding/binary"
	"math"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// Fractions resolves the direct argument of a percentile: a constant number, or a constant array of numbers.
func (r *Resolver) Fractions(e ast.Expr) (x Expr, array bool, err error) {
	at := r.resolution()
	x, err = at.resolve(e)
	if err != nil {
		return nil, false, err
	}
	if !x.free() {
		return nil, false, pgerr.New(pgerr.NotAllowed, "the fraction of a percentile must be a constant").At(x.Pos())
	}
	t := pgtype.Of(pgtype.Float8)
	t.Array = x.Type().Array
	x, err = at.fold(mirrorCast(x, t, x.Pos(), nil))
	return x, t.Array, err
}

// Whole resolves a constant whole number.
func (r *Resolver) Whole(e ast.Expr) (Expr, error) {
	at := r.resolution()
	x, err := at.resolve(e)
	if err != nil {
		return nil, err
	}
	if !x.free() {
		return nil, pgerr.New(pgerr.NotAllowed, "a constant number must stand here").At(x.Pos())
	}
	return at.fold(mirrorCast(x, pgtype.Of(pgtype.Int8), x.Pos(), nil))
}

// Floats returns the numbers of a constant float8 or float8[]. An element is nil if it is NULL, and a single number also if it is not
// finite.
func (values Values) Floats(e Expr) ([]*float64, error) {
	c, ok := e.(*constant)
	if !ok || c.fold >= len(values) {
		return nil, pgerr.New(pgerr.Internal, "a constant was expected").At(e.Pos())
	}
	v := values[c.fold]
	if c.typ.Array {
		if v.Bytes == nil {
			return nil, pgerr.New(pgerr.NotAllowed, "the fractions of a percentile are NULL").At(e.Pos())
		}
		list, ok := decodeFloats(v.Bytes)
		if !ok || !v.Binary {
			return nil, pgerr.New(pgerr.NotAllowed, "the fractions of a percentile must be an array of one dimension").At(e.Pos())
		}
		return list, nil
	}
	d, err := values.datum(c)
	if err != nil {
		return nil, err
	}
	if d.null || d.number == nil {
		return []*float64{nil}, nil
	}
	f, _ := d.number.Float64()
	return []*float64{&f}, nil
}

// decodeFloats reads the binary format of a float8 array of at most one dimension.
func decodeFloats(b []byte) ([]*float64, bool) {
	const header, most = 20, 1000
	if len(b) == 12 && binary.BigEndian.Uint32(b) == 0 {
		return nil, true
	}
	if len(b) < header || binary.BigEndian.Uint32(b) != 1 {
		return nil, false
	}
	n := int(int32(binary.BigEndian.Uint32(b[12:])))
	if n < 0 || n > most {
		return nil, false
	}
	b = b[header:]
	list := make([]*float64, n)
	for i := range list {
		if len(b) < 4 {
			return nil, false
		}
		size := int32(binary.BigEndian.Uint32(b))
		if b = b[4:]; size < 0 {
			continue
		}
		if size != 8 || len(b) < 8 {
			return nil, false
		}
		if f := math.Float64frombits(binary.BigEndian.Uint64(b)); !math.IsNaN(f) {
			list[i] = &f
		}
		b = b[8:]
	}
	return list, true
}

// ConstantText reports whether e is a constant, and returns its text, which is nil if it is NULL.
func (values Values) ConstantText(e Expr) (text *string, constantly bool) {
	c, ok := e.(*constant)
	if !ok {
		return nil, false
	}
	d, err := values.datum(c)
	if err != nil || d.null {
		return nil, err == nil
	}
	return &d.text, true
}
