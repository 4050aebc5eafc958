// Package reader reads exact aggregates from the protected database. Statements take turns at its sessions (queue.go). Each statement reads
// in one transaction, whose snapshot has the schema that the policy was checked against (reading.go, schema.go). The integers become
// Private as they arrive (collect.go, exact.go), and only package mechanisms opens them: it adds noise to the integers of an Exact when
// package release asks for it. The package reads as a plan says, and knows nothing of budgets.
package reader
