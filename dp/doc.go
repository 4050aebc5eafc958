// Package dp is the vocabulary of differential privacy that the other packages
// share: a privacy [Loss] under a [Measure], the [Sensitivity] of an exact
// answer, and the [Event] that describes a release.
//
// It knows no Postgres, no mechanism and no price. A Loss is a pair of integers,
// so that sums are exact, independent of their order, and the same in Go, in
// Redis and on paper; rounding happens only where an event is priced, and always
// against ourselves: costs up, limits down.
package dp
