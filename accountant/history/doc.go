// Package history has the parts of every ledger: its calls, the entries that they
// become, the state that these add up to, and the lines in which they are written.
//
// A ledger is the sequence of its entries and nothing else. [State.Apply] is the
// whole of its rules, and pure: it reads no clock, no file and no network, so that
// a ledger that records, one that recovers, one that shares and one that verifies
// reach the same [State]. A [Record] is one entry as a line of JSON that holds its
// number and the SHA-256 of the line before, so that a sequence of lines cannot be
// changed, cut in the middle or reordered unseen. A [Snapshot] is a state between
// two entries, for starting without reading all that came before.
package history
