package answers

import (
	"errors"
	"math/big"
	"slices"
	"unicode/utf8"
)

// A Release is everything that was released of one release block so far: integers in lattice units, and the keys of their groups if they
// were released too. It does not change once it is in a [Store]: a block that is refined has another release, under another key.
type Release struct {
	// Request is a digest of the errors that were asked for, or, of a part of a block, of how it was drawn; empty otherwise.
	Request []byte
	// Sets are the grouping sets of the block, in order.
	Sets []GroupingSet
	// At is when it was released, in seconds of Unix time; 0 if that is not known.
	At int64
	// Payments are analysts' payments for earlier releases of the block.
	Payments []Payment
	// Paid are the analysts who have paid for all of it with budgets of their own.
	Paid []string

	body []byte // as it is kept
}

// PaidBy reports whether an analyst has paid.
func (r *Release) PaidBy(analyst string) bool { return slices.Contains(r.Paid, analyst) }

// A GroupingSet is one grouping set of a release.
type GroupingSet struct {
	// Level is the level of the values on a path of noise, counted from 0.
	Level int `json:"level,omitempty"`
	// PaidPico is the price of the measurements of all reads together, in 10⁻¹² of ρ or, for a path, of ε. It is 0 if they were released at
	// once.
	PaidPico int64 `json:"paid_pico,omitempty"`
	// Budget is what a part of a block was drawn with, in 10⁻¹² of ε and of ρ; nil if the release is of a whole block.
	Budget []int64 `json:"budget,omitempty"`
	// Clips has, for each vector with limits, the limits of a unit's part.
	Clips      []Clip      `json:"clips,omitempty"`
	Partitions []Partition `json:"partitions"`
}

// A Clip has the limits of one vector, by their places among the limits to choose from, and the numbers of units that the tail released.
type Clip struct {
	Vector int        `json:"vector,omitempty"`
	Levels []int      `json:"levels"`
	Tail   []*big.Int `json:"tail,omitempty"`
}

// A Partition is one group: its values, or the independent measurements of each value.
type Partition struct {
	// Key has the canonical texts of the group's keys, with nil for NULL. It is nil if the groups are public: the question determines them.
	Key      []*string       `json:"key,omitempty"`
	Values   []*big.Int      `json:"values,omitempty"`
	Measured [][]Measurement `json:"measured,omitempty"` // by statistic
}

// A Measurement is an integer with noise of a variance.
type Measurement struct {
	Variance *big.Int `json:"variance"`
	Value    *big.Int `json:"value"`
}

// A Payment is the part of a block's price that an analyst had paid before the block was refined.
type Payment struct {
	Analyst []byte  `json:"analyst"` // a digest of the name
	Pico    []int64 `json:"pico"`    // for each grouping set
}

// check refuses a release that would not be read back as it is.
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
