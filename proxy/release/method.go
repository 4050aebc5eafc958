package release

import (
	"dpproxy/dp"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// A method releases one grouping set, round by round. It wraps exact values, and lets out only
// released ones.
//
//sumtype:decl
type method interface {
	// first returns the most that the first round releases. Nothing has been read.
	first() (dp.ComposedEvent, error)
	// begin takes the exact values, and draws the first round.
	begin(e *reader.Exact) error
	// next returns the release of another round, or nothing if there is none: the target is
	// met, or the pool is empty. It decides by earlier releases.
	next() (dp.ComposedEvent, error)
	// draw draws that round.
	draw() error
	// released returns the relation as it is known now.
	released() *planner.Released
	// keep adds all that is known now to a set.
	keep(s *Set)
}
