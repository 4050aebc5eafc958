// Package protocol holds the tests of what clients send and read: the simple and the extended
// protocol, messages that no honest client sends, and psql as a person uses it.
package protocol
