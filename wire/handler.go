package wire

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgproto3"
)

// A Handler decides which statements are intercepted.
type Handler interface {
	// Screen looks at the text of a Query or Parse message and returns its
	// statements in order, or nil to relay it unchanged. It is called for every
	// message, so it must be cheap. A *pgerr.Error refuses the message; its
	// position counts in the whole text.
	Screen(s *Session, sql string) ([]Statement, error)
}

// A Widener is a Handler that gives statements more columns than their clients wrote.
type Widener interface {
	// Widen returns the text that stands for that of a Query or Parse message from then on, nil for the client's own. It is called
	// for every message, so it must be cheap. Ask asks the client's session for one value.
	Widen(s *Session, sql string, ask func(sql string) (string, error)) (*Widened, error)
}

// A Preparer is a Handler that runs statements which SQL has prepared ([Session.NotePrepare]) when they are bound.
type Preparer interface {
	// Prepared returns the query that a text prepares under a name; ok is false if it does not, or does so more than once.
	Prepared(text, name string) (query string, ok bool)
}

// An Adviser is a Handler that knows more than the mirror of names that the mirror does not know, and of values that it is given.
type Adviser interface {
	// Advise returns the hint of an error of the mirror about a client's own text, or about the text that was rewritten in its place;
	// empty to leave it as it is.
	Advise(s *Session, code, message string, rewritten bool) (hint string)
}

// Widened is a text with further stretches in it.
type Widened struct {
	SQL string
	// Inserted are the stretches, as ranges of bytes of SQL, in order.
	Inserted []struct{ Start, End int }
}

// back returns the place in the client's text, in characters from 1 on, for one in SQL.
func (w *Widened) back(position int) int {
	for _, s := range slices.Backward(w.Inserted) {
		start, end := characters(w.SQL, s.Start), characters(w.SQL, s.End)
		switch {
		case position > end:
			position -= end - start
		case position > start:
			position = start
		}
	}
	return position
}

// asked is a statement of the text as the client wrote it. The receiver may be nil.
func (w *Widened) asked(st Statement) string {
	if w == nil {
		return st.SQL
	}
	text, from := "", st.Offset
	for _, s := range w.Inserted {
		if s.Start >= from && s.End <= st.Offset+len(st.SQL) {
			text += w.SQL[from:s.Start]
			from = s.End
		}
	}
	return text + w.SQL[from:st.Offset+len(st.SQL)]
}

// A Statement is one statement of a message's text.
type Statement struct {
	SQL    string
	Offset int // of SQL in the text, in bytes
	// Describe is the query that the mirror describes before Run: SQL itself, or
	// the query inside a utility statement. Empty: nothing is described.
	Describe string
	// Early returns the question that Run will ask the mirror first, where that can be told without the
	// description, or nil. A Query asks both in one round trip. Nil: nothing is asked early.
	Early func() *Question
	// Utility statements take no parameters of ours: their rewrite is Inline.
	Utility bool
	// Run is called when the statement would run: once for a Query, once for
	// each Bind. Nil: the statement runs as it is. An error that is a
	// *pgerr.Error goes to the client, its position counted in SQL; a
	// *MirrorError goes to the client, with a position if it is of the client's own text
	// ([Asker.DescribeOwn]); any other is logged and becomes an internal error.
	Run func(ctx context.Context, m *Asker, b BindRequest) (Rewrite, error)
}

// A BindRequest has the values and types that a statement runs with, from a Bind message; it has none
// for a statement of a Query.
type BindRequest struct {
	Params    [][]byte // values as the client sent them, nil for NULL
	Formats   []int16  // as the client sent them: none, one for all, or one each
	ParamOIDs []uint32 // types of Params, as the mirror resolved them
	Fields    []pgproto3.FieldDescription
	Simple    bool // came in a Query message
	// Asked is the statement as the client wrote it: its text may be [Widened].
	Asked string
	// Early is the answer to the statement's early question, or nil if it was not asked.
	Early *Result
}

// Rewrite is the statement that runs instead of one of the client's.
type Rewrite struct {
	// Relay runs the client's own text after all; only Notices count beside it.
	Relay bool
	// SQL runs in the extended protocol, with the client's parameters and after
	// them Extra, values of types ExtraOIDs. ExtraFormats are theirs: none if all are
	// text, else one each.
	SQL          string
	Extra        [][]byte
	ExtraOIDs    []uint32
	ExtraFormats []int16
	// Inline is the same statement with literals in place of Extra, for the
	// simple protocol, and for utility statements with the client's parameters. Empty:
	// SQL runs there too.
	Inline string
	// Notices go to the client before the replies of the statement.
	Notices []Notice
	// Tag replaces the command tag if it is not empty.
	Tag string
}

// A Notice is the content of a NoticeResponse. An empty Severity is NOTICE and
// an empty Code is 00000.
type Notice struct {
	Severity, Code, Message, Detail, Hint string
}

func (n Notice) encode(dst []byte) []byte {
	m := pgproto3.NoticeResponse{
		Severity: n.Severity, Code: n.Code, Message: n.Message, Detail: n.Detail, Hint: n.Hint,
	}
	if m.Severity == "" {
		m.Severity = "NOTICE"
	}
	if m.Code == "" {
		m.Code = "00000"
	}
	m.SeverityUnlocalized = m.Severity
	return encode(dst, &m)
}

func encodeNotices(all []Notice) notices {
	var out []byte
	for _, n := range all {
		out = n.encode(out)
	}
	return notices{encoded: out}
}
