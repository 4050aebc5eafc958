// Package operations holds the tests of the administrator's work: the commands, log-ins, changes
// of the schema and the policy, ledgers in files and in Redis, several proxies, and the examples
// of the documents.
package operations
