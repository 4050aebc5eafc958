// Package stattest tells a sampler with the right law from one that is slightly
// wrong. It is for tests only.
//
// [Accept] compares draws with an exact probability mass function by a
// chi-square test; [MeanZ] compares one moment. A test should call each twice:
// once on the sampler, and once on a twin whose scale is wrong, which must be
// rejected, because a test that cannot fail proves nothing.
//
// With 2·10⁵ draws the chi-square test rejects a scale that is wrong by 5 % with
// p below 10⁻³⁰, and with 10⁵ draws MeanZ does with |z| above 15.
package stattest
