// Package population estimates shares and means of a population of objects from their
// answers in the local model, also where some objects were not asked further.
//
// Which objects are asked again depends on their answers (package realized), so that
// those who answer a late question are no sample of all. But it depends on answers
// alone: given the transcript of an object, being asked tells no more about it. So the
// likelihood of the transcripts of all objects,
//
//	Σ over objects of ln Σ over x of π(x)·P(transcript | x),
//
// is right whoever was asked, where π is the share of objects with the values x
// [Rubin 1976]. π is on all values of categories, and on a grid between the bounds of
// numbers, without any other assumption about its shape.
//
// # Estimates and intervals
//
// The estimate of a share or mean h·π is that of the π with the largest likelihood. Its
// interval is of all h·π that have a likelihood within z²/2 of the largest: the profile
// likelihood. Where answers do not tell h·π, as the variance of a number of which there
// is one answer each, the interval is as wide as they allow. At the boundary, such as
// a share of 0, it covers more often than it says, or about as often: the tests
// simulate both. It is about a population of which the objects are a sample, and wider
// than for the objects themselves.
//
// # Cost
//
// Estimates are of public answers, and cost nothing.
//
// References: [Rubin 1976] Inference and Missing Data. [Murphy-van der Vaart 2000] On
// Profile Likelihood. [Lindsay 1983] The Geometry of Mixture Likelihoods.
// [Duchi-Shalev-Shwartz-Singer-Chandra 2008] Efficient Projections onto the ℓ₁-Ball.
package population
