package fold

import (
	"encoding/binary"
	"math"
)

// away stands for a group that another reading counts. No group has this number.
const away = math.MaxUint32

// grouping numbers groups. If there is one key, a group has the number of the key's value. If there are more keys, a group is a pair: the
// number of the group of all keys before the last one, and the number of the last key's value.
type grouping struct {
	columns []keyColumn
	first   []int    // the column of each key; the next column may have the key's text
	numbers []uint32 // of the values of a row
}

// A keyColumn is a column by which rows are grouped: a key, or the text of a key.
type keyColumn struct {
	Column
	list   *lookup // has the numbers of the values, or is nil
	values *table  // numbers the values if there is no list
	joined *index  // numbers the groups of this column and all columns before it; nil in the first column
}

// newGrouping returns a grouping by some keys. It has no group yet, and its tables have so many parts.
func newGrouping(keys []Key, lists []*lookup, parts int) *grouping {
	g := &grouping{}
	for _, k := range keys {
		c := keyColumn{Column: k.Column}
		if k.Shown == Numbered {
			c.list = lists[k.List]
		}
		g.first = append(g.first, len(g.columns))
		g.add(c, parts)
		if k.Shown == Behind {
			g.add(keyColumn{Column: Column{Kind: Text}}, parts)
		}
	}
	g.numbers = make([]uint32, len(g.columns))
	return g
}

func (g *grouping) add(c keyColumn, parts int) {
	if c.list == nil {
		c.values = newTable(parts)
	}
	if len(g.columns) > 0 {
		c.joined = newIndex(parts)
	}
	g.columns = append(g.columns, c)
}

// find looks for the keys of a row, its first columns, in their lists; counts is false if a key is not in its list, and then nothing of the
// key is kept. Scratch is memory for an identity.
func (g *grouping) find(values [][]byte, scratch []byte) (counts bool, _ []byte, err error) {
	for i := range g.columns {
		c := &g.columns[i]
		if c.list == nil {
			continue
		}
		if scratch, err = c.AppendIdentity(scratch[:0], values[i]); err != nil {
			return false, scratch, err
		}
		if g.numbers[i], counts = c.list.find(scratch); !counts {
			return false, scratch, nil
		}
	}
	return true, scratch, nil
}

// number returns the number of the group of the row whose keys find looked for last.
func (g *grouping) number(values [][]byte, scratch []byte) (group uint32, _ []byte, err error) {
	for i := range g.columns {
		c := &g.columns[i]
		if c.list == nil {
			if scratch, err = c.AppendIdentity(scratch[:0], values[i]); err != nil {
				return 0, scratch, err
			}
			g.numbers[i] = c.values.number(scratch)
		}
		group = c.group(group, g.numbers[i])
	}
	return group, scratch, nil
}

// numberOf returns the number of a group of another grouping of the same keys, given its identities.
func (g *grouping) numberOf(identities [][]byte) (group uint32) {
	for i := range g.columns {
		c := &g.columns[i]
		var value uint32
		if c.list != nil {
			value = binary.BigEndian.Uint32(identities[i][1:])
		} else {
			value = c.values.number(identities[i])
		}
		group = c.group(group, value)
	}
	return group
}

// group returns the group of a value of the column in a group of the columns before it.
func (c *keyColumn) group(before, value uint32) uint32 {
	if c.joined == nil {
		return value
	}
	return uint32(c.joined.number(uint64(before)<<32 | uint64(value)))
}

// size is how many groups there are, or can be.
func (g *grouping) size() int {
	if len(g.columns) == 0 {
		return 1
	}
	switch c := g.columns[len(g.columns)-1]; {
	case c.joined != nil:
		return c.joined.size()
	case c.list != nil:
		return c.list.values.size()
	default:
		return c.values.size()
	}
}

// bytes is about how much memory the groups take.
func (g *grouping) bytes() (n int) {
	for _, c := range g.columns {
		if c.values != nil {
			n += c.values.bytes()
		}
		if c.joined != nil {
			n += c.joined.bytes()
		}
	}
	return n
}

// empty forgets the groups, and keeps room for a few others.
func (g *grouping) empty() {
	for _, c := range g.columns {
		if c.values != nil {
			c.values.empty()
		}
		if c.joined != nil {
			c.joined.empty()
		}
	}
}

// identities returns the identities of the columns of a group. If a column has a list, its identity is the number of the value.
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

// appendSome appends some keys of a group, each after its length.
func (g *grouping) appendSome(to []byte, group uint32, keys []int) []byte {
	all := g.identities(group)
	for _, k := range keys {
		to = appendIdentity(to, all[g.first[k]])
	}
	return to
}

// appendIdentity appends an identity after its length.
func appendIdentity(to, identity []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(identity))), identity...)
}
