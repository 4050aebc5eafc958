package dp

import (
	"fmt"
	"math/big"
)

// A Sensitivity bounds what the rows of one privacy unit can change in an exact
// answer, in lattice units, when they are added or removed.
type Sensitivity struct {
	L0   int64 // partitions (groups) one unit can touch
	LInf int64 // change in any one partition
}

// Valid reports whether both bounds are at least one.
func (s Sensitivity) Valid() bool { return s.L0 >= 1 && s.LInf >= 1 }

// L1 returns L0·LInf.
func (s Sensitivity) L1() *big.Int {
	return new(big.Int).Mul(big.NewInt(s.L0), big.NewInt(s.LInf))
}

// L2Squared returns L0·LInf².
func (s Sensitivity) L2Squared() *big.Int {
	return new(big.Int).Mul(s.L1(), big.NewInt(s.LInf))
}

// An Event describes one release well enough for an accountant to price it
// without knowing the code that made it. Events never change their meaning;
// a pricer refuses an event that it does not know.
//
//sumtype:decl
type Event interface{ event() }

// A LaplaceEvent is the release of an integer vector with independent discrete
// Laplace noise P(n) ∝ exp(−|n|/Scale) on each coordinate.
type LaplaceEvent struct {
	Sensitivity Sensitivity
	Scale       *big.Rat // > 0, in lattice units
}

// A GaussianEvent is the release of an integer vector with independent discrete
// Gaussian noise P(n) ∝ exp(−n²/(2·Variance)) on each coordinate.
type GaussianEvent struct {
	Sensitivity Sensitivity
	Variance    *big.Int // ≥ 1, in lattice units squared
}

// A ComposedEvent is the release of all its parts from one read of the data.
type ComposedEvent []Event

func (LaplaceEvent) event()  {}
func (GaussianEvent) event() {}
func (ComposedEvent) event() {}

// String writes the event for plans and audit entries.
func (e LaplaceEvent) String() string {
	f, _ := e.Scale.Float64()
	return fmt.Sprintf("laplace l0=%d linf=%d scale=%.6g", e.Sensitivity.L0, e.Sensitivity.LInf, f)
}

// String writes the event for plans and audit entries.
func (e GaussianEvent) String() string {
	f, _ := new(big.Float).SetInt(e.Variance).Float64()
	return fmt.Sprintf("gaussian l0=%d linf=%d variance=%.6g", e.Sensitivity.L0, e.Sensitivity.LInf, f)
}
