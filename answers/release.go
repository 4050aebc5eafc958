package answers

import (
	"errors"
	"math/big"
	"slices"
	"unicode/utf8"
)

// A Release is all that was released of one release block so far: integers in lattice units, and
// the keys of their groups where those were released too. It is not changed once it is in a
// [Store]: a block that is refined has another one, under another key.
type Release struct {
	// Request is a digest of the errors that were asked for; empty where none were.
	Request []byte
	// Sets are the grouping sets of the block, in order.
	Sets []GroupingSet
	// Payments are those of analysts for releases that went before this one.
	Payments []Payment
	// Paid are the analysts who have paid for all of it with budgets of their own.
	Paid []string
	// Format2 is the release as a dpproxy of format 2 has left it, nil where it is as above.
	Format2 *Format2

	body []byte // as it is kept
}

// PaidBy reports whether an analyst has paid.
func (r *Release) PaidBy(analyst string) bool { return slices.Contains(r.Paid, analyst) }

// A GroupingSet is one grouping set of a release.
type GroupingSet struct {
	// Level is that of the values on a path of noise, counted from 0.
	Level int `json:"level,omitempty"`
	// PaidPico is the price of the measurements, of all reads together, in 10⁻¹² of ρ or, of a
	// path, of ε; 0 where they were released at once.
	PaidPico int64 `json:"paid_pico,omitempty"`
	// Clips are the limits of what a unit adds, of each vector that has limits.
	Clips      []Clip      `json:"clips,omitempty"`
	Partitions []Partition `json:"partitions"`
}

// A Clip has the limits of one vector, as their places among those that there were to choose from, and
// the numbers of units that are said of them.
type Clip struct {
	Vector int        `json:"vector,omitempty"`
	Levels []int      `json:"levels"`
	Tail   []*big.Int `json:"tail,omitempty"`
}

// A Partition is one group: its values, or the independent measurements of each.
type Partition struct {
	// Key has the canonical texts of the group's keys, with nil for NULL. It is nil where the
	// groups are public: they follow from the question.
	Key      []*string       `json:"key,omitempty"`
	Values   []*big.Int      `json:"values,omitempty"`
	Measured [][]Measurement `json:"measured,omitempty"` // by statistic
}

// A Measurement is an integer with noise of a variance.
type Measurement struct {
	Variance *big.Int `json:"variance"`
	Value    *big.Int `json:"value"`
}

// A Payment is the part of a block's price that an analyst had paid before it was refined.
type Payment struct {
	Analyst []byte  `json:"analyst"` // a digest of the name
	Pico    []int64 `json:"pico"`    // for each grouping set
}

// check refuses a release that would not come back as it is.
func (r *Release) check() error {
	for _, s := range r.Sets {
		if slices.ContainsFunc(s.Clips, func(c Clip) bool { return slices.Contains(c.Tail, nil) }) {
			return errors.New("a number of units is missing")
		}
		for _, p := range s.Partitions {
			if err := p.check(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p Partition) check() error {
	for _, text := range p.Key {
		if text != nil && !utf8.ValidString(*text) {
			return errors.New("a key is not UTF-8")
		}
	}
	if slices.Contains(p.Values, nil) {
		return errors.New("a value is missing")
	}
	for _, list := range p.Measured {
		if slices.ContainsFunc(list, func(m Measurement) bool { return m.Value == nil || m.Variance == nil }) {
			return errors.New("a measurement is missing")
		}
	}
	return nil
}
