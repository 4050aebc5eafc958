// Package suggest makes a first policy from the catalogue of a database.
//
// It reads neither rows nor statistics of rows: bounds that were read from data would publish its extremes. Types, keys, foreign keys and
// names decide whom to protect, how a row leads to its person, which tables could be public, and which columns are hidden. If the catalogue
// does not say, the question becomes a comment in the policy, or is put to an administrator at a terminal ([Conversation]); without an
// answer the table is left out, or the column hidden. So no table becomes public without an answer, and rows about two people are in no
// policy until an administrator has said to whom they belong. If not even whom to protect is clear, there is no policy ([UnclearError]).
package suggest
