// Package accountant prices releases and keeps the sum of their losses: it prices
// events ([Price]), turns budgets into limits ([Budget]), and declares the
// [Ledger] that records charges before anything is released.
//
// # The guarantee
//
// D and D′ are neighbours if one has all the rows of one privacy unit, in all
// protected tables, and the other none of them. A deployment promises, for every
// adaptive analyst and for all analysts together,
//
//	P(transcript ∈ S | D) ≤ exp(ε)·P(transcript ∈ S | D′) + δ
//
// for all neighbours and every set S of transcripts, where (ε, δ) is the budget
// of the privacy unit. That budget is mandatory and is the guarantee.
//
// The limit of a budget is a filter: a charge is admitted if the sum of all
// losses, this one included, stays within it. Sums of ε are a filter for pure
// differential privacy, sums of ρ and of δ one for approximate zero-concentrated
// differential privacy, also when each query depends on the answers before it
// [Feldman-Zrnic 2021; Whitehouse et al. 2023]. The filter's output is itself
// zCDP, and so one conversion to (ε, δ), the best, applies to the whole.
//
// # Limits of the guarantee
//
// Budgets of tables and of analysts are limits under the unit's, and no
// guarantees of their own:
//
//   - Who changes a unit's rows in one table alone replaces them, where the
//     sensitivities are those of adding and removing the unit: a sum that asks
//     whether the unit is in another table can move twice as far. Three tables
//     with ε = 3 each do not promise ε = 3 for any of them.
//   - Analysts who collude share their answers: only the unit's budget bounds
//     them together.
//
// A charge debits each scope in that scope's own measure. An event without a
// finite price in one of them is refused, and so is one that [Price] does not
// know. Losses are integers: costs are rounded up and limits down, once, here.
package accountant
