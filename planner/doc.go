// Package planner turns a parsed statement into a [Plan]: everything that will
// happen to answer it, decided before any protected row is read.
//
// It is pure: a [Catalog] (the policy joined with what the real database's
// catalogue proves) and a statement go in; SQL for the protected database,
// sensitivities, mechanisms and the shape of the released relation come out.
//
// A statement passes three steps, each in a file of its own:
//
//   - [Analyze] resolves names and allows or refuses every node (analyze.go,
//     predicate.go, aggregates.go). It lists the column-free expressions, which
//     are then evaluated on the mirror, in the analyst's own session.
//   - [Query.Compile] knows the types of those constants and writes the SQL
//     (compile.go, types.go).
//   - [Template.Bind] knows their values and the settings, and chooses the
//     mechanisms (bind.go).
//
// The planner never sees a protected value, and nothing that an analyst wrote is
// ever part of the SQL it writes: constants travel as parameters.
package planner
