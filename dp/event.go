package dp

import (
	"fmt"
	"math/big"
)

// A Sensitivity bounds the change of an exact answer by the rows of one privacy
// unit, in lattice units, when they are added or removed.
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

// An ImageEvent is the release of an integer vector with independent discrete
// Gaussian noise P(n) ∝ exp(−n²/(2·Variance)) on each coordinate, where the vector is
// an image under a linear map: one unit moves several coordinates, together by at most
// √L2Squared in ℓ₂ norm. Nothing is known of other norms, so no other noise hides it.
type ImageEvent struct {
	Coordinates int64    // that one unit can move
	L2Squared   *big.Int // ≥ 1, in lattice units squared
	Variance    *big.Int // ≥ 1, in lattice units squared
}

// A StaircaseEvent is the release of an integer vector with independent discrete staircase noise on each coordinate,
//
//	P(n) ∝ e^(−Epsilon·⌊|n|/LInf⌋)·(e^−Epsilon if |n| mod LInf ≥ Step, else 1).
//
// Each coordinate of which a unit changes anything costs Epsilon.
type StaircaseEvent struct {
	Sensitivity Sensitivity
	Epsilon     *big.Rat // > 0, of one coordinate
	Step        int64    // from 1 to LInf
}

// A RecycledEvent is the release of an integer vector with independent noise on
// each coordinate, drawn from the kernel and, where its absolute value exceeds
// Boundary, drawn anew with probability Recycle:
//
//	P(n) ∝ kernel(n) for |n| ≤ Boundary, (1 − Recycle)·kernel(n) for |n| > Boundary.
type RecycledEvent struct {
	Kernel   Event    // a LaplaceEvent or a GaussianEvent
	Boundary int64    // ≥ 0, in lattice units
	Recycle  *big.Rat // from 0 to below 1
}

// A PureEvent is any release that is ε-differentially private, of which nothing
// else is known.
type PureEvent struct {
	Epsilon *big.Rat // > 0
}

// A BoundedRangeEvent is a release whose log-likelihood ratios between two
// neighbours lie in an interval of width ε that holds 0, such as that of the
// exponential mechanism. It is ε-differentially private, and more.
type BoundedRangeEvent struct {
	Epsilon *big.Rat // > 0
}

// An ApproximateEvent is a release that is as private as Of, but for a
// probability of at most Delta.
type ApproximateEvent struct {
	Of    Event
	Delta *big.Rat // above 0, at most 1
}

// A RefinementEvent is one more round of independent discrete Gaussian
// measurements of some coordinates of an integer vector that was read once.
// Precision is the sum of 1/variance over all measurements of a coordinate;
// Before and After are the sums of the L0 largest precisions of a coordinate,
// before the round and after it. Rounds of two reads are not one chain: one unit
// may have moved between partitions in the meantime.
type RefinementEvent struct {
	Sensitivity   Sensitivity
	Before, After *big.Rat // 0 ≤ Before ≤ After
}

// A ReductionEvent reveals the next level of a path of Laplace noise reduction,
// which was drawn once for an integer vector that was read once: discrete Laplace
// noise of rate 1/scale. Before is the rate of the level before, 0 if there is
// none, After that of this level, and Cap that of the path's last.
type ReductionEvent struct {
	Sensitivity        Sensitivity
	Before, After, Cap *big.Rat // 0 ≤ Before < After ≤ Cap
}

// A ComposedEvent is the release of all its parts from one read of the data.
type ComposedEvent []Event

func (LaplaceEvent) event()      {}
func (GaussianEvent) event()     {}
func (ImageEvent) event()        {}
func (StaircaseEvent) event()    {}
func (RecycledEvent) event()     {}
func (PureEvent) event()         {}
func (BoundedRangeEvent) event() {}
func (ApproximateEvent) event()  {}
func (RefinementEvent) event()   {}
func (ReductionEvent) event()    {}
func (ComposedEvent) event()     {}

// String writes the event for plans and audit entries.
func (e LaplaceEvent) String() string {
	return fmt.Sprintf("laplace l0=%d linf=%d scale=%s", e.Sensitivity.L0, e.Sensitivity.LInf, short(e.Scale))
}

// String writes the event for plans and audit entries.
func (e GaussianEvent) String() string {
	f, _ := new(big.Float).SetInt(e.Variance).Float64()
	return fmt.Sprintf("gaussian l0=%d linf=%d variance=%.6g", e.Sensitivity.L0, e.Sensitivity.LInf, f)
}

// String writes the event for plans and audit entries.
func (e ImageEvent) String() string {
	return fmt.Sprintf("image coordinates=%d l2=%s variance=%s", e.Coordinates, root(e.L2Squared), short(rational(e.Variance)))
}

// String writes the event for plans and audit entries.
func (e StaircaseEvent) String() string {
	return fmt.Sprintf("staircase l0=%d linf=%d epsilon=%s step=%d", e.Sensitivity.L0, e.Sensitivity.LInf, short(e.Epsilon), e.Step)
}

// String writes the event for plans and audit entries.
func (e RecycledEvent) String() string {
	return fmt.Sprintf("recycled boundary=%d recycle=%s kernel=(%v)", e.Boundary, short(e.Recycle), e.Kernel)
}

// String writes the event for plans and audit entries.
func (e PureEvent) String() string { return "pure epsilon=" + short(e.Epsilon) }

// String writes the event for plans and audit entries.
func (e BoundedRangeEvent) String() string { return "bounded range epsilon=" + short(e.Epsilon) }

// String writes the event for plans and audit entries.
func (e ApproximateEvent) String() string {
	return fmt.Sprintf("approximate delta=%s of=(%v)", short(e.Delta), e.Of)
}

// String writes the event for plans and audit entries.
func (e RefinementEvent) String() string {
	return fmt.Sprintf("refinement l0=%d linf=%d precision=%s to %s",
		e.Sensitivity.L0, e.Sensitivity.LInf, short(e.Before), short(e.After))
}

// String writes the event for plans and audit entries.
func (e ReductionEvent) String() string {
	return fmt.Sprintf("reduction l0=%d linf=%d rate=%s to %s of %s",
		e.Sensitivity.L0, e.Sensitivity.LInf, short(e.Before), short(e.After), short(e.Cap))
}

// root writes the square root of x to six digits.
func root(x *big.Int) string {
	if x == nil || x.Sign() < 0 {
		return "nil"
	}
	f, _ := new(big.Float).Sqrt(new(big.Float).SetInt(x)).Float64()
	return fmt.Sprintf("%.6g", f)
}

func rational(x *big.Int) *big.Rat {
	if x == nil {
		return nil
	}
	return new(big.Rat).SetInt(x)
}

// short writes x to six digits.
func short(x *big.Rat) string {
	if x == nil {
		return "nil"
	}
	f, _ := x.Float64()
	return fmt.Sprintf("%.6g", f)
}
