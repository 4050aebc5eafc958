// Package logledger is the embedded ledger: an append-only log in a directory
// of its own, which is the budget, the audit trail and the proof of both.
//
// # Files
//
// ledger.log begins with a header (magic, format version, a random ledger ID,
// CRC-32C). Frames follow, each a length, a CRC-32C and a payload. A payload is
// one line of JSON that holds an entry, its number (dense from 1) and the
// SHA-256 of the payload before it (of the header, for the first), so that
// exported lines can be checked with any SHA-256 tool.
//
// ledger.mark is the high-water mark: the number and hash of the last entry
// that was acknowledged. It exists to notice a log that went backwards, such as
// a restored backup. It is kept in two slots that are written in turn.
//
// ledger.snapshot is the state at the latest checkpoint, from where a start reads
// the log. The checkpoint, an entry of the log, holds the state's hash.
//
// # Promises
//
//   - An acknowledged entry is durable: it was written and fsynced. Calls that
//     arrive together share one fsync. A charge is admitted in order against all
//     earlier ones, the unacknowledged ones too.
//   - After any failed write or fsync the ledger is unavailable for good and the
//     file descriptor is not written again: a kernel may keep or drop the pages
//     of a failed fsync.
//   - Open refuses, from the latest snapshot that the log confirms on, and [Verify]
//     in the whole log, with a [*CorruptError], a bad frame with a valid one after
//     it, a broken chain, a gap, a step that the state machine refuses, a bad
//     header, and a log that does not contain its mark. It refuses a mark
//     without a log, and a log with entries and no mark.
//   - Bytes at the very end that hold no valid frame are a write that a crash
//     interrupted. They were never acknowledged; Open cuts them off and says so.
//
// The mark is written before the acknowledgement but fsynced only now and then.
// So the loss of acknowledged entries is noticed always while the machine stays
// up, and after a crash of the machine unless only entries after the last mark
// on disk are lost, which takes a disk that broke its promise to fsync, or
// damage to the last frames.
//
// Hashes without a key show damage and mistakes, not the work of someone who
// may write to the directory. The directory's lock is flock(2), so it must be
// on a local file system.
package logledger
