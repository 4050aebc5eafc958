// Package integration holds the tests that need a real Postgres and real clients:
// the whole of dpproxy between two throwaway servers. They start their servers
// themselves and leave nothing behind.
package integration
