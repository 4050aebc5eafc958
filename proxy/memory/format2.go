package memory

import (
	"crypto/sha256"
	"math/big"
	"strconv"

	"dpproxy/answers"
	"dpproxy/planner"
)

// This file reads releases of format 2, in which rows follow each other by position.

// blockOfFormat2 reads a release without noise reduction, nil if it is none of the block: the rows
// of all grouping sets, and, if one has private keys, for each row the number of its set and the
// set's keys.
func blockOfFormat2(old *answers.Format2, b *planner.BlockPlan) *answers.Release {
	out := &answers.Release{}
	rows, keys := old.Rows, old.Keys
	for i, p := range b.Sets {
		n := p.Size()
		if p.Private() {
			set := strconv.Itoa(i)
			for n = 0; n < len(keys) && len(keys[n]) == p.Keys()+1 && keys[n][0] != nil && *keys[n][0] == set; n++ {
			}
		}
		if n > len(rows) || keys != nil && n > len(keys) {
			return nil
		}
		s := answers.GroupingSet{}
		for row := range n {
			group := answers.Partition{Values: rows[row]}
			if p.Private() {
				group.Key = keys[row][1:]
			}
			s.Partitions = append(s.Partitions, group)
		}
		if rows = rows[n:]; keys != nil {
			keys = keys[n:]
		}
		out.Sets = append(out.Sets, s)
	}
	if len(rows) > 0 {
		return nil
	}
	return out
}

// reductionOfFormat2 reads a release of noise reduction, nil if it is none of the block: a row with a
// digest of the errors that were asked for, and the number of payments; a row for each payment; a
// row for each grouping set, with the number of its partitions, the price that was paid, and the
// level; and one for each partition, with a list of variances and values for each measure, after
// its length, or with the values of a level.
func reductionOfFormat2(old *answers.Format2, b *planner.BlockPlan) *answers.Release {
	r := &rowReader{rows: old.Rows, keys: old.Keys}
	head, _ := r.next()
	if len(head) != 2 || !head[1].IsInt64() || !isDigest(head[0]) {
		return nil
	}
	out := &answers.Release{Request: head[0].FillBytes(make([]byte, sha256.Size))}
	for range head[1].Int64() {
		row, _ := r.next()
		p, ok := paymentOfFormat2(row, len(b.Sets))
		if !ok {
			return nil
		}
		out.Payments = append(out.Payments, p)
	}
	for _, set := range b.Sets {
		s, ok := r.set(set)
		if !ok {
			return nil
		}
		out.Sets = append(out.Sets, s)
	}
	if len(r.rows) > 0 {
		return nil
	}
	return out
}

func isDigest(n *big.Int) bool { return n.Sign() >= 0 && n.BitLen() <= 8*sha256.Size }

// paymentOfFormat2 reads a row of a payer and an amount for each grouping set.
func paymentOfFormat2(row []*big.Int, sets int) (p answers.Payment, ok bool) {
	if len(row) != sets+1 || !isDigest(row[0]) {
		return p, false
	}
	p.Analyst = row[0].FillBytes(make([]byte, sha256.Size))
	for _, pico := range row[1:] {
		if pico.Sign() < 0 || !pico.IsInt64() {
			return p, false
		}
		p.Pico = append(p.Pico, pico.Int64())
	}
	return p, true
}

// rowReader takes the rows of a release one by one.
type rowReader struct {
	rows [][]*big.Int
	keys [][]*string
}

// next returns the next row, nil after the last.
func (r *rowReader) next() (row []*big.Int, keys []*string) {
	if len(r.rows) == 0 {
		return nil, nil
	}
	row, r.rows = r.rows[0], r.rows[1:]
	if len(r.keys) > 0 {
		keys, r.keys = r.keys[0], r.keys[1:]
	}
	return row, keys
}

// set reads a grouping set.
func (r *rowReader) set(p *planner.GroupingSet) (s answers.GroupingSet, ok bool) {
	head, _ := r.next()
	if len(head) != 3 || !head[0].IsInt64() || head[0].Int64() > int64(len(r.rows)) {
		return s, false
	}
	s.PaidPico, s.Level = head[1].Int64(), int(head[2].Int64())
	for range head[0].Int64() {
		row, keys := r.next()
		group := answers.Partition{Values: row}
		if p.Private() {
			group.Key = keys
		}
		if p.Reduction != nil && p.Reduction.Independent() {
			group.Values = nil
			if group.Measured, ok = measuredOfFormat2(row, len(p.Reduction.Statistics)); !ok {
				return s, false
			}
		}
		s.Partitions = append(s.Partitions, group)
	}
	return s, true
}

// measuredOfFormat2 reads the lists of one partition.
func measuredOfFormat2(row []*big.Int, measures int) (lists [][]answers.Measurement, ok bool) {
	for range measures {
		if len(row) == 0 || !row[0].IsInt64() {
			return nil, false
		}
		n := row[0].Int64()
		if row = row[1:]; n < 0 || n > int64(len(row))/2 {
			return nil, false
		}
		list := make([]answers.Measurement, n)
		for k := range list {
			list[k] = answers.Measurement{Variance: row[2*k], Value: row[2*k+1]}
		}
		lists, row = append(lists, list), row[2*n:]
	}
	return lists, len(row) == 0
}
