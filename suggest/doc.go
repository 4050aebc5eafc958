// Package suggest makes a first policy from the catalogue of a database.
//
// Nothing of it looks at rows or at statistics of rows: bounds that were read from data would
// publish its extremes. A gap of the catalogue becomes a question, in a comment of the policy
// or to somebody at a terminal ([Conversation]); where nobody answers, the table is left out, or
// the column hidden. So a table is never public unasked, and rows about two people are in no policy until
// somebody has said which of them is protected.
package suggest
