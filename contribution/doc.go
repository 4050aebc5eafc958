// Package contribution bounds what one privacy unit adds to a vector of linear aggregates, by
// its norm, with a limit that is chosen privately for each statement, and says what the limit
// leaves out.
//
// A unit u adds an integer x(u,g) to each group g of a grouping set. N(u) is the norm of
// that vector over all groups: ℓ₂ where the noise is Gaussian, ℓ₁ where it is Laplace. The
// public [Grid] C₀ < C₁ < … has the limits that can be chosen; the level of a unit is the
// least j with N(u) ≤ Cⱼ. A unit within the limit C counts in full; any other one counts as
// C·d(u), with a direction d(u): integers proportional to x(u) up to rounding toward zero,
// with ‖d(u)‖ ≤ 2^f. On the lattice of 2^−f, which f fraction bits make,
//
//	y_C(u) = 2^f·x(u) if N(u) ≤ C, else C·d(u).
//
// Lemma 1. ‖y_C(u)‖ ≤ C·2^f for every unit, so that adding or removing one moves the vector
// Σ_u y_C(u) by at most C·2^f in the norm: [Grid.Sensitivity].
//
// Lemma 2. With A(l,g) = Σ x(u,g) and R(l,g) = Σ d(u,g) over the units of level l,
//
//	F(j,g) = 2^f·Σ_{l≤j} A(l,g) + Cⱼ·Σ_{l>j} R(l,g) = Σ_u y_{Cⱼ}(u,g)
//
// exactly, for every j: one read by level and group serves all limits ([Cells]).
//
// Coarser groups, whose sums are those of the groups of x, can have the same weights: where N is at least
// their norm divided by r, and sums of the directions are within r·2^f, they move by r·C·2^f at most
// ([Grid.Wider]).
//
// A statement releases, adaptively, the limit ([Choice]), the number of units above it
// ([Tail]) and the clipped vector with noise. Its price is that of the three [Shares], for
// every limit that may come out, and so it is charged before anything is read.
//
// The caller must ensure that x, the level and d are functions of the unit's own rows and of
// public values; that the number of groups, which grid and penalty depend on, is public; and
// that groups which are not shown count in the norm nevertheless.
package contribution
