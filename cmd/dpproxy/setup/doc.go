// Package setup has the commands of an administrator before dpproxy serves, and beside it: suggest makes a first policy, check holds it
// against the databases and the ledger, advise makes reads fast, sync makes the mirror, and verifier turns a password into the line
// that the policy has.
package setup
