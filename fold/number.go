package fold

import "math"

// steps returns a value that is not NULL in steps, within the bounds. It uses the same operations in the same order as DATA uses when DATA
// adds values up.
func (n *Number) steps(value []byte) (int64, error) {
	switch n.Kind {
	case Whole:
		if x, ok := readWhole(value); ok {
			return n.within(x), nil
		}
	case DecimalNumber:
		if x, ok := readNumeric(value); ok {
			return n.within(n.decimal(x)), nil
		}
	case FloatNumber:
		if f, ok := readFloat(value); ok {
			return n.float(f), nil
		}
	case Days:
		if x, ok := readWhole(value); ok && len(value) == 4 {
			return n.within(x), nil
		}
	case Moments:
		if x, ok := readWhole(value); ok && len(value) == 8 {
			return n.within(n.moment(x)), nil
		}
	case Truth:
		if len(value) == 1 {
			return int64(value[0]), nil
		}
	case Position: // find looks it up
	}
	return 0, errRow
}

func (n *Number) within(x int64) int64 { return min(max(x, n.Low), n.High) }

// beyond is larger than all bounds.
const beyond = 1 << 62

// decimal returns a numeric in steps, rounded half away from zero, or a number beyond the bounds.
func (n *Number) decimal(x numeric) int64 {
	switch x.sign {
	case notANumber, infinite:
		return beyond
	case minusEndles:
		return -beyond
	}
	size := int64(0)
	places := 4*(x.weight+1) + n.Decimals // decimal digits before the point of the number of steps
	count := len(x.digits) / 2
	group := func(i int) int64 {
		if i < count {
			return int64(x.digit(i))
		}
		return 0
	}
	i := 0
	for ; 4*(i+1) <= places; i++ {
		if size > beyond/10_000-1 {
			return signed(beyond, x.sign)
		}
		size = 10_000*size + group(i)
	}
	if rest := places - 4*i; rest >= 0 {
		times := []int64{1, 10, 100, 1000}[rest]
		if size > beyond/times-1 {
			return signed(beyond, x.sign)
		}
		unit := 10_000 / times
		size = times*size + group(i)/unit
		if 2*(group(i)%unit) >= unit {
			size++
		}
	}
	return signed(size, x.sign)
}

func signed(size int64, sign uint16) int64 {
	if sign == negative {
		return -size
	}
	return size
}

// float returns a float in steps.
func (n *Number) float(f float64) int64 {
	low, high := math.Ldexp(float64(n.Low), -int(n.Bits)), math.Ldexp(float64(n.High), -int(n.Bits))
	switch {
	case f != f, f > high:
		f = high
	case f < low:
		f = low
	}
	return n.within(int64(math.RoundToEven(math.Ldexp(f, int(n.Bits)))))
}

// moment returns microseconds since 2000, rounded as seconds since 1970 in double precision.
func (n *Number) moment(x int64) int64 {
	const since1970 = 946_684_800_000_000
	return int64(math.RoundToEven(float64(n.within(x)+since1970)/1e6*1e6)) - since1970
}
