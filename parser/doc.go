// Package parser turns the text of a client into statements, finds the release
// blocks in them, and puts a relation of released rows in the place of each
// block. It is the only importer of pg_query.
package parser
