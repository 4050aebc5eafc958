// Package needs decides the fate of a test that lacks a program: it fails if the set-up of
// "make test" installs the program, since the set-up is at fault then, and skips if
// another target does. No other package skips a test.
package needs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// setup is the script that installs Debian packages, by groups.
const setup = "scripts/setup.sh"

// always are the groups that "make test" installs.
var always = []string{"base", "test"}

// Missing ends a test that cannot run because of why: a program of these Debian packages
// is not there.
func Missing(t testing.TB, why string, packages ...string) {
	t.Helper()
	script, err := read()
	if err != nil {
		t.Fatal(err)
	}
	reason, err := excuse(string(script), packages)
	if err != nil {
		t.Fatalf("%v: %s", err, why)
	}
	t.Skip(reason)
}

// Asked skips a test that takes minutes unless the target that runs it asked for it.
func Asked(t testing.TB, asked bool, target string) {
	t.Helper()
	if !asked {
		t.Skipf("takes minutes: make %s", target)
	}
}

// read finds the script in a folder above the test's.
func read() ([]byte, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for ; ; dir = filepath.Dir(dir) {
		script, err := os.ReadFile(filepath.Join(dir, setup))
		if err == nil || dir == filepath.Dir(dir) {
			return script, err
		}
	}
}

// excuse says which target installs the packages, and, of npm, modules. It is an error if "make test" installs
// one of them, or no target all of them.
func excuse(script string, packages []string) (string, error) {
	if len(packages) == 0 {
		return "", errors.New("needs no package, and does not run")
	}
	var targets []string
	for _, g := range groups(script) {
		if slices.Contains(always, g.name) {
			if i := slices.IndexFunc(packages, g.has); i >= 0 {
				return "", fmt.Errorf("%s is not installed, though %s %s installs it", packages[i], setup, g.name)
			}
			continue
		}
		if !slices.ContainsFunc(packages, func(p string) bool { return !g.has(p) }) {
			targets = append(targets, "make "+g.name)
		}
	}
	if len(targets) == 0 {
		return "", fmt.Errorf("no group of %s installs %s", setup, strings.Join(packages, ", "))
	}
	return fmt.Sprintf("not installed: a program or module of %s (%s installs it)", strings.Join(packages, ", "),
		strings.Join(targets, " or ")), nil
}

// A group of packages, which the target of its name installs.
type group struct {
	name     string
	packages []string
}

func (g group) has(name string) bool { return slices.Contains(g.packages, name) }

var line = regexp.MustCompile(`(?m)^\t([a-z]+)\)$|^\t\t(?:need |.*missing="\$missing )([a-z0-9.+-]+)`)

// groups reads the script: the branches of its case, and the package that each line needs.
func groups(script string) []group {
	var all []group
	for _, m := range line.FindAllStringSubmatch(script, -1) {
		if m[1] != "" {
			all = append(all, group{name: m[1]})
		} else if last := len(all) - 1; last >= 0 {
			all[last].packages = append(all[last].packages, m[2])
		}
	}
	return all
}
