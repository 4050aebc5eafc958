package planner

// Approximate sizes of parts of a plan, in bytes: of the header of a Go string or slice, and of an entry of a map.
const (
	headerBytes = 24
	entryBytes  = 64
)

// Bytes returns about how many bytes of memory the plan takes, without its query. Parameters share the texts of the lists.
func (p *Plan) Bytes() int {
	n := 4 << 10
	counted := map[*list]bool{}
	for _, b := range p.Blocks {
		for _, set := range b.Sets {
			n += headerBytes * (len(set.statisticsOf) + len(set.releasedOf))
			for _, r := range set.Reads {
				for _, st := range r.statements() {
					n += len(st.SQL) + entryBytes*len(st.Params)
				}
			}
			for _, l := range set.lists {
				if !counted[l] {
					counted[l] = true
					n += l.bytes()
				}
			}
		}
	}
	return n
}

func (l *list) bytes() int {
	n := len(l.rows) * (headerBytes*(1+len(l.keys)) + entryBytes)
	for i, elements := range l.elements {
		n += len(elements)*entryBytes + len(l.arrays[i])
		for _, e := range elements {
			n += 2 * len(*e)
		}
	}
	return n
}
