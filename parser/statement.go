package parser

import (
	"slices"

	"dpproxy/parser/ast"
	"dpproxy/pgerr"
)

// A Script is the text of one Query or Parse message.
type Script struct {
	Statements []*Statement
}

// A Class is the way that a statement takes.
type Class uint8

const (
	// Relay means that the mirror gets the client's text unchanged.
	Relay Class = iota + 1
	// Release means that the statement holds release blocks and executes now.
	Release
	// Explain is EXPLAIN of a statement with release blocks.
	Explain
	// Refused has a Refusal that says why; it is raised when the statement would run.
	Refused
	// Empty means that the statement reads protected relations only as a metadata probe
	// (constant-false WHERE, or LIMIT 0): its answer has no rows.
	Empty
	// Set is SET, SET LOCAL, RESET or ALTER of a setting named dp.something.
	Set
	// Execution is EXECUTE of a prepared statement, which the session alone knows.
	Execution
)

// A Form is the shape of a statement of class Release or Explain.
type Form uint8

const (
	// Query is SELECT, VALUES, TABLE, or INSERT, UPDATE, DELETE, MERGE: it can
	// be described as it is and takes parameters.
	Query Form = iota + 1
	// Utility is COPY TO, DECLARE CURSOR, CREATE TABLE AS, SELECT INTO,
	// REFRESH: the query inside it is described, and literals are used instead of parameters.
	Utility
)

// A Statement is one statement of a Script.
type Statement struct {
	// Text is the statement's own bytes; Offset is where they begin in the
	// message.
	Text   string
	Offset int
	Class  Class
	Form   Form
	// Explained is the form of the statement inside an Explain. Verbose says that an Explain shows all of the plan.
	Explained Form
	Verbose   bool
	// Inner is the query inside a Utility or Explain, as offsets into Text; the
	// whole of Text for a Query.
	Inner Span
	// Blocks are the release blocks, in text order. The refusal of one block's
	// content is in its Err; such a statement still has class Release.
	Blocks []*ast.Block
	// Outputs are the output columns with noise, in their order; values that are assigned too.
	Outputs []ast.Output
	// ErrorPlaces are the columns of a Query that keep places of errors.
	ErrorPlaces []ErrorPlace
	// Bare is the first call by a bare name, of values that are computed from aggregates, of which schema dp has a function; nil if
	// there is none.
	Bare *BareCall
	// Protected are the protected relations that the statement names anywhere, and
	// the views over them, whose queries took their places. A relation that a
	// view reads is there too, as its query names it.
	Protected []ast.TableRef
	// Beside are the other relations that the client wrote: public ones, and those that the session alone knows.
	Beside []ast.TableRef
	// Refusal is set when Class is Refused; its position counts from the start of Text.
	Refusal *pgerr.Error
	// OnlyRows says that nothing but rows of protected tables in its answer is refused.
	OnlyRows bool
	// Setting is set when Class is Set.
	Setting *Setting
	// Assigned are the settings that it sets without being SET.
	Assigned []Assignment
	// Execute is set when Class is Execution.
	Execute *Execute
	// Unless is set in CREATE TABLE IF NOT EXISTS AS: nothing is run if it exists.
	Unless *NewTable
	// Destination is where the result stays.
	Destination Destination
	// Plans are the calls of dp.plan.
	Plans []PlanCall
	// Survey is the call of dp.survey.
	Survey *SurveyCall
	// Estimates are the calls of dp.local_histogram and dp.local_mean.
	Estimates []EstimateCall
	// Own are the settings that calls of dp.suggest_bounds make for this statement alone, without the "dp." prefix.
	Own []Setting
	// Let is set if the statement uses released results: then it is of class Release or Explain and has no Blocks. Its body is
	// parsed when they are known.
	Let *Let
	// Reserve is evaluated in place of a statement that is refused when it is planned: all its queries of public rows are constants there.
	Reserve *Let
	// Unknown are the places in Text where constants stand for a released result that is not known yet.
	Unknown []Span
	// Comments are those behind the first word.
	Comments []Comment

	// Concealed are the views whose queries no client may see and that are left in the
	// spliced text, since they aggregate themselves, in text order.
	Concealed []ast.TableRef

	// empty are the places of the release blocks of one of class Empty.
	empty []int
	// whole and inner are the text and the inner query with places for the relations.
	whole, inner []piece
	into         Span // the INTO clause of SELECT INTO
}

// Named returns those of Protected that the client wrote.
func (s *Statement) Named() []ast.TableRef {
	return slices.DeleteFunc(slices.Clone(s.Protected), func(t ast.TableRef) bool { return t.Within })
}

// A BareCall is a call of a function by its name alone. Its place counts from the start of the statement's Text.
type BareCall struct {
	Name string
	At   int
}

// A Comment is one with its marks. Its place counts from the start of the statement's Text,
// and can be behind that.
type Comment struct {
	Text string
	At   int
	// Query says that it stands before the query of an EXPLAIN.
	Query bool
}

// A Span is a range of byte offsets [Start, End).
type Span struct{ Start, End int }

// A Destination is where the result of a statement stays behind it. That of a query whose rows the client gets is empty.
type Destination struct {
	// Table begins the CREATE TABLE AS of any query that makes the same table.
	Table string
	// Made is that table.
	Made NewTable
	// Cursor begins the DECLARE of any query that makes the same cursor, and Name is its name.
	Cursor, Name string
	// Changes are those of rows of tables, in WITH queries too.
	Changes []Change
}

// A Change is of rows of a table, which takes a privilege: INSERT, UPDATE or DELETE.
type Change struct {
	Of        NewTable
	Privilege string
}

// A NewTable is the name of a table to be made. An empty Schema is the current one.
type NewTable struct{ Schema, Name string }

// A Setting is an assignment to a dp. setting.
type Setting struct {
	Name  string // with the "dp." prefix, lower case
	Value string // text of the single argument; meaningless if Reset
	Reset bool   // RESET, SET ... TO DEFAULT
	Local bool   // SET LOCAL
	At    int
}
