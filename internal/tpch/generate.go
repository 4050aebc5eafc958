package tpch

import (
	"fmt"
	"iter"
	"math/big"

	"github.com/jackc/pgx/v5/pgtype"

	"dpproxy/internal/demo"
)

// A Generator makes up a database. The same seed and scale give the same rows; rows
// are made when they are asked for.
type Generator struct {
	seed                                uint64
	suppliers, parts, customers, orders int
}

// Rows of the tables at scale factor 1; the lineitems of an order are one to seven.
const (
	suppliersAt1 = 10_000
	partsAt1     = 200_000
	customersAt1 = 150_000
	ordersAt1    = 1_500_000
)

// maxScale keeps the order keys, which are four times as many, in an integer.
const maxScale = 100

// Generate returns the database of a seed at a scale factor of 0.001 to 100.
func Generate(seed uint64, scale float64) (*Generator, error) {
	if !(scale >= 0.001 && scale <= maxScale) {
		return nil, fmt.Errorf("tpch: scale factor %v is not in [0.001, %d]", scale, maxScale)
	}
	rows := func(at1 int) int { return int(float64(at1)*scale + 0.5) }
	return &Generator{
		seed:      seed,
		suppliers: rows(suppliersAt1),
		parts:     rows(partsAt1),
		customers: rows(customersAt1),
		orders:    rows(ordersAt1),
	}, nil
}

// columns reads "name type" pairs; every column is NOT NULL.
func columns(pairs ...[2]string) []demo.Column {
	out := make([]demo.Column, len(pairs))
	for i, p := range pairs {
		out[i] = demo.Column{Name: p[0], Type: p[1] + " NOT NULL"}
	}
	return out
}

// numbered makes n rows of a function of their number, which begins with 1. The
// function fills in a row that it is given.
func numbered(n, width int, fill func(i int, row []any)) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		row := make([]any, width)
		for i := 1; i <= n; i++ {
			fill(i, row)
			if !yield(row, nil) {
				return
			}
		}
	}
}

// cents is an amount of money in a numeric(15,2).
func cents(n int) pgtype.Numeric {
	return pgtype.Numeric{Int: big.NewInt(int64(n)), Exp: -2, Valid: true}
}
