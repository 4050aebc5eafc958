package scalar

import (
	"strconv"

	"dpproxy/planner/pgtype"
)

// A Reach says how much of a value a column is read for. Postgres keeps a long text apart
// from its row, and takes as long to read as it is long: one row must not tell by that that
// it is there.
type Reach uint8

const (
	// Whole is all of it: its type or an index bounds how long it is.
	Whole Reach = iota
	// Beginning is a first part, of a text that may have any length: the column counts
	// as that wherever its value matters.
	Beginning
	// Short is all of a text that has at most so many bytes; a longer one counts as NULL.
	// Equal ones are the same.
	Short
	// Elements are those of an array that has at most [MostElements] of them, and so many bytes as it is stored; any other
	// array counts as NULL.
	Elements
	// Piece is the first part of a text that is an element of an array.
	Piece
)

const (
	// cutBytes bounds the bytes of a text that are read.
	cutBytes = 1 << 16
	// cutLength bounds its characters, whatever these are.
	cutLength = cutBytes / 4
	// briefLength bounds them where a text is compared with constants that are shorter.
	briefLength = 1 << 10
	// MostElements bounds the elements of an array that is read, and storedArray its bytes as they are stored: compressed
	// they are at most some 90 times as many.
	MostElements = 1000
	// pieceLength bounds the characters of one that is a text.
	pieceLength = 255
	storedArray = 1 << 10
)

// Long reports whether the type leaves open how many characters a text has. One of bpchar
// cannot be read in part.
func Long(t pgtype.Type) bool {
	return cuttable(t) || t.OID == pgtype.Bpchar && !t.Array && t.Length() < 0
}

// cuttable reports whether the beginning of a text that may be long can be read alone.
func cuttable(t pgtype.Type) bool {
	return !t.Array && (t.OID == pgtype.Text || t.OID == pgtype.Varchar) && (t.Length() < 0 || t.Length() > cutLength)
}

// ReachOf tells how much is read of a column of a table that no index bounds; with whole,
// texts that differ must not count as equal.
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

// Read writes the part of x that is read. Postgres knows the bytes of a text without reading it, and
// left() reads no more than it returns, unless the text is compressed by lz4. It knows the bytes of an array as it is stored
// likewise, and counts the elements of a short one alone.
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
	case Whole:
	}
	return x
}

// Drops reports whether a value that is not NULL can count as NULL.
func (r Reach) Drops() bool { return r == Short || r == Elements }

// beginning writes the first n characters of a text.
func beginning(x string, n int) string {
	limit := strconv.Itoa(n)
	return "CASE WHEN pg_catalog.octet_length(" + x + ") OPERATOR(pg_catalog.>) " + limit +
		" THEN pg_catalog.left(" + x + ", " + limit + ") ELSE " + x + " END"
}

// long reports whether a reference to the column reads a text of a table that may be long.
func (c *Column) long() bool {
	return cuttable(c.Type) && c.Reach != Piece && (c.Reach == Beginning || !c.derived())
}

// Read writes the value of the column.
func (c *Column) Read() string { return c.Reach.Read(c.SQL) }

// Presence writes SQL that is NULL where the value is, without reading it.
func (c *Column) Presence() string {
	if c.Reach == Beginning || c.Reach == Piece {
		return c.SQL
	}
	return c.Read()
}

// comparand writes an operand of a comparison. A text that is compared with short constants
// alone is read as far as that can matter; one that an index finds stays as it is for an
// equality.
func (w *Writer) comparand(o Expr, list []Expr, equality bool) (fragment, error) {
	if _, key := w.grouped(o, asIs); key {
		return w.write(o, asIs)
	}
	if ref := relabelled(o); ref != nil && equality && ref.Column.Reach == Whole {
		return w.write(ref, asIs)
	}
	if c := briefColumn(w.Env.Values, o, list); c != nil {
		return fragment{sql: beginning(c.SQL, briefLength), typ: pgtype.Of(pgtype.Text)}, nil
	}
	return w.write(o, cutting(o, asIs))
}

// cutting is the mode in which an operand is written where a text is read.
func cutting(o Expr, m mode) mode {
	if o.Type().Family() == pgtype.TextFamily {
		return clamped
	}
	return m
}

// relabelled returns the column that an operand is, a varchar also where it is taken as text;
// nil if it is none.
func relabelled(o Expr) *Ref {
	if c, text := o.(*cast); text && c.typ.OID == pgtype.Text && c.x.Type().OID == pgtype.Varchar {
		o = c.x
	}
	ref, _ := o.(*Ref)
	return ref
}

// briefColumn returns the column of a long text that an operand is, if all others are constants
// that are short, or NULL.
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
