package fold

import "encoding/binary"

// grouping numbers groups: those of one key as its values are numbered, and those of more keys by the number of the group of the keys
// before and that of the value of the last one.
type grouping struct {
	columns []keyColumn
	first   []int    // the column of each key; behind it there may be that of its text
	numbers []uint32 // of the values of a row
}

// A keyColumn is one by which rows are grouped: a key, or the text behind it.
type keyColumn struct {
	Column
	list   *lookup // that has the numbers of its values, or nil
	values *table  // numbers them where there is no list
	joined *index  // numbers the groups of this column and those before it, but for the first one
}

// newGrouping returns that of some keys, which has no group yet.
func newGrouping(keys []Key, lists []*lookup) *grouping {
	g := &grouping{}
	for _, k := range keys {
		c := keyColumn{Column: k.Column}
		if k.Shown == Numbered {
			c.list = lists[k.List]
		}
		g.first = append(g.first, len(g.columns))
		g.add(c)
		if k.Shown == Behind {
			g.add(keyColumn{Column: Column{Kind: Text}})
		}
	}
	g.numbers = make([]uint32, len(g.columns))
	return g
}

func (g *grouping) add(c keyColumn) {
	if c.list == nil {
		c.values = newTable(manyParts)
	}
	if len(g.columns) > 0 {
		c.joined = newIndex(manyParts)
	}
	g.columns = append(g.columns, c)
}

// number returns that of the group of a row, whose first columns are the keys; counts is false where one of them is in no list, of which
// nothing is kept. Scratch is memory for an identity.
func (g *grouping) number(values [][]byte, scratch []byte) (group uint32, counts bool, _ []byte, err error) {
	if len(values) < len(g.columns) {
		return 0, false, scratch, errRow
	}
	for i := range g.columns {
		c := &g.columns[i]
		if c.list == nil {
			continue
		}
		if scratch, err = c.AppendIdentity(scratch[:0], values[i]); err != nil {
			return 0, false, scratch, err
		}
		if g.numbers[i], counts = c.list.find(scratch); !counts {
			return 0, false, scratch, nil
		}
	}
	for i := range g.columns {
		c := &g.columns[i]
		if c.list == nil {
			if scratch, err = c.AppendIdentity(scratch[:0], values[i]); err != nil {
				return 0, false, scratch, err
			}
			g.numbers[i] = c.values.number(scratch)
		}
		if group = g.numbers[i]; c.joined != nil {
			group = uint32(c.joined.number(uint64(g.numbers[i-1])<<32 | uint64(group)))
			g.numbers[i] = group
		}
	}
	return group, true, scratch, nil
}

// identities returns those of the columns of a group; where a list has its values, that of the number.
func (g *grouping) identities(group uint32) [][]byte {
	out := make([][]byte, len(g.columns))
	for i := len(g.columns) - 1; i >= 0; i-- {
		c, value := &g.columns[i], group
		if c.joined != nil {
			pair := c.joined.key(int(group))
			group, value = uint32(pair>>32), uint32(pair)
		}
		if c.list != nil {
			out[i] = binary.BigEndian.AppendUint32([]byte{1}, value)
		} else {
			out[i] = c.values.key(value)
		}
	}
	return out
}

// appendSome adds some keys of a group, each behind its length.
func (g *grouping) appendSome(to []byte, group uint32, keys []int) []byte {
	all := g.identities(group)
	for _, k := range keys {
		of := all[g.first[k]]
		to = append(binary.BigEndian.AppendUint32(to, uint32(len(of))), of...)
	}
	return to
}
