// Package demo holds the data of the demonstration: a clinic made up from a seed
// ([Generate]) or the liver study that Debian's R packages carry ([OpenStudy]),
// the loader that puts either into Postgres ([Load]), and the policy that
// protects it ([Dataset.Policy]).
//
// It starts no server and knows nothing of privacy beyond the text of its policies.
package demo
