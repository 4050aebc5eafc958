package fold

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
)

// An identity is a value's bytes in a form that only equal values share: a byte that says whether it is NULL, and then the bytes of its
// kind.
//
// Identities decide whether two rows belong to one unit. If a unit had two forms, it would count as two units, each with its own limit.

// AppendIdentity appends the identity of a value in its binary form, which is nil for NULL.
func (c Column) AppendIdentity(to, value []byte) ([]byte, error) {
	if value == nil {
		return append(to, 0), nil
	}
	if c.Kind == Written {
		return append(to, value...), nil
	}
	to = append(to, 1)
	switch c.Kind {
	case Plain, Text:
		return append(to, value...), nil
	case Padded:
		return append(to, bytes.TrimRight(value, " ")...), nil
	case Numeric:
		return appendNumeric(to, value)
	case Float:
		return appendFloat(to, value)
	case Interval:
		return appendInterval(to, value)
	case Written:
	}
	return to, errRow
}

// AppendCanonical appends the bytes by which an order of the secret places an identity. The bytes also show where a text ends. They are the
// bytes that DATA writes of the value if DATA makes such an order (scalar.Canonical in the planner).
func (c Column) AppendCanonical(to, identity []byte) []byte {
	switch c.Kind {
	case Text, Padded:
	case Plain, Numeric, Float, Interval, Written:
		return append(to, identity...)
	}
	if identity[0] == 0 {
		return append(to, 0)
	}
	if c.Hashed {
		digest := sha256.Sum256(identity[1:])
		return append(append(to, 1), digest[:]...)
	}
	return append(append(to, identity...), 0)
}

// The signs of a numeric. Its binary form begins with four numbers of 16 bits: the number of digits of base 10,000, the weight of the first
// digit, the sign, and how many decimals are shown.
const (
	positive    = 0x0000
	negative    = 0x4000
	notANumber  = 0xC000
	infinite    = 0xD000
	minusEndles = 0xF000
	numericHead = 8
)

// A numeric is a numeric value in its binary form.
type numeric struct {
	weight int // the exponent of 10,000 of the first digit
	sign   uint16
	digits []byte // two bytes each
}

func readNumeric(value []byte) (n numeric, ok bool) {
	if len(value) < numericHead || len(value) != numericHead+2*int(binary.BigEndian.Uint16(value)) {
		return n, false
	}
	return numeric{
		int(int16(binary.BigEndian.Uint16(value[2:]))), binary.BigEndian.Uint16(value[4:]), value[numericHead:],
	}, true
}

func (n numeric) digit(i int) int { return int(binary.BigEndian.Uint16(n.digits[2*i:])) }

// appendNumeric appends a numeric with no more decimals than it needs.
func appendNumeric(to, value []byte) ([]byte, error) {
	n, ok := readNumeric(value)
	if !ok {
		return to, errRow
	}
	for len(n.digits) > 0 && n.digit(len(n.digits)/2-1) == 0 {
		n.digits = n.digits[:len(n.digits)-2]
	}
	for len(n.digits) > 0 && n.digit(0) == 0 {
		n.digits, n.weight = n.digits[2:], n.weight-1
	}
	decimals := 0
	if count := len(n.digits) / 2; count > 0 {
		decimals = 4 * (count - 1 - n.weight)
		for last := n.digit(count - 1); last%10 == 0; last /= 10 {
			decimals--
		}
	} else if n.weight = 0; n.sign == negative {
		n.sign = positive
	}
	to = binary.BigEndian.AppendUint16(to, uint16(len(n.digits)/2))
	to = binary.BigEndian.AppendUint16(to, uint16(n.weight))
	to = binary.BigEndian.AppendUint16(to, n.sign)
	to = binary.BigEndian.AppendUint16(to, uint16(max(decimals, 0)))
	return append(to, n.digits...), nil
}

// readFloat reads a float4 or a float8.
func readFloat(value []byte) (f float64, ok bool) {
	switch len(value) {
	case 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(value))), true
	case 8:
		return math.Float64frombits(binary.BigEndian.Uint64(value)), true
	}
	return 0, false
}

// appendFloat appends a float8 in which all zeros and all NaNs are equal.
func appendFloat(to, value []byte) ([]byte, error) {
	f, ok := readFloat(value)
	if !ok {
		return to, errRow
	}
	bits := math.Float64bits(f)
	switch {
	case f == 0:
		bits = 0
	case f != f:
		bits = 0x7FF8 << 48 // as Postgres writes it
	}
	return binary.BigEndian.AppendUint64(to, bits), nil
}

// appendInterval appends the length of an interval as days and a rest of microseconds that is not negative. The interval is given in
// microseconds, days and months.
func appendInterval(to, value []byte) ([]byte, error) {
	const day, month = 24 * 60 * 60 * 1_000_000, 30
	if len(value) != 16 {
		return to, errRow
	}
	rest := int64(binary.BigEndian.Uint64(value))
	days := int64(int32(binary.BigEndian.Uint32(value[8:]))) + month*int64(int32(binary.BigEndian.Uint32(value[12:])))
	days, rest = days+rest/day, rest%day
	if rest < 0 {
		days, rest = days-1, rest+day
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(to, uint64(days)), uint64(rest)), nil
}

// readWhole reads an int2, int4 or int8.
func readWhole(value []byte) (n int64, ok bool) {
	switch len(value) {
	case 2:
		return int64(int16(binary.BigEndian.Uint16(value))), true
	case 4:
		return int64(int32(binary.BigEndian.Uint32(value))), true
	case 8:
		return int64(binary.BigEndian.Uint64(value)), true
	}
	return 0, false
}

// text writes an identity as it is shown, nil for NULL. If a key is shown as the text after it, the identity is that text's.
func (k Key) text(identity []byte) ([]byte, error) {
	if identity[0] == 0 {
		return nil, nil
	}
	value := identity[1:]
	switch k.Shown {
	case Same, Behind:
		return value, nil
	case Decimal, Numbered:
		n, ok := readWhole(value)
		if !ok {
			return nil, errRow
		}
		return strconv.AppendInt(nil, n, 10), nil
	case Word:
		if len(value) != 1 {
			return nil, errRow
		}
		return strconv.AppendBool(nil, value[0] != 0), nil
	case Hex:
		if len(value) != 16 {
			return nil, errRow
		}
		return hexed(value), nil
	}
	return nil, errRow
}

// hexed writes a uuid.
func hexed(value []byte) []byte {
	var out []byte
	for i, end := range []int{4, 6, 8, 10, 16} {
		from := []int{0, 4, 6, 8, 10}[i]
		if i > 0 {
			out = append(out, '-')
		}
		out = hex.AppendEncode(out, value[from:end])
	}
	return out
}
