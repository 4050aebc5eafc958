// Package stattest distinguishes a sampler with the right law from a sampler that is slightly wrong. It is for tests only.
//
// [Accept] compares draws with an exact probability mass function by a chi-square test; [MeanZ] compares a moment. A test should call each
// twice: on the sampler, and on a twin whose scale is wrong. The twin must be rejected, because a test that cannot fail proves nothing.
//
// In 300 tests of Laplace and Gaussian noise with scales from 1 to 1000 that were wrong by 5 %, the p-value of 2·10⁵ draws was always below
// 10⁻⁴⁰, and the |z| of the mean of |n| over 10⁵ draws always above 13.
package stattest
