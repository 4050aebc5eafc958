// Package survey keeps the answers of a local table's objects: questions about private columns, which each object answered once
// with noise of its own, and the loss of each by its answers. It knows no Postgres and no value of an object: a [Question] turns
// values into a [mechanisms.Private], a [Draft] draws the answers, and a [Table] stores them.
//
// # Files
//
// A [Table] is a directory with the file keys, which has the keys of objects in the order in which they were first seen, the file
// public with their public columns as they were last seen, and a file n.survey for each survey: a line of JSON, the [Header], and
// the answers, packed, in the order of keys. The header has the digest of the keys that the answers are of. The ledger has the
// digest of the file. So answers cannot be changed, exchanged, moved to other objects or brought from another site unseen.
//
// The order is: decide who is asked, from answers alone; read; draw; write and sync the files; record the survey in the ledger; show
// the answers. A file that the ledger does not have was shown to nobody, and is deleted. A survey of the ledger without its file, or
// with another one, freezes the table: nothing is asked any more, since the answers are not known, and the same ones could be
// drawn twice.
package survey
