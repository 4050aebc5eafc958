package fold

import "bytes"

// A lookup has the values of a [List] by their identities.
type lookup struct {
	of     *List
	values *table
	// numbers has the numbers of the values, from 1 on, in the order of the table; size counts the values that were given.
	numbers pieces[uint32]
	size    uint32
	// last is the identity that was looked up last; number and present are its result.
	last    []byte
	number  uint32
	present bool
}

func newLookup(of *List) *lookup { return &lookup{of: of, values: newTable(manyParts)} }

// add gives a value the next number. A value that is there already keeps its number.
func (l *lookup) add(identity []byte) {
	l.size++
	if int(l.values.number(identity)) == l.numbers.size {
		l.numbers.add(l.size)
	}
}

// find returns the number of a value; present is false if the value is not in the list.
func (l *lookup) find(identity []byte) (number uint32, present bool) {
	if l.last != nil && bytes.Equal(identity, l.last) {
		return l.number, l.present
	}
	l.number, l.present = 0, l.of.Null
	if identity[0] != 0 {
		var at uint32
		if at, l.present = l.values.find(identity); l.present {
			l.number = *l.numbers.at(int(at))
		}
	}
	l.last = append(l.last[:0], identity...)
	return l.number, l.present
}

// drop forgets the value that was looked up last.
func (l *lookup) drop() {
	clear(l.last[:cap(l.last)])
	l.last = nil
}

// List takes the next value of each list, in the order of the lists. The value is nil for a list that has no more values.
func (f *Fold) List(values [][]byte) (err error) {
	defer guard(&err)
	if len(values) != len(f.lists) {
		return errRow
	}
	for i, v := range values {
		if v == nil {
			continue
		}
		if f.scratch, err = f.lists[i].of.AppendIdentity(f.scratch[:0], v); err != nil {
			return err
		}
		f.lists[i].add(f.scratch)
	}
	return nil
}
