// Package suggest makes a first policy from the catalogue of a database.
//
// It looks at no rows and at no statistics of rows: bounds that were read from data would
// publish its extremes. Whom to protect, how a row reaches its person, which tables could be public and which columns are hidden follow
// from types, keys, foreign keys and names. A gap of the catalogue becomes a question, in a comment of the policy
// or to somebody at a terminal ([Conversation]); without an answer the table is left out, or
// the column hidden. So a table is never public unasked, and rows about two people are in no policy until
// somebody has said whose they are. Where even whom to protect is not clear, there is no policy ([UnclearError]).
package suggest
