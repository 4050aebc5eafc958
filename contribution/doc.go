// Package contribution bounds what one privacy unit adds to a vector of linear aggregates. It bounds a norm of the unit by a limit, which
// is chosen privately for each statement, and says what the limit leaves out.
//
// A unit u adds an integer x(u,g) to each group g of a grouping set. N(u) is the norm of this vector over all groups: ℓ₂ if the noise is
// Gaussian, ℓ₁ if it is Laplace. The public [Grid] C₀ < C₁ < … has the limits that can be chosen; the level of a unit is the smallest j
// with N(u) ≤ Cⱼ. A unit within the limit C counts in full. Any other unit counts as C·d(u), with a direction d(u): integers proportional
// to x(u) up to rounding toward zero, with ‖d(u)‖ ≤ 2^f. With f fraction bits, on the lattice of 2^−f,
//
//	y_C(u) = 2^f·x(u) if N(u) ≤ C, else C·d(u).
//
// Lemma 1. ‖y_C(u)‖ ≤ C·2^f for every unit, so that adding or removing one unit moves the vector Σ_u y_C(u) by at most C·2^f in the norm:
// [Grid.Sensitivity].
//
// Lemma 2. With A(l,g) = Σ x(u,g) and R(l,g) = Σ d(u,g) over the units of level l,
//
//	F(j,g) = 2^f·Σ_{l≤j} A(l,g) + Cⱼ·Σ_{l>j} R(l,g) = Σ_u y_{Cⱼ}(u,g)
//
// exactly, for every j: one read by level and group serves all limits ([Cells]).
//
// Coarser groups add up the groups of x, and can have the same weights. If N is at least their norm divided by r, and sums of the
// directions are within r·2^f, the vector of coarser groups moves by at most r·C·2^f ([Grid.Wider]).
//
// A statement releases, adaptively, the limit ([Choice]), the number of units above it ([Tail]) and the clipped vector with noise. Its
// price is the price of the three [Shares], whichever limit is chosen. So it is charged before anything is read.
//
// The caller must ensure that x, the level and d are functions of the unit's own rows and of public values; that the number of groups, on
// which grid and penalty depend, is public; and that groups which are not shown count in the norm nevertheless.
package contribution
