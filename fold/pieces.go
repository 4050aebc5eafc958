package fold

// pieceSize is how many elements a piece has. The first piece begins with firstPiece elements.
const firstPiece, pieceSize = 1 << 6, 1 << 12

// pieces are a list that grows by pieces of one size. Only elements of the first piece are ever moved.
type pieces[T any] struct {
	list [][]T
	size int
}

func (p *pieces[T]) add(x T) {
	at := p.size / pieceSize
	if at == len(p.list) {
		p.list = append(p.list, make([]T, firstOf(at, firstPiece, pieceSize)))
	}
	if p.size%pieceSize == len(p.list[at]) {
		p.list[at] = doubled(p.list[at])
	}
	p.list[at][p.size%pieceSize] = x
	p.size++
}

// firstOf is how many elements a piece has at first: few if it is the first piece.
func firstOf(piece, few, all int) int {
	if piece == 0 {
		return few
	}
	return all
}

// doubled moves elements to a piece that has room for twice as many.
func doubled[T any](few []T) []T {
	more := make([]T, 2*len(few))
	copy(more, few)
	clear(few)
	return more
}

func (p *pieces[T]) at(i int) *T { return &p.list[i/pieceSize][i%pieceSize] }

// drop forgets the elements.
func (p *pieces[T]) drop() {
	for _, piece := range p.list {
		clear(piece)
	}
	p.list, p.size = nil, 0
}

// empty forgets the elements, and keeps the first piece.
func (p *pieces[T]) empty() {
	for i, piece := range p.list {
		clear(piece[:min(len(piece), p.size-i*pieceSize)])
	}
	clear(p.list[min(1, len(p.list)):])
	p.list, p.size = p.list[:min(1, len(p.list))], 0
}

// arenaSize is how many bytes a piece of an arena has, unless a byte string is longer.
const arenaSize = 1 << 14

// An arena keeps short byte strings.
type arena struct {
	list [][]byte
	used int // of the last piece
	size int // of all pieces
}

// A span is the place of a byte string.
type span struct{ piece, from, size uint32 }

func (a *arena) add(b []byte) span {
	if len(a.list) == 0 || len(a.list[len(a.list)-1])-a.used < len(b) {
		n := max(arenaSize, len(b))
		a.list, a.used, a.size = append(a.list, make([]byte, n)), 0, a.size+n
	}
	s := span{uint32(len(a.list) - 1), uint32(a.used), uint32(len(b))}
	a.used += copy(a.list[s.piece][a.used:], b)
	return s
}

func (a *arena) at(s span) []byte { return a.list[s.piece][s.from : s.from+s.size : s.from+s.size] }

func (a *arena) drop() {
	for _, piece := range a.list {
		clear(piece)
	}
	a.list, a.used, a.size = nil, 0, 0
}

// empty forgets the byte strings, and keeps the first piece.
func (a *arena) empty() {
	if len(a.list) == 0 {
		return
	}
	for _, piece := range a.list[:len(a.list)-1] {
		clear(piece)
	}
	clear(a.list[len(a.list)-1][:a.used])
	clear(a.list[1:])
	a.list, a.used, a.size = a.list[:1], 0, len(a.list[0])
}
