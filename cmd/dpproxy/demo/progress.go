package demo

import (
	"fmt"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"dpproxy/cmd/dpproxy/listing"
)

// progress returns a function that shows how far loading is: a bar for each table if standard error is a terminal, and a line otherwise.
func progress() func(table string, done, total int64) {
	terminal := term.IsTerminal(int(os.Stderr.Fd()))
	var bar *progressbar.ProgressBar
	current := ""
	return func(table string, done, total int64) {
		if table != current {
			current = table
			bar = listing.Bar(fmt.Sprintf("loading %-16s", table), total, terminal)
			if !terminal {
				fmt.Fprintf(os.Stderr, "loading %s (%d)\n", table, total)
			}
		}
		_ = bar.Set64(done) // a bar that cannot be drawn is no reason to stop
	}
}
