package repair

import (
	"cmp"
	"slices"
	"strings"

	"dpproxy/parser/lex"
	"dpproxy/parser/pgtree"
)

// An edit replaces a range of a text.
type edit struct {
	pgtree.Span
	by string
}

func (e edit) inserts() bool { return e.Start == e.End }

// edited returns a part of the text with the edits within it. If edits overlap, the outer one is made. New text gets a space if it would
// run into the text before it.
func (t *statement) edited(part pgtree.Span, edits ...edit) string {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(x, y edit) int {
		if x.Start != y.Start || x.inserts() != y.inserts() {
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End))
		}
		return cmp.Compare(y.End, x.End)
	})
	var b strings.Builder
	at := part.Start
	for _, e := range edits {
		if e.Start < at || e.End > part.End {
			continue
		}
		write(&b, t.sql[at:e.Start])
		write(&b, e.by)
		at = e.End
	}
	write(&b, t.sql[at:part.End])
	return b.String()
}

// write appends the text, after a space if it would run into the text before it.
func write(b *strings.Builder, next string) {
	written := b.String()
	if written != "" && next != "" && lex.IsWord(written[len(written)-1]) && lex.IsWord(next[0]) {
		b.WriteByte(' ')
	}
	b.WriteString(next)
}
