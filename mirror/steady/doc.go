// Package steady opens the transactions in which rows of the real database are read by name: the check of the catalogue and the
// read that relies on it see one catalogue.
//
// Postgres reads rows under the transaction's snapshot, but it parses and plans by the newest catalogue. So a check in the snapshot
// says nothing of a statement that is parsed later, unless nothing can change in between. Each such transaction has these steps:
//
//  1. BEGIN ([Begin]), which takes no snapshot.
//  2. LOCK ([Lock]) of each relation to be named, in ACCESS SHARE mode, which takes no snapshot either. It waits for open
//     changes of the schema and excludes others until the transaction ends. A view is locked with all relations that it reads.
//  3. The check, in the snapshot that the rows are read in: [dpproxy/mirror/introspect.Unchanged], or a whole reading of the catalogue.
//  4. The read is planned.
//  5. A second comparison ([Settled]) finds changes that no lock excludes: a partition may be attached under ACCESS SHARE, and a
//     schema may be renamed. A table without partitions is read with ONLY, so that a child of it makes no difference.
//  6. Only then a row is shown, or a budget is charged.
//
// [Open] does the first two for a connection of pgx. It locks as far as the role may read; the check finds the others. LOCK
// cannot name a materialised view, and knows nothing of the functions that a view calls: whoever copies such rows compares the
// fingerprints in another session ([Compare]) before the first transaction, and its locks, end.
package steady
