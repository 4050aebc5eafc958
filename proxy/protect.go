package proxy

import (
	"math/big"
	"strconv"

	"dpproxy/mechanisms"
	"dpproxy/planner"
)

// protect puts the read measures in the order of the released relation; a
// partition without rows has zeros. Rows that the plan's SQL cannot have produced
// are a failed read. From here on no code sees an exact value.
func protect(b *planner.BlockPlan, read [][][]byte) ([][]mechanisms.Private, error) {
	exact := make([][]mechanisms.Private, b.Size())
	for _, row := range read {
		at, cells, err := place(b, row)
		if err != nil || exact[at] != nil {
			return nil, errRead
		}
		for _, cell := range cells {
			n, ok := new(big.Int).SetString(string(cell), 10)
			if !ok {
				return nil, errRead
			}
			exact[at] = append(exact[at], mechanisms.Protect(n))
		}
	}
	for i := range exact {
		for len(exact[i]) < len(b.Mechanisms) {
			exact[i] = append(exact[i], mechanisms.Protect(new(big.Int)))
		}
	}
	return exact, nil
}

// place splits a read row into its place in the released relation and its
// measures.
func place(b *planner.BlockPlan, row [][]byte) (at int, cells [][]byte, err error) {
	if len(row) != b.Keys()+len(b.Mechanisms) {
		return 0, nil, errRead
	}
	ordinals := make([]int, b.Keys())
	for k := range ordinals {
		if ordinals[k], err = strconv.Atoi(string(row[k])); err != nil {
			return 0, nil, err
		}
	}
	at, ok := b.Index(ordinals)
	if !ok {
		return 0, nil, errRead
	}
	return at, row[len(ordinals):], nil
}
