// Package source proves whose rows a release block reads. [Resolve] turns FROM and WHERE of a block
// into [Rows], and, with the expressions over them, into a [Source]: rows that each belong to
// exactly one privacy unit, which a hidden column identifies, however they are made. The part of one
// unit in an answer is proved here and nowhere else (docs/decisions/0008-a-wide-surface.md).
//
// # Phases
//
// A level is a SELECT: of the block, of a derived table, or of a sub-select in a condition. It goes
// through four phases. Each has a type of its own, to which nobody writes once it is made
// (phases.go); a later one holds the earlier ones.
//
//   - resolved: names have meanings, and columns say whether they can be NULL (resolve.go, from.go,
//     derived.go, union.go, subselect.go; the tree is in tree.go). Rules have put joins in the place of queries that are evaluated
//     for each row (rules.go), and queries in FROM that only choose rows and columns are part of the level (merge.go). A rule
//     proves nothing: the rows that it makes are judged as any others are.
//   - proved: the rows are a term of package core, which judges them (terms.go, terms_table.go, terms_query.go, judgment.go).
//     From its equalities follow the relation whose unit is that of the row, and the paths that the
//     statement joins itself (equalities.go, ownership.go). Sub-selects are part of the rows around them (semijoin.go).
//   - bounded: the relations that are cut before they are joined (cut.go).
//   - written: SQL (write.go, linking.go), once the expressions over the rows are resolved as well:
//     the cut and the bytes of a row cover every column that is mentioned. Sub-selects of conditions become sides of the
//     joins (sides.go), unless an index finds their rows (subselect_by_index.go).
//
// Levels are nested: one in FROM or in a condition is proved and bounded before the level around it
// is. The argument below needs the files of these two phases alone.
//
// # The argument
//
//   - A row of a protected table has one unit: the model proves the path from it (package policy),
//     and the SQL joins along it ([relation]; from.go). The statement may join the first step of a
//     path itself: the unit is then that of the relation joined there ([paths]).
//   - Rows of two protected relations are joined only on their units: package core proves that these are equal where the rows
//     meet. A unit that is equal is the same unit, by the equality that joins and GROUP BY use as well. The walk in ownership.go
//     finds the relation whose unit is written, and, of rows that are refused, the join that is to blame.
//   - Where rows are joined along a reference and the statement does not compare their units, that is added
//     (references_to_people.go, united.go): the statement is then one that compares them.
//   - A row of a reference table is of the row that looks it up by its whole key, whose columns refer to it: the relation follows that
//     one (reference_tables.go). It is one row at most, and the same whoever is removed.
//   - A derived table keeps the unit in a hidden column. Its groups and its different rows have the
//     unit among their keys, and all branches of a UNION ALL have one (derived.go).
//   - Window functions and DISTINCT ON stand over rows of one unit, in an order that depends on these
//     alone (window.go). Their values are not ones of their columns: no proof takes them for that.
//   - A sub-select of a condition reads rows of the unit of the row around it, and public ones
//     (semijoin.go). Later expressions over the rows are held to the same check.
//   - Package core derives which columns and rows follow from others. From it comes how many rows a
//     unit has, in all or with the same values of grouping expressions (judgment.go).
//   - A relation that could multiply the rows of a unit is cut before it is joined, by an order that
//     depends on the unit's own rows and the secret alone (cut.go). Joins with public relations are
//     bounded by their sizes (fanout.go), and by what was counted of several together (bridges.go). So the rows of a unit can have
//     a bound that is public (unitrows.go).
//
// Rows that are public, and values that only public rows decide, are told by public.go. A level is
// written as it is meant (write.go); that the time of a statement must not tell whether any row
// meets a condition is left to [sqltext.Even], for which linking.go says how joins hang together.
//
// # Equal and identical
//
// Values can be equal and look different: 6 and 6.00, 'a' and 'a ' of character(n), 0 and -0.
// Expressions see how a value looks, and which of several equal rows a GROUP BY shows
// depends on their order; so the dependencies of package core are about identical values. A
// condition or a group says that values are equal. From there a proof may go on to
// identical by one rule: how a value looks is a fact
//
//   - of a plain column of a table, by the column's type: Postgres stores no others;
//   - of anything computed, only where the SQL that we write enforces it: a number is
//     rounded to the scale of its type, a text padded to its length.
//
// [scalar.OneSpelling] and [scalar.Identical] ask for it, [scalar.Writer.Target] and
// [scalar.Writer.Grouped] enforce it, and no other place knows of it. The type of an
// expression is a name that Postgres gives it, and proves nothing. Ownership needs less: that units are
// equal.
//
// # Files
//
// From the ground up, so that a file uses those before it; archtest counts the uses that run the other way:
//
//   - phases and trees: phases.go, tree.go, refuse.go, source.go, frame.go, columns.go, fields.go;
//   - the term of a level, and its judgment: computed_links.go, terms.go, terms_table.go, terms_query.go, equalities.go, judgment.go;
//   - references: references_to_people.go, reference_tables.go, nobody.go;
//   - the unit of a level: semijoin.go, ownership.go, linking.go;
//   - how many rows a unit has: fanout.go, bridges.go, unitrows.go, shown.go, public.go, public_ties.go,
//     public_found.go, cut.go;
//   - SQL: redact.go, write_own.go, write.go, sides.go, subselect_by_index.go, leftout.go;
//   - forms in FROM and conditions: union.go, listed.go, row.go, window.go, derived.go, elements.go, take_out.go, united.go,
//     united_told.go, subselect.go, full.go, always_found.go, public_first.go, from.go;
//   - rules: merge.go, order.go, left_to_inner.go, apply_lookup.go, apply_found.go, per_row.go, apply_scalar_group.go,
//     apply_first.go, apply_one.go, compare_to_extreme.go, limit_to_rank.go, lateral.go, semi_to_group.go,
//     distinct_below_join.go, rules.go;
//   - a level: resolve.go;
//   - what the parser asks: bonds.go.
package source
