package plantest

import (
	"context"
	"crypto/sha256"

	"dpproxy/fold"
	"dpproxy/planner"
)

// Secret is the key of random choices in tests.
var Secret = []byte("a secret of tests, which is no secret")

// Pads are the inner and the outer block of HMAC-SHA-256 with the secret.
func Pads() (inner, outer []byte) {
	inner, outer = make([]byte, sha256.BlockSize), make([]byte, sha256.BlockSize)
	copy(inner, Secret)
	copy(outer, Secret)
	for i := range inner {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	return inner, outer
}

// Formats are those in which a read returns its columns.
func Formats(read *planner.Read) []int16 {
	if read.Fold == nil {
		return nil
	}
	return []int16{1}
}

// ample is more memory than rows of tests take.
const ample = 1 << 30

// AddAll adds all rows of a read of the grouping set.
func (e *Exact) AddAll(read *planner.Read, rows [][][]byte) error {
	if read.Fold == nil {
		for _, row := range rows {
			if err := e.Add(read, row); err != nil {
				return err
			}
		}
		return nil
	}
	f := fold.New(read.Fold, Secret, ample)
	for _, row := range rows {
		if err := f.Take(row); err != nil {
			return err
		}
	}
	if read.Fold.Sums != nil {
		_, err := f.Totals(context.Background(), func(t fold.Total) error { return e.take(read.Totalled(t)) })
		return err
	}
	_, err := f.Finish(context.Background(), func(s fold.Sum) error { return e.take(read.Folded(s)) },
		func(level int, n int64) error { return e.take(read.FoldedUnits(level, n)) })
	return err
}
