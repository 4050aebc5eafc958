package fold

import "encoding/binary"

// appendPart adds the identity of the first of some values, behind its length.
func appendPart(to []byte, c Column, values [][]byte) ([]byte, [][]byte, error) {
	if len(values) == 0 {
		return to, nil, errRow
	}
	from := len(to)
	to, err := c.AppendIdentity(append(to, 0, 0, 0, 0), values[0])
	binary.BigEndian.PutUint32(to[from:], uint32(len(to)-from-4))
	return to, values[1:], err
}

// parts returns the identities that a group is made of.
func parts(group []byte) (out [][]byte) {
	for len(group) > 0 {
		n := binary.BigEndian.Uint32(group)
		out, group = append(out, group[4:4+n]), group[4+n:]
	}
	return out
}

// appendSome adds some of the parts of a group, each behind its length.
func appendSome(to, group []byte, columns []int) []byte {
	all := parts(group)
	for _, c := range columns {
		to = append(append(to, byte(len(all[c])>>24), byte(len(all[c])>>16), byte(len(all[c])>>8), byte(len(all[c]))), all[c]...)
	}
	return to
}
