package release

import (
	"dpproxy/dp"
	"dpproxy/mechanisms"
	"dpproxy/planner"
	"dpproxy/proxy/reader"
)

// once draws limits, and then each integer with its noise, in one round.
type once struct {
	set *planner.GroupingSet
	src mechanisms.Source
	// finest is of the grouping set whose limits the set shares; nil where it shares none.
	finest *once
	out    *planner.Released
}

var _ method = (*once)(nil)

// first implements method.
func (o *once) first() (dp.ComposedEvent, error) { return o.set.Releases(), nil }

// begin implements method.
func (o *once) begin(e *reader.Exact) error {
	var finest []planner.Clip
	if o.finest != nil {
		finest = o.finest.out.Clips
	}
	clips, err := clipped(o.set, e, finest, o.src)
	if err != nil {
		return err
	}
	o.out, err = e.Release(o.src, clips)
	return err
}

// next implements method.
func (*once) next() (dp.ComposedEvent, error) { return nil, nil }

// draw implements method.
func (*once) draw() error { return nil }

// released implements method.
func (o *once) released() *planner.Released { return o.out }

// keep implements method.
func (o *once) keep(s *Set) { s.Keys, s.Clips, s.Rows = o.out.Keys, o.out.Clips, o.out.Rows }
