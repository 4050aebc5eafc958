package fold

import (
	"bytes"
	"context"
	"math/big"
	"slices"
	"testing"
)

// BenchmarkFold takes a million rows of 100,000 units, in no order.
func BenchmarkFold(b *testing.B) {
	limits := Norm{Squared: true}
	for l := int64(0); l < 1<<40; l = 2*l + 1 {
		limits.Limits = append(limits.Limits, big.NewInt(l))
	}
	buckets := &Buckets{
		Number: Number{Kind: DecimalNumber, High: 2_000_000, Decimals: 2}, Divisors: []int64{1}, Fraction: 20,
		Grid: Grid{Cuts: []int64{2142, 4284, 8568, 17136, 34272, 68544, 137088, 274176}, Each: 1071},
	}
	keys := []Key{{Column: Column{Kind: Plain}, Shown: Decimal}}
	none, no := func(Sum) error { return nil }, func(int, int64) error { return nil }
	for name, spec := range map[string]*Spec{
		"buckets":          {Unit: Column{Kind: Plain}, Norm: limits, Buckets: buckets},
		"buckets by key":   {Unit: Column{Kind: Plain}, Keys: keys, Norm: limits, Buckets: buckets},
		"different":        {Unit: Column{Kind: Plain}, Norm: Norm{Limits: limits.Limits}, Value: Column{Kind: Plain}},
		"different by key": {Unit: Column{Kind: Plain}, Keys: keys, Norm: limits, Value: Column{Kind: Plain}},
	} {
		b.Run(name, func(b *testing.B) {
			rows := make([][][]byte, 1_000_000)
			for i := range rows {
				rows[i] = [][]byte{number(i * 7919 % 100_003)}
				if spec.Keys != nil {
					rows[i] = append(rows[i], number(i%10))
				}
				if spec.Buckets != nil {
					rows[i] = append(rows[i], numericOf(0, positive, uint16(i*31%9999), uint16(i%100*100)))
				} else {
					rows[i] = append(rows[i], number(i*31%40))
				}
			}
			for b.Loop() {
				f := New(spec, secret, 1<<30)
				for _, row := range rows {
					if err := f.Take(row); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := f.Finish(context.Background(), none, no); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
		})
	}
}

// BenchmarkSmallSums takes 5,000 rows of 1,000 units, in no order: so few that the memory of each fold counts.
func BenchmarkSmallSums(b *testing.B) {
	rows, spec := rowsOf(1_009, 10, 5_000), adding()
	b.ReportAllocs()
	for b.Loop() {
		takeAll(b, spec, rows)
	}
}

func takeAll(b *testing.B, spec *Spec, rows [][][]byte) {
	b.Helper()
	f := New(spec, secret, 1<<30)
	for _, row := range rows {
		if err := f.Take(row); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := f.Totals(context.Background(), func(Total) error { return nil }); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSums takes a million rows of 100,000 units, in no order.
func BenchmarkSums(b *testing.B) {
	for name, byUnit := range map[string]bool{"rows": false, "unit by unit": true} {
		b.Run(name, func(b *testing.B) {
			rows := rowsOf(100_003, 10, 1_000_000)
			spec := adding()
			if spec.ByUnit = byUnit; byUnit {
				slices.SortStableFunc(rows, func(a, b [][]byte) int { return bytes.Compare(a[0], b[0]) })
			}
			for b.Loop() {
				takeAll(b, spec, rows)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(rows)), "ns/row")
		})
	}
}
