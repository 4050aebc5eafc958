package mechanisms

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
)

// concealed is all that printing a Private ever shows.
const concealed = "private"

// ErrPrivate is returned where a Private value would have been encoded.
var ErrPrivate = errors.New("mechanisms: a private value cannot be encoded")

// Private is an exact aggregate of protected rows. It has no accessor: only this package looks into
// it, and it lets out only the releases that the guarantees of its mechanisms, or of a [Mechanism]
// given to [Release], speak of. Printing, logging and encoding it show nothing: where fmt may call
// its methods they write a constant. Inside an unexported field of another struct fmt may not, and
// finds a function, which has no contents to print (a pointer has: fmt follows it under a wrong
// verb). Functions do not compare, and so private values do not either. The zero Private holds
// nothing, and its release panics.
type Private struct{ reveal func() *big.Int }

var (
	_ fmt.Formatter  = Private{}
	_ slog.LogValuer = Private{}
)

// isEmpty reports whether p is the zero Private.
func (p Private) isEmpty() bool { return p.reveal == nil }

// Protect wraps an exact value. It keeps a copy.
func Protect(v *big.Int) Private {
	own := new(big.Int).Set(v)
	return Private{func() *big.Int { return own }}
}

// Format implements fmt.Formatter: it writes "private" under every verb.
func (Private) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, concealed) }

// LogValue implements slog.LogValuer.
func (Private) LogValue() slog.Value { return slog.StringValue(concealed) }

// MarshalJSON implements json.Marshaler. It refuses.
func (Private) MarshalJSON() ([]byte, error) { return nil, ErrPrivate }

// MarshalText implements encoding.TextMarshaler. It refuses.
func (Private) MarshalText() ([]byte, error) { return nil, ErrPrivate }

// Released is an integer that a client may see, in lattice units. Only the
// mechanisms of this package make one that is not zero.
type Released struct{ v *big.Int }

// Int returns the value; the caller owns it.
func (r Released) Int() *big.Int {
	if r.v == nil {
		return new(big.Int)
	}
	return new(big.Int).Set(r.v)
}

// Release returns v plus one draw of m's noise. The caller must have charged
// m.Event(), durably, before; the guarantee is m's.
func Release(m Mechanism, src Source, v Private) Released {
	z := m.Sample(new(big.Int), src)
	return Released{z.Add(z, v.reveal())}
}
