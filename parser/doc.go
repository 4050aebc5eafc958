// Package parser turns the text of a client into statements, finds the release
// blocks in them, and puts a relation of released rows in the place of each
// block. It is the only importer of pg_query, whose trees never leave it.
//
// Parse goes through these steps, each in a file of its own:
//
//   - scan the text into tokens (tokens.go) and refuse what would overflow the
//     stack of the C parser (guard.go);
//   - parse, cut into statements, and keep those that run a query now (parse.go, classify.go);
//   - find the release blocks: which query reads rows, which aggregates them, and
//     whether it refers to a query around it (blocks.go, from.go, ctes.go, groups.go, scope.go);
//   - match what stands above the grouping with the grouping expressions and the
//     aggregates (match.go), and convert these into our own trees (convert.go);
//   - find the places of all that in the text (spans.go, inner.go), and list the edits (edits.go);
//   - apply the edits to the text and to the tree, parse the new text, and compare (splice.go).
//
// A statement whose comparison fails is refused. The text is never made from
// a tree: what is outside of blocks stays byte for byte what the client wrote.
package parser
