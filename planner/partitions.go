package planner

import "slices"

// maxGroups bounds the rows of a released relation with public keys.
const maxGroups = 10_000

// partitions are the groups of a grouping set. Public groups are known before a row is read: all combinations of the rows of the lists.
type partitions struct {
	keys  []int   // of the block
	lists []*list // nil if the keys are private
	size  int     // the number of partitions, 0 if the keys are private
}

// newPartitions returns the partitions of public keys; ok is false if there are too many.
func newPartitions(keys []int, lists []*list) (p partitions, ok bool) {
	p = partitions{keys, lists, 1}
	if lists == nil {
		p.lists = []*list{}
	}
	for _, l := range lists {
		if p.size *= len(l.rows); p.size > maxGroups {
			return p, false
		}
	}
	return p, true
}

// Private reports whether the keys of the grouping set are private. Then partition selection decides which partitions are shown.
func (p *partitions) Private() bool { return p.lists == nil }

// Size returns the number of partitions of a grouping set with public keys.
func (p *partitions) Size() int { return p.size }

// Keys returns the number of key columns at the beginning of a row of a read.
func (p *partitions) Keys() int { return len(p.keys) }

// Index returns the partition of the numbers of keys; ok is false if each key is public, but the combination is not.
func (p *partitions) Index(numbers []int) (int, bool) {
	n := 0
	for _, l := range p.lists {
		mine := make([]int, len(l.keys))
		for i, k := range l.keys {
			mine[i] = numbers[slices.Index(p.keys, k)]
		}
		at, ok := l.index[ordinals(mine)]
		if !ok {
			return 0, false
		}
		n = n*len(l.rows) + at
	}
	return n, true
}

// Partition returns the partition of the keys of a read row, for a grouping set with public keys. It is −1 if each key is public, but the
// combination is not. ok is false if the SQL of the read cannot have returned the keys.
func (p *partitions) Partition(keys [][]byte) (at int, ok bool) {
	numbers := make([]int, len(keys))
	for i, k := range keys {
		n, ok := smallInt(k)
		if !ok || !p.numbered(i, n) {
			return 0, false
		}
		numbers[i] = n
	}
	if at, ok = p.Index(numbers); !ok {
		at = -1
	}
	return at, true
}

// numbered reports whether the key at a place of the set has a value with this number.
func (p *partitions) numbered(place, n int) bool {
	for _, l := range p.lists {
		for i, k := range l.keys {
			if k == p.keys[place] {
				return n <= len(l.elements[i]) && (n > 0 || l.null[i])
			}
		}
	}
	return false
}

// KeysOf returns the keys of a public partition.
func (p *partitions) KeysOf(partition int) []*string { return p.publicKeys(partition) }

// publicKeys returns the keys of a public partition, in the order of the set.
func (p *partitions) publicKeys(partition int) []*string {
	keys := make([]*string, len(p.keys))
	for _, l := range slices.Backward(p.lists) {
		row := l.rows[partition%len(l.rows)]
		partition /= len(l.rows)
		for i, k := range l.keys {
			keys[slices.Index(p.keys, k)] = row[i]
		}
	}
	return keys
}

// appendKeys appends a row of keys; keys that the set lacks are NULL.
func (p *partitions) appendKeys(columns [][]*string, keys []*string) {
	for k := range columns {
		var cell *string
		for i, in := range p.keys {
			if in == k {
				cell = keys[i]
			}
		}
		columns[k] = append(columns[k], cell)
	}
}

// grouping returns the value of GROUPING over keys: one bit for each key, which is 1 if the set lacks the key.
func (p *partitions) grouping(args []int) int {
	n := 0
	for _, k := range args {
		n *= 2
		if !slices.Contains(p.keys, k) {
			n++
		}
	}
	return n
}
