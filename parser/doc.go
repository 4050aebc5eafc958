// Package parser turns the text of a client into statements, finds the release
// blocks in them, and puts a relation of released rows in the place of each
// block. It is the only importer of pg_query, whose trees never leave it.
//
// Parse goes through these steps, each in files of its own:
//
//   - scan the text into tokens (tokens.go) and refuse text that would overflow the
//     stack of the C parser (guard.go);
//   - parse, cut into statements, and keep those that run a query now (parse.go, classify.go);
//   - expand the views over protected rows in the text, and begin again with the new one (views.go);
//   - find the release blocks: which query reads rows, which aggregates them or makes them
//     distinct, and whether it refers to a query around it (blocks.go, from.go, ctes.go, groups.go, scope.go);
//   - match the expressions above the grouping with the grouping expressions, the aggregates
//     and the calls of GROUPING (match.go);
//   - convert all that stands below it into the trees of package ast (convert.go, convert_from.go,
//     convert_query.go, convert_expr.go);
//   - find the places of all that in the text (spans.go, inner.go), and list the edits (edits.go);
//   - apply the edits to the text and to the tree, parse the new text, and compare (splice.go).
//
// A statement whose comparison fails is refused. The text is never made from
// a tree: all outside of blocks stays byte for byte as the client wrote it, or as the
// text of a view has it. Offsets that leave the package count in the client's text; of all that
// stands in a view are where the client named it.
package parser
