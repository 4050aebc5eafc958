// Package redisledger is the ledger that several proxies share: a chain of lines,
// those of package history, in one Redis hash.
//
// # How it works
//
// Redis keeps the lines and decides nothing. A proxy holds the state that all
// lines add up to, admits an entry against it, and sends the new lines together
// with the number and the hash of the last line that it knows. A script appends
// them if the hash ends there, in one write command; otherwise it returns the lines
// that the proxy has missed, which go through the same checks as when a log is
// recovered, and the entry is judged again. So there is one set of rules, in Go,
// for every ledger; each proxy verifies every line; and a Redis that went
// backwards, lost its data, or continued another history is found out by the next
// call, whoever makes it.
//
// The hash has the fields id, seq and head (of the last line), and x:1, x:2, ...
//
// # Acknowledgement
//
// An entry counts when Redis has it. It is acknowledged when, besides, the replicas
// that the configuration asks for have it, and the proxy's own journal
// (logledger.Journal) has it on disk. So no acknowledged entry is forgotten unless
// both Redis and that proxy's journal are lost, and [Repair] puts back the entries
// that Redis alone has lost. Where the outcome of a call is not known nothing is
// acknowledged; the next call finds out.
//
// # Refusals
//
// Redis must be a primary with appendonly yes, appendfsync always,
// no-appendfsync-on-rewrite no, aof-load-truncated no and maxmemory-policy
// noeviction; every new connection checks. After a [*DivergedError] the ledger is
// unavailable until an operator has repaired it and the proxy is started again.
// Anybody who may write to Redis can destroy a ledger, and can lie to a proxy
// that has no journal yet; the chain of hashes has no key.
package redisledger
