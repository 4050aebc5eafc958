package main

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"dpproxy/parser"
)

// versionCommand prints the sources that the binary was built from.
type versionCommand struct{}

// Run implements the command.
func (versionCommand) Run() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return writeVersion(os.Stdout, info)
}

// writeVersion writes the version of the module, its commit, that of Go, and that of Postgres's grammar, by
// which statements are read.
func writeVersion(w io.Writer, info *debug.BuildInfo) error {
	built := map[string]string{"vcs.revision": "unknown"}
	for _, s := range info.Settings {
		built[s.Key] = s.Value
	}
	commit := built["vcs.revision"]
	if built["vcs.modified"] == "true" {
		commit += " (changed)"
	}
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	grammar, err := parser.Grammar()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "dpproxy %s\ncommit %s\n%s\ngrammar of Postgres %s\n", version, commit, info.GoVersion, grammar)
	return err
}
