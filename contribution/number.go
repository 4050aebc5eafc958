package contribution

import "math/big"

// A number is an integer that takes little room where it is an int64.
type number struct {
	small int64
	large *big.Int // nil if small is the number
}

// numberOf copies an integer; nil is zero.
func numberOf(n *big.Int) number {
	switch {
	case n == nil:
		return number{}
	case n.IsInt64():
		return number{small: n.Int64()}
	}
	return number{large: new(big.Int).Set(n)}
}

// set sets to to the number, and returns it.
func (n number) set(to *big.Int) *big.Int {
	if n.large != nil {
		return to.Set(n.large)
	}
	return to.SetInt64(n.small)
}
