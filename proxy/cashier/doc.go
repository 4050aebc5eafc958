// Package cashier prices the releases of statements and debits the budgets for them.
//
// A statement is paid in rounds: the most that it may cost is reserved before anything is read,
// each round is charged, durably, before it is drawn, and the rest is given back in the end. A
// statement of one round is the plain case: its reservation is the charge itself, one entry of
// the ledger. Errors of the ledger are returned as they are.
package cashier
