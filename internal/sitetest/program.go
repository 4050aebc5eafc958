package sitetest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// built is the command, for all tests of a package.
var built = sync.OnceValues(build)

// Program returns the path of the command.
func Program(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// folder is where the command is, "" if no test has asked for it.
var folder string

// build makes the command. Linking takes seconds: go run keeps a linked program, so that one
// package of tests does it for all. A copy stays the same while the source changes.
func build() (string, error) {
	dir, err := os.MkdirTemp("", "dpproxy-bin")
	if err != nil {
		return "", err
	}
	folder = dir
	path := filepath.Join(dir, "dpproxy")
	if out, err := exec.Command("go", "run", "-exec", "cp -t "+dir, "dpproxy/cmd/dpproxy").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
}

// Main runs the tests of a package, and removes the command that they built.
func Main(m *testing.M) {
	status := m.Run()
	if folder != "" {
		os.RemoveAll(folder)
	}
	os.Exit(status)
}

// Command runs dpproxy to its end and returns its output.
func (s *Site) Command(t testing.TB, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Program(t), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("dpproxy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Says runs a command that succeeds and prints the text wanted.
func (s *Site) Says(t *testing.T, want string, args ...string) {
	t.Helper()
	if out := s.Command(t, args...); !strings.Contains(out, want) {
		t.Errorf("dpproxy %s says %s, want %q", strings.Join(args, " "), out, want)
	}
}

// Refuses runs a command that fails and prints the text wanted.
func (s *Site) Refuses(t *testing.T, want string, args ...string) {
	t.Helper()
	if out, failed := s.Attempt(t, args...); !failed || !strings.Contains(out, want) {
		t.Errorf("dpproxy %s: failed is %t, it says %s, want %q", strings.Join(args, " "), failed, out, want)
	}
}

// Attempt runs dpproxy to its end, which may be an error.
func (s *Site) Attempt(t *testing.T, args ...string) (output string, failed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second) // a command that serves instead is not to the point
	defer cancel()
	out, err := exec.CommandContext(ctx, Program(t), args...).CombinedOutput()
	return string(out), err != nil && ctx.Err() == nil
}

// JSON runs a command with -o json and decodes its output.
func (s *Site) JSON(t testing.TB, into any, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), Program(t), append(slices.Clip(args), "-o", "json")...).Output()
	if err != nil {
		t.Fatalf("dpproxy %s: %v", strings.Join(args, " "), err)
	}
	if err := json.Unmarshal(out, into); err != nil {
		t.Fatalf("dpproxy %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
