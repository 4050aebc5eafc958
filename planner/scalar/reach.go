package scalar

import (
	"strconv"

	"dpproxy/planner/pgtype"
)

// A Reach says how much of a column's value is read. Postgres stores a long text apart from its row, and takes time in proportion to its
// length to read it: a row must not reveal by such time that it exists.
type Reach uint8

const (
	// Whole is the whole value: its type or an index bounds its length.
	Whole Reach = iota
	// Beginning is the first part of a text of unbounded length. The column counts as this part wherever its value matters.
	Beginning
	// Short is the whole of a text of at most cutBytes bytes. A longer text counts as NULL, so that equal texts are the same.
	Short
	// Elements is the whole of an array of at most [MostElements] elements and at most storedArray bytes as stored. Any other array counts
	// as NULL.
	Elements
	// InDocument is a value in a document of at most [StoredDocument] bytes as stored, of a longer one NULL, and of a text its first part.
	// The SQL of the column reads no more.
	InDocument
	// Piece is the first part of a text that is an element of an array, or of a column of a public table whose texts are all short.
	Piece
)

const (
	// cutBytes bounds the bytes of a text that are read.
	cutBytes = 1 << 16
	// cutLength bounds its characters, whatever their size.
	cutLength = cutBytes / 4
	// briefLength bounds the characters that are read if a text is compared with shorter constants.
	briefLength = 1 << 10
	// MostElements bounds the elements of an array that is read, and storedArray its bytes as stored; uncompressed, there are up to about
	// 90 times as many.
	MostElements = 1000
	// pieceLength bounds the characters of an element that is a text, and of such a column (package policy has the same number).
	pieceLength = 255
	storedArray = 1 << 10
)

// Long reports whether the type does not bound the number of characters of a text. A bpchar cannot be read in part.
func Long(t pgtype.Type) bool {
	return cuttable(t) || t.OID == pgtype.Bpchar && !t.Array && t.Length() < 0
}

// cuttable reports whether the type does not bound the characters of a text, and its beginning can be read by itself.
func cuttable(t pgtype.Type) bool {
	return !t.Array && (t.OID == pgtype.Text || t.OID == pgtype.Varchar) && (t.Length() < 0 || t.Length() > cutLength)
}

// ReachOf returns how much is read of a column of a table that no index bounds. With whole, different texts must not count as equal.
func ReachOf(t pgtype.Type, whole bool) Reach {
	switch {
	case t.Array:
		return Elements
	case !Long(t):
		return Whole
	case whole || !cuttable(t):
		return Short
	}
	return Beginning
}

// Read writes the part of x that is read. Postgres knows the length in bytes of a text without reading it, and left() reads no more than it
// returns, unless the text is compressed by lz4. It also knows the bytes of an array as stored; elements are counted only if these are few.
func (r Reach) Read(x string) string {
	switch r {
	case Beginning:
		return beginning(x, cutLength)
	case Piece:
		return beginning(x, pieceLength)
	case Short:
		return "CASE WHEN pg_catalog.octet_length(" + x + ") OPERATOR(pg_catalog.<=) " + strconv.Itoa(cutBytes) + " THEN " + x + " END"
	case Elements:
		return "CASE WHEN pg_catalog.pg_column_size(" + x + ") OPERATOR(pg_catalog.<=) " + strconv.Itoa(storedArray) +
			" THEN CASE WHEN pg_catalog.cardinality(" + x + ") OPERATOR(pg_catalog.<=) " + strconv.Itoa(MostElements) +
			" THEN " + x + " END END"
	case Whole, InDocument:
	}
	return x
}

// Drops reports whether a value that is not NULL can count as NULL.
func (r Reach) Drops() bool { return r == Short || r == Elements || r == InDocument }

// beginning writes the first n characters of a text.
func beginning(x string, n int) string {
	limit := strconv.Itoa(n)
	return "CASE WHEN pg_catalog.octet_length(" + x + ") OPERATOR(pg_catalog.>) " + limit +
		" THEN pg_catalog.left(" + x + ", " + limit + ") ELSE " + x + " END"
}

// long reports whether a reference to the column reads a text of a table that may be long.
func (c *Column) long() bool {
	return cuttable(c.Type) && c.Reach != Piece && c.Reach != InDocument && (c.Reach == Beginning || !c.derived())
}

// Read writes the value of the column.
func (c *Column) Read() string { return c.Reach.Read(c.SQL) }

// Presence writes SQL that is NULL if and only if the value is, without reading the value.
func (c *Column) Presence() string {
	if c.Reach == Beginning || c.Reach == Piece {
		return c.SQL
	}
	return c.Read()
}

// comparand writes an operand of a comparison. If a text is compared with short constants only, no more of it is read than can matter. A
// text that an index can find remains unchanged in an equality.
func (w *Writer) comparand(o Expr, list []Expr, equality bool) (fragment, error) {
	if _, key := w.grouped(o, asIs); key {
		return w.write(o, asIs)
	}
	if ref := relabelled(o); ref != nil && equality && ref.Column.Reach == Whole {
		return w.write(ref, asIs)
	}
	if c := briefColumn(w.Env.Values, o, list); c != nil {
		return fragment{sql: beginning(w.Called(c).SQL, briefLength), typ: pgtype.Of(pgtype.Text)}, nil
	}
	return w.write(o, cutting(o, asIs))
}

// cutting returns the mode for writing an operand of which a text is read.
func cutting(o Expr, m mode) mode {
	if o.Type().Family() == pgtype.TextFamily {
		return clamped
	}
	return m
}

// relabelled returns the column that an operand is, also if it is a varchar cast to text; nil if it is not a column.
func relabelled(o Expr) *Ref {
	if c, text := o.(*cast); text && c.typ.OID == pgtype.Text && c.x.Type().OID == pgtype.Varchar {
		o = c.x
	}
	ref, _ := o.(*Ref)
	return ref
}

// briefColumn returns the column of a long text that an operand is, if all others are short constants or NULL.
func briefColumn(values Values, o Expr, list []Expr) *Column {
	ref := relabelled(o)
	if ref == nil || !ref.Column.long() || !ref.Column.Type.Deterministic || ref.Column.Reach == Short {
		return nil
	}
	short := func(other Expr) bool {
		c, ok := other.(*constant)
		return ok && values.short(c)
	}
	for _, other := range list {
		if other != o && !short(other) {
			return nil
		}
	}
	return ref.Column
}
