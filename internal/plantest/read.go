package plantest

import (
	"context"
	"crypto/sha256"

	"dpproxy/fold"
	"dpproxy/planner"
)

// Secret is the key of random choices in tests.
var Secret = []byte("a secret of tests, which is no secret")

// Pads are the inner and the outer block of HMAC-SHA-256 with Secret: its bytes XOR 0x36 and XOR 0x5c.
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

// formats returns the formats of the columns of a read: text, or binary for a fold.
func formats(read *planner.Read) []int16 {
	if read.Fold == nil {
		return nil
	}
	return []int16{1}
}

// ample, in bytes, is more memory than the rows of tests take.
const ample = 1 << 30

// AddAll adds all rows of a read of the grouping set. ask executes a statement and returns its columns in the given formats.
func (e *Exact) AddAll(read *planner.Read, ask func(st planner.Statement, formats []int16) ([][][]byte, error)) error {
	rows, err := ask(read.Statement, formats(read))
	if err != nil {
		return err
	}
	if read.Fold == nil {
		for _, row := range rows {
			if err := e.Add(read, row); err != nil {
				return err
			}
		}
		return nil
	}
	f := fold.New(read.Fold, Secret, ample)
	if read.Lists != nil {
		lists, err := ask(*read.Lists, []int16{1})
		if err != nil {
			return err
		}
		for _, row := range lists {
			if err := f.List(row); err != nil {
				return err
			}
		}
	}
	for _, row := range rows {
		if err := f.Take(row); err != nil {
			return err
		}
	}
	if read.Fold.Sums != nil {
		_, err := f.Totals(context.Background(), func(t fold.Total) error { return e.take(read.Totalled(t)) })
		return err
	}
	_, err = f.Finish(context.Background(), func(s fold.Sum) error { return e.take(read.Folded(s)) },
		func(level int, n int64) error { return e.take(read.FoldedUnits(level, n)) })
	return err
}
