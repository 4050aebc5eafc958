// Package tpch makes up a database in the shape of the TPC-H benchmark
// ([Generate]), with the texts of five of its queries ([Queries]) and a policy that
// protects its customers ([Policy]).
//
// The data are TPC-H-derived: tables, columns, types, keys, domains and
// distributions follow clause 4.2 of the specification (revision 3.0), as far as
// the five queries can see them. Texts are shorter and made otherwise, and random
// numbers come from another generator, so that answers differ from those of the
// official programs. Nothing measured with it is a TPC-H result.
package tpch
