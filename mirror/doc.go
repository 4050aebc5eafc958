// Package mirror makes the database that analysts are connected to: the schema of
// the real database with none of its protected rows.
//
// # How it is made
//
// The steps of [Sync], each a value that the next one takes:
//
//  1. read: package introspect reads the catalogue of the real database; [Check] refuses a schema
//     that the rules of ownership cannot hold for (guard.go), and public relations that are computed from others (sources.go).
//  2. show: hidden columns go with all that names them (hidden.go), the policy chooses the labels of
//     enums (labels.go), and texts stand in for types that the mirror's server lacks (standin.go).
//  3. plan: the objects of the mirror with their statements, in the order in which they are made
//     (objects.go; each kind of object is in package ddl).
//  4. carry out: rights that PUBLIC has by default are withdrawn (harden.go), the objects that are
//     not as they should be (inspect.go) dropped and made (reconcile.go), the rows of public tables copied
//     (rows.go), and passwords and settings put right (login.go).
//  5. verify: the mirror shows nothing that the plan does not permit (shown.go, verify.go). [Prove] asks the same later.
//
// The record of the mirror (confirmed.go) names the schema and the policy that it was made for. The record and the list of the objects
// that were made are large objects (records.go): no tool lists them among the tables.
//
// A [Plan] is the policy's part in it: the relations, with the columns and labels that analysts may
// see, and the analysts.
//
// # Copied objects
//
// Schemas, tables (partitioned tables, listed partitions and public views as plain
// tables), views over protected tables (without their definitions, unless the policy
// shows them), columns with type, typmod, collation (those made by users too), NOT NULL and whether
// they are identity, serial (from sequences that begin at 1) or generated columns (without the
// expression), unique and foreign keys, indexes whose text holds names alone,
// enum, domain, composite and range types, and the rows of public tables. Nothing
// else: upstream comments, other defaults, CHECK texts, index predicates, partitions and
// their bounds, function bodies, row security texts and the enum labels that the policy
// does not list may all hold data, or say something about it, so they stay upstream. A
// comment on the mirror shows the policy.
//
// [Sync] does without the things that the server of the mirror cannot have, and says so: a column of a
// type that is not there is a text, without the keys and indexes that are about it, and so is
// a range whose values it cannot order; a collation that it cannot make compares as its
// database does; an index that it cannot make is left out. Proofs and refusals
// go by the real database alone.
//
// A column that the policy hides does not exist on the mirror: tables are made without it,
// and without the keys, foreign keys and indexes that are about it and the types that nothing
// else uses; a generated column whose expression names it is a plain one; a view lacks the
// columns that show it, and then its definition too. Names are copied as they are, also of
// an index that is called after a hidden column and about another.
//
// # The backstop
//
// Every protected relation on the mirror has row security enabled and forced, with
// one policy that calls an IMMUTABLE function that raises. The planner evaluates
// it, so the relation can be described but never planned, not even under WHERE
// false. A view over protected relations calls the function in its own condition, or
// is security_invoker over relations that do, which are planned wherever an answer hangs
// on them. Everything belongs to [ddl.Owner], which is neither superuser nor BYPASSRLS,
// since a view of a superuser would read through the policy.
//
// # A mirror on the server of the real database
//
// Statistics of a server are about all its databases. When both databases are on
// one server, Sync withdraws from PUBLIC the functions that show them (harden.go
// lists them); it cannot withdraw the transaction counters in pg_database
// (datfrozenxid), those in rows (xmin) and the numbers of new files. dpproxy check and
// sync warn of it: a server of its own is the better choice.
package mirror
