// Package witness notices ledgers that went backwards, by marks that do not lie where the ledger lies.
//
// A ledger knows by itself whether it is whole. It does not know whether it is the latest: whoever puts a copy
// of all its files back has a ledger that is whole, and has forgotten charges. A [Mark] says how far the ledger was, and
// the spending by then; a [Place] keeps the latest one elsewhere. A ledger that does not contain the entry of the mark
// is older than the mark, or went another way since ([BehindError]).
//
// Marks are written by a clock and not by entries: a tick writes the mark that was made at the tick before, sealed, in as
// many bytes as the budgets need. So whoever can see that something is written at a place, when, and how much,
// learns the time. Entries behind the last mark that was written, of the last two ticks before a process ended, are not proved
// by it.
package witness
