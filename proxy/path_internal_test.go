package proxy

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Trace calls f when an execution comes to a step, with its name, and whether it may charge and
// may see protected rows.
func (p *Proxy) Trace(f func(name string, charges, sees bool)) {
	p.trace = func(s step) { f(path[s].name, path[s].charges, path[s].sees != nothing) }
}

// Waiting counts the reads under way, and the statements that wait for one of them.
func (p *Proxy) Waiting() (reads, waiting int) { return p.flights.Waiting() }

// TestArchitectureShowsThePath holds that the table in ARCHITECTURE.md is that of the path.
func TestArchitectureShowsThePath(t *testing.T) {
	var table strings.Builder
	table.WriteString("| step | where | may charge | may see protected rows |\n| --- | --- | --- | --- |\n")
	for i, r := range path {
		charges := "no"
		if r.charges {
			charges = "**yes**"
		}
		fmt.Fprintf(&table, "| %d. %s: %s | `%s` | %s | %s |\n", i+1, r.name, r.does, strings.Join(r.where, "`, `"), charges, r.sees)
	}
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("ARCHITECTURE.md shows another path; its table is\n%s", &table)
	}
	for _, r := range path {
		for _, name := range r.where {
			if _, err := os.Stat("../" + name); err != nil {
				t.Errorf("%s: %v", r.name, err)
			}
		}
	}
}
