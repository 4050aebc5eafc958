package scalar

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"dpproxy/pgerr"
	"dpproxy/planner/pgtype"
)

// datum is the value of a constant, as far as bounds and checks need it.
type datum struct {
	null bool
	// number is a number, a boolean, or a moment as in an Interval; nil if it is not finite, or is not a number.
	number *big.Rat
	// digits is the number of decimals of a numeric.
	digits int
	text   string
	// months, days and micros are the parts of an interval.
	months, days int32
	micros       int64
}

// datum decodes the value of a constant.
func (values Values) datum(c *constant) (datum, error) {
	if c.fold >= len(values) {
		return datum{}, pgerr.New(pgerr.Internal, "a constant without a value").At(c.at)
	}
	v := values[c.fold]
	switch {
	case v.Bytes == nil && v.Unknown:
		return standIn(c.typ), nil
	case v.Bytes == nil:
		return datum{null: true}, nil
	}
	if err := v.tooLong(c); err != nil {
		return datum{}, err
	}
	var d datum
	ok := true
	switch {
	case c.typ.Array || c.typ.Enum.Name != "":
	case v.Binary:
		d, ok = decodeBinary(c.typ.OID, v.Bytes)
	default:
		d, ok = decodeText(c.typ.OID, string(v.Bytes))
	}
	if !ok {
		return datum{}, pgerr.New(pgerr.Internal, "the value of a constant of type %s cannot be read", c.typ).At(c.at)
	}
	return d, nil
}

// tooLong refuses a numeric with so many digits that computing with it takes long, here and on DATA, where a condition can direct
// width_bucket, mod, div or a cast to text at one row. It reads only the header.
func (v Value) tooLong(c *constant) error {
	const weight, decimals = 50, 300 // of base-10000 digits; about the sizes of largestExact and leastExact
	switch {
	case !c.typ.Decimal() || c.typ.Array:
		return nil
	case v.Binary && len(v.Bytes) >= 8:
		if int16(binary.BigEndian.Uint16(v.Bytes[2:])) <= weight && binary.BigEndian.Uint16(v.Bytes[6:])&0x3fff <= decimals {
			return nil
		}
	case len(v.Bytes) <= 4*weight+decimals:
		return nil
	}
	return pgerr.New(pgerr.NotAllowed, "a constant of so many digits is not allowed on protected data").At(c.at).
		WithHint("Use a number below 1e200 with at most 300 decimals.")
}

// infinite reports whether a numeric is infinite, or whether an element of an array of numerics may be.
func (v Value) infinite(t pgtype.Type) bool {
	switch {
	case !t.Decimal() && (!t.Array || t.OID != pgtype.Numeric):
		return false
	case !v.Binary:
		return strings.Contains(string(v.Bytes), "Infinity")
	case t.Array:
		return bytes.Contains(v.Bytes, []byte{0, 8, 0, 0, 0, 0, 0xd0, 0, 0}) ||
			bytes.Contains(v.Bytes, []byte{0, 8, 0, 0, 0, 0, 0xf0, 0, 0})
	}
	return len(v.Bytes) >= 8 && (binary.BigEndian.Uint16(v.Bytes[4:]) == 0xd000 || binary.BigEndian.Uint16(v.Bytes[4:]) == 0xf000)
}

// text returns the value of a constant text; nil is NULL.
func (values Values) text(e Expr) (*string, error) {
	c, ok := e.(*constant)
	if !ok {
		return nil, pgerr.New(pgerr.Internal, "a constant was expected").At(e.Pos())
	}
	d, err := values.datum(c)
	if err != nil || d.null {
		return nil, err
	}
	return &d.text, nil
}

// integer returns the value of a constant integer; ok is false if it is NULL.
func (values Values) integer(e Expr) (n int64, ok bool, err error) {
	c, isConstant := e.(*constant)
	if !isConstant {
		return 0, false, pgerr.New(pgerr.Internal, "a constant was expected").At(e.Pos())
	}
	d, err := values.datum(c)
	if err != nil || d.null || d.number == nil {
		return 0, false, err
	}
	return d.number.Num().Int64(), true, nil
}

// octets returns the number of octets of a constant text.
func (values Values) octets(e Expr) int {
	s, err := values.text(e)
	if err != nil || s == nil {
		return 0
	}
	return len(*s)
}

// scale returns the number of decimals of a constant.
func (values Values) scale(c *constant) (digits int, ok bool) {
	d, err := values.datum(c)
	return d.digits, err == nil && d.number != nil
}

