// Package lex splits the text of SQL into tokens, and answers what tokens alone can tell: which text must not reach the parser, whose
// stack it would overflow (guard.go); which text cannot concern protected relations (filter.go); and how a statement is written without
// its constants (words.go).
//
// Offsets are in bytes of the text.
package lex
