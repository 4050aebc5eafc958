package planner

// Sizes of parts of a plan, about: of a Go string or slice header, and of an entry of a map.
const (
	headerBytes = 24
	entryBytes  = 64
)

// Bytes returns about how much memory the plan takes beside its query. Texts of parameters are
// those of the lists.
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
