package planner

import "fmt"

// A list is the public values of some keys of a grouping set.
type list struct {
	keys []int // in the order of the factor
	rows [][]*string
	// elements are the distinct values of each key, without NULL, in order of first appearance, which is also the order of their numbers in
	// the read. index finds a row by these numbers.
	elements [][]*string
	arrays   []string // the elements as arrays of Postgres
	numbers  []map[string]int
	null     []bool
	index    map[string]int
}

// newList makes a list of distinct rows.
func newList(keys []int, rows [][]*string) *list {
	l := &list{keys: keys, index: map[string]int{}, elements: make([][]*string, len(keys)), null: make([]bool, len(keys))}
	for range keys {
		l.numbers = append(l.numbers, map[string]int{})
	}
	for _, row := range rows {
		numbers := make([]int, len(keys))
		for i, cell := range row {
			numbers[i] = l.number(i, cell)
		}
		id := ordinals(numbers)
		if _, have := l.index[id]; !have {
			l.index[id] = len(l.rows)
			l.rows = append(l.rows, row)
		}
	}
	for _, elements := range l.elements {
		l.arrays = append(l.arrays, ArrayText(elements))
	}
	return l
}

// number returns the number of a value of key i: 1, 2, ... in order of first appearance, and 0 for NULL.
func (l *list) number(i int, cell *string) int {
	if cell == nil {
		l.null[i] = true
		return 0
	}
	n, have := l.numbers[i][*cell]
	if !have {
		l.elements[i] = append(l.elements[i], cell)
		n = len(l.elements[i])
		l.numbers[i][*cell] = n
	}
	return n
}

func ordinals(numbers []int) string { return fmt.Sprint(numbers) }

// maxListBytes bounds the lists of public values by which the reads of a statement number keys and modes. If the database numbers them, it
// makes a hash table of each list for the first group, so the time of this work reveals that there is a row (docs/decisions/0016); for 8 MB
// it is about 10 ms. A read by two keys has two lists, and each read has its own.
const maxListBytes = 8 << 20

// listedBytes is the size of a value in a list in addition to its text.
const listedBytes = 64

// size returns the bytes that the values of key i take in a list.
func (l *list) size(i int) int { return len(l.arrays[i]) + listedBytes*len(l.elements[i]) }
