// Package protocol holds the tests of messages between clients and dpproxy: the simple and the extended
// protocol, messages that no honest client sends, and psql as a person uses it.
package protocol
