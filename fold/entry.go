package fold

// An entry counts the rows of a unit in one group with one value. Entries are ordered by group and value.
type entry struct {
	at   uint64
	rows uint32
}

func entryOf(group, value uint32) entry { return entry{uint64(group)<<32 | uint64(value), 1} }

func (e entry) group() uint32 { return uint32(e.at >> 32) }
func (e entry) value() uint32 { return uint32(e.at) }

// keptEntries is the number of entries whose memory is kept for the next unit.
const keptEntries = 4 * mergeFrom

// mergeFrom is how many rows of a unit are kept before equal ones become one entry.
const mergeFrom = 1 << 12
