// Package parser turns the text of a client into statements, finds the release
// blocks in them, and puts a relation of released rows in the place of each
// block. The trees of pg_query never leave its folder: package lex has the tokens,
// pgtree asks questions about trees, repair writes statements that stand for refused ones.
//
// The files, from the ground up, so that a file uses those before it; archtest counts the uses that run the other way. [Parse] is
// the last, and runs the steps of the others:
//
//   - how values follow from aggregates, and from which columns of tables they come: column.go, lacking.go;
//   - the levels of a query, and what names mean in them: scope.go, ctes.go;
//   - the release blocks, which are the smallest SELECTs that aggregate protected rows or make them distinct: spans.go (places in
//     the text), match.go (expressions above the grouping), blocks.go;
//   - the trees of package ast for all that is below a block's grouping: convert_expr.go, convert_aggregate.go, convert_window.go,
//     rows.go, convert_pattern.go, convert_field.go, outputs.go;
//   - calls of dp functions: suggest.go, plans.go, survey.go, estimates.go;
//   - statements that use released results, or public rows, as constants: array.go, let.go, let_result.go, statement.go (what a
//     statement becomes), setting.go, reserved.go;
//   - edits of the text, and the new text that is compared with the edited tree: inner.go, edits.go, views.go (views over protected rows
//     are expanded in the text), splice.go, sorts.go, execute.go;
//   - columns of errors: errorbars.go, errorarithmetic.go, errorplaces.go, errorcolumns.go;
//   - the trees of relations and sub-selects: convert.go, convert_quantified.go, convert_from.go,
//     convert_elements.go, convert_listed.go, convert_row.go, convert_query.go, per_row.go, top.go;
//   - what the block finder asks: valuer.go, counted.go, running.go (totals over groups), groups.go, from.go, modify.go, probe.go;
//   - the search for the results that a statement uses: let_groups.go, let_seek.go, constant_rows.go, let_ranks.go;
//   - texts that stand by themselves: outline.go, fingerprint.go, drop_hidden.go, row_expression.go, mistake.go, grammar.go;
//   - statements: destination.go (where a result stays), classify.go, parse.go.
//
// Nothing here knows whose rows are. Which SELECT is a release block depends on that: groups of rows that belong together are rows of the
// block around them. The parser asks [ast.Bonds], of columns of tables. The answers prove nothing, and need not: all that is below a
// block is proved when the block is planned (docs/decisions/0036-what-the-parser-asks.md).
//
// A statement whose comparison fails is refused. The text is never made from
// a tree: all outside of blocks stays byte for byte as the client wrote it, or as the
// text of a view has it. Offsets that leave the package count in the client's text; of all that
// stands in a view are where the client named it.
package parser
