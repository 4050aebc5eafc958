// Package introspect reads the catalogue of the real database: the relations of a policy as
// package catalog describes them, and the digests by which a later read proves that they are
// still the same.
//
// It sees all of a relation, hidden columns and view texts included, and decides nothing: package
// mirror says how much of it analysts may see, and package planner proves facts from it. Every
// query reads pg_catalog alone; no row of a table is read.
//
// # Steps
//
// [Read] runs its steps in one snapshot: relations, then their columns with types and collations,
// keys, constraints, indexes and foreign keys, links between relations, the queries of views, and
// last a fingerprint of each relation.
//
// # Fingerprints
//
// [FingerprintOf] and [Unchanged] let a read of protected rows check, in its own snapshot, that
// the schema is still the one that the policy was checked against.
package introspect
