package stattest

import (
	"runtime/debug"
	"testing"
)

// Main runs the tests of a package that draws often and keeps little: its memory is collected seldom, which
// takes a fifth of the time otherwise.
func Main(m *testing.M) {
	debug.SetGCPercent(1000)
	m.Run()
}