// decodeBinary reads Postgres's binary format.
func decodeBinary(oid uint32, b []byte) (datum, bool) {
	if size := pgtype.Size(oid); size > 0 && len(b) != size {
		return datum{}, false
	}
	switch oid {
	case pgtype.Bool:
		return whole(int64(b[0])), true
	case pgtype.Int2:
		return whole(int64(int16(binary.BigEndian.Uint16(b)))), true
	case pgtype.Int4, pgtype.Date:
		n := int32(binary.BigEndian.Uint32(b))
		if oid == pgtype.Date && (n == math.MinInt32 || n == math.MaxInt32) {
			return datum{}, true
		}
		return whole(int64(n)), true
	case pgtype.Int8, pgtype.Time, pgtype.Timestamp, pgtype.Timestamptz:
		n := int64(binary.BigEndian.Uint64(b))
		if oid != pgtype.Int8 && (n == math.MinInt64 || n == math.MaxInt64) {
			return datum{}, true
		}
		return whole(n), true
	case pgtype.Float4:
		return float(float64(math.Float32frombits(binary.BigEndian.Uint32(b)))), true
	case pgtype.Float8:
		return float(math.Float64frombits(binary.BigEndian.Uint64(b))), true
	case pgtype.Numeric:
		return decodeNumeric(b)
	case pgtype.Interval:
		return interval(int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[8:])),
			int32(binary.BigEndian.Uint32(b[12:]))), true
	}
	return datum{text: string(b)}, true
}

func whole(n int64) datum { return datum{number: new(big.Rat).SetInt64(n)} }

func float(f float64) datum {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return datum{}
	}
	return datum{number: new(big.Rat).SetFloat64(f)}
}

// interval has the length by which Postgres compares intervals. From Postgres 17 on the largest and the smallest interval are infinite.
func interval(micros int64, days, months int32) datum {
	if micros == math.MaxInt64 && days == math.MaxInt32 && months == math.MaxInt32 ||
		micros == math.MinInt64 && days == math.MinInt32 && months == math.MinInt32 {
		return datum{}
	}
	n := new(big.Int).Mul(big.NewInt(int64(months)*30+int64(days)), big.NewInt(pgtype.MicrosPerDay))
	n.Add(n, big.NewInt(micros))
	return datum{number: new(big.Rat).SetInt(n), months: months, days: days, micros: micros}
}

// decodeNumeric reads the binary format of numeric, with base-10000 digits.
func decodeNumeric(b []byte) (datum, bool) {
	if len(b) < 8 || len(b) != 8+2*int(binary.BigEndian.Uint16(b)) {
		return datum{}, false
	}
	weight := int(int16(binary.BigEndian.Uint16(b[2:])))
	sign := binary.BigEndian.Uint16(b[4:])
	d := datum{digits: int(binary.BigEndian.Uint16(b[6:]))}
	if sign != 0 && sign != 0x4000 { // NaN and infinities
		return datum{}, true
	}
	n, base := new(big.Int), big.NewInt(10000)
	digits := b[8:]
	for i := 0; i < len(digits); i += 2 {
		n.Add(n.Mul(n, base), big.NewInt(int64(binary.BigEndian.Uint16(digits[i:]))))
	}
	d.number = new(big.Rat).SetInt(n)
	exponent := weight - len(digits)/2 + 1
	power := new(big.Rat).SetInt(new(big.Int).Exp(base, big.NewInt(int64(max(exponent, -exponent))), nil))
	if exponent < 0 {
		d.number.Quo(d.number, power)
	} else {
		d.number.Mul(d.number, power)
	}
	if sign == 0x4000 {
		d.number.Neg(d.number)
	}
	return d, true
}

// decodeText reads the text format, as far as it has one spelling.
func decodeText(oid uint32, s string) (datum, bool) {
	switch oid {
	case pgtype.Bool:
		if s == "t" {
			return whole(1), true
		}
		return whole(0), s == "f"
	case pgtype.Int2, pgtype.Int4, pgtype.Int8:
		n, err := strconv.ParseInt(s, 10, 64)
		return whole(n), err == nil
	case pgtype.Float4, pgtype.Float8:
		f, err := strconv.ParseFloat(s, 64)
		return float(f), err == nil
	case pgtype.Numeric:
		if s == "NaN" || strings.HasSuffix(s, "Infinity") {
			return datum{}, true
		}
		_, decimals, _ := strings.Cut(s, ".")
		r, ok := new(big.Rat).SetString(s)
		return datum{number: r, digits: len(decimals)}, ok && len(s) < 1000
	case pgtype.Date, pgtype.Timestamp, pgtype.Timestamptz:
		r, ok := Instant(s)
		if ok && oid == pgtype.Date {
			r.Quo(r, big.NewRat(pgtype.MicrosPerDay, 1))
		}
		return datum{number: r}, ok
	case pgtype.Time, pgtype.Interval:
		return datum{}, false
	}
	return datum{text: s}, true
}

// layouts are the spellings of dates and timestamps that Go and Postgres read alike.
var layouts = []string{
	"2006-01-02", "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z07:00",
	"2006-01-02 15:04:05Z07",
}

// Instant reads a date or timestamp as microseconds since 2000-01-01, in UTC unless it has another zone.
func Instant(s string) (*big.Rat, bool) {
	for _, l := range layouts {
		t, err := time.Parse(l, s)
		if err != nil {
			continue
		}
		micros := new(big.Rat).SetInt64((t.Unix() - pgtype.Epoch.Unix()) * 1_000_000)
		return micros.Add(micros, big.NewRat(int64(t.Nanosecond()), 1000)), true
	}
	return nil, false
}
