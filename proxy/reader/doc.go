// Package reader reads exact aggregates from the protected database: statements take turns at
// its sessions (queue.go), each reads in one transaction whose snapshot has the schema that the
// policy was checked against (reading.go, schema.go), and the integers become Private
// as they arrive (collect.go, exact.go), which only package mechanisms opens: noise is added there, to what
// Exact holds, when package release asks for it. It reads as a plan says, and knows nothing of
// budgets.
package reader
