package survey

import (
	"encoding/binary"
	"errors"
	"strings"
)

// public are the public columns of objects. Their values are few and shared, so that each is kept once.
type public struct {
	columns []string // as [Open] has them
	texts   []string // by number; 0 is NULL
	numbers map[string]uint32
	cells   []uint32 // of each object, column by column
}

func newPublic(columns []string) *public {
	return &public{columns: columns, texts: []string{""}, numbers: map[string]uint32{}}
}

// set notes the columns of an object; nil is NULL.
func (p *public) set(object int64, values [][]byte) {
	for need := int(object+1) * len(p.columns); len(p.cells) < need; {
		p.cells = append(p.cells, 0)
	}
	for c, v := range values {
		p.cells[int(object)*len(p.columns)+c] = p.number(v)
	}
}

func (p *public) number(v []byte) uint32 {
	if v == nil {
		return 0
	}
	n, ok := p.numbers[string(v)]
	if !ok {
		n = uint32(len(p.texts))
		p.texts = append(p.texts, string(v))
		p.numbers[string(v)] = n
	}
	return n
}

// at returns a column of an object; ok is false for NULL.
func (p *public) at(object int64, column int) (text string, ok bool) {
	i := int(object)*len(p.columns) + column
	if i >= len(p.cells) || p.cells[i] == 0 {
		return "", false
	}
	return p.texts[p.cells[i]], true
}

// encode writes the columns: what they are, the texts, and the numbers of the cells.
func (p *public) encode() []byte {
	out := binary.AppendUvarint(nil, uint64(len(p.columns)))
	for _, name := range p.columns {
		out = append(binary.AppendUvarint(out, uint64(len(name))), name...)
	}
	out = binary.AppendUvarint(out, uint64(len(p.texts)))
	for _, t := range p.texts {
		out = append(binary.AppendUvarint(out, uint64(len(t))), t...)
	}
	out = binary.AppendUvarint(out, uint64(len(p.cells)))
	for _, c := range p.cells {
		out = binary.AppendUvarint(out, uint64(c))
	}
	return out
}

// readPublic is the inverse of encode. A file of other columns, or a damaged one, is an error: no answer depends on it, and a column that
// is public no more is not shown under the name of another. Files of earlier versions have names alone.
func readPublic(columns []string, file []byte) (*public, error) {
	bad := errors.New("survey: the file of public columns is damaged, or has other columns")
	next := func(most int) (int, bool) {
		n, head := binary.Uvarint(file)
		if head <= 0 || n > uint64(most) {
			return 0, false
		}
		file = file[head:]
		return int(n), true
	}
	p := newPublic(columns)
	if n, ok := next(len(columns)); !ok || n != len(columns) {
		return nil, bad
	}
	for _, name := range columns {
		n, ok := next(len(file))
		if !ok || n > len(file) {
			return nil, bad
		}
		if before, _, _ := strings.Cut(name, "\x00"); string(file[:n]) != name && string(file[:n]) != before {
			return nil, bad
		}
		file = file[n:]
	}
	texts, ok := next(len(file))
	if !ok || texts < 1 {
		return nil, bad
	}
	for i := range texts {
		n, ok := next(len(file))
		if !ok || n > len(file) || i == 0 && n > 0 {
			return nil, bad
		}
		if i > 0 {
			p.number(append([]byte{}, file[:n]...))
		}
		file = file[n:]
	}
	cells, ok := next(len(file))
	if !ok || len(p.texts) != texts {
		return nil, bad
	}
	for range cells {
		c, ok := next(texts - 1)
		if !ok {
			return nil, bad
		}
		p.cells = append(p.cells, uint32(c))
	}
	return p, nil
}
