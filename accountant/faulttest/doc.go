// Package faulttest breaks a shared ledger and looks for violations of its
// promises. It holds tests only: of real processes that charge a real Redis through
// a network that fails, while they and Redis are killed; of an append-only file
// that is torn; of older copies and stale replicas; and of the same with seeded
// bugs, which must be found.
//
// docs/ledger.md names the test of each promise. "make faults" runs the long
// version.
package faulttest
