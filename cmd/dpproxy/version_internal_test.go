package main

import (
	"runtime/debug"
	"strings"
	"testing"
)

// TestVersion holds that a binary tells its sources, and one of changed files that they were.
func TestVersion(t *testing.T) {
	var out strings.Builder
	err := writeVersion(&out, &debug.BuildInfo{
		GoVersion: "go1.99", Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
	})
	if want := "dpproxy v1.2.3\ncommit abc (changed)\ngo1.99\ngrammar of Postgres 16.1\n"; err != nil || out.String() != want {
		t.Errorf("%v: %s", err, out.String())
	}
	out.Reset()
	if err := writeVersion(&out, &debug.BuildInfo{}); err != nil || !strings.HasPrefix(out.String(), "dpproxy (devel)\ncommit unknown\n") {
		t.Errorf("%v: %s", err, out.String())
	}
}
